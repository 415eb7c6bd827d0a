use dalsegno::domain::{BUDGET_USED, Denied, FactKind, Gap, Placeholder, SERIES_ABSENT, Severity, StorePart, Subject};

use super::scene::{Scene, archive, db, store, store_subject};

fn gap(subject: Subject, what: FactKind, why: Denied, code: Option<&str>) -> Gap {
    Gap { subject, what, why, code: code.map(str::to_owned), detail: "what happened".into(), hint: String::new() }
}

/// Two databases on one store; nothing was seen of any of them.
fn dark(why: &Denied, code: Option<&str>) -> Scene {
    let mut scene = Scene::of(Some(store()), vec![archive("app"), archive("auth")]);
    scene.observation.facts.clear();
    scene.expected.covers.push((store_subject(), FactKind::Store));
    scene
        .gap(gap(store_subject(), FactKind::Store, why.clone(), code))
        .gap(gap(db("app"), FactKind::Archive, why.clone(), code))
        .gap(gap(db("auth"), FactKind::Archive, why.clone(), code))
}

#[test]
fn a_store_that_does_not_answer_is_one_finding_that_names_what_rests_on_it() {
    let denied = || Denied::Denied { verb: "ListObjectsV2".into() };
    for (why, code, expected) in [
        (Denied::Refused, None, "object-store-outage"),
        (Denied::Timeout, None, "object-store-outage"),
        (Denied::Broken, Some("SlowDown"), "object-store-outage"),
        (denied(), Some("InvalidAccessKeyId"), "s3-auth-failed"),
        (denied(), Some("Unauthorized"), "s3-auth-failed"),
        (denied(), Some("RequestTimeTooSkewed"), "s3-clock-skew"),
        (denied(), Some("AccessDenied"), "s3-permissions-incomplete"),
        (Denied::Malformed, Some("AuthorizationHeaderMalformed"), "s3-region-invalid"),
        (Denied::AbsentApi, Some("NoSuchBucket"), "s3-bucket-missing"),
        (denied(), Some("KMS.DisabledException"), "s3-encryption-unsupported"),
        (Denied::Dns, None, "s3-name-unresolved"),
        (Denied::Tls, None, "s3-tls-failed"),
    ] {
        let finding = dark(&why, code).only(expected, Severity::Critical);
        assert!(finding.could_not_look, "{expected}");
        assert_eq!(finding.subject, store_subject());
        assert!(
            finding.summary.contains("pg/home/prod/app") && finding.summary.contains("pg/home/prod/auth"),
            "{}",
            finding.summary
        );
    }
}

#[test]
fn the_same_cause_on_two_databases_is_blamed_on_their_store() {
    let both = Scene::of(Some(store()), vec![]).gap(gap(db("app"), FactKind::Archive, Denied::Refused, None)).gap(gap(
        db("auth"),
        FactKind::Archive,
        Denied::Timeout,
        None,
    ));
    let mut both = both;
    both.expected.rests_on.insert(db("app"), store_subject());
    both.expected.rests_on.insert(db("auth"), store_subject());
    assert_eq!(both.only("object-store-outage", Severity::Critical).subject, store_subject());
}

#[test]
fn what_rests_on_no_store_is_never_reported_as_a_fault_of_s3() {
    let denied = Denied::Denied { verb: "get pods".into() };
    for (why, code, alone, on_a_store) in [
        (denied.clone(), Some("Forbidden"), "look-denied", "s3-permissions-incomplete"),
        (denied, Some("Unauthorized"), "look-denied", "s3-auth-failed"),
        (Denied::Tls, None, "look-tls-failed", "s3-tls-failed"),
        (Denied::Dns, None, "look-name-unresolved", "s3-name-unresolved"),
    ] {
        let scene = || Scene::of(Some(store()), vec![]).gap(gap(db("app"), FactKind::Archive, why.clone(), code));
        let finding = scene().only(alone, Severity::Critical);
        assert!(finding.could_not_look && finding.subject == db("app"), "{finding:?}");
        let mut resting = scene();
        resting.expected.rests_on.insert(db("app"), store_subject());
        resting.only(on_a_store, Severity::Critical);
    }
}

#[test]
fn one_database_that_times_out_on_a_healthy_store_is_its_own_warning() {
    let mut scene = Scene::of(Some(store()), vec![archive("auth")]).gap(gap(db("app"), FactKind::Archive, Denied::Timeout, None));
    scene.expected.rests_on.insert(db("app"), store_subject());
    let finding = scene.only("look-timed-out", Severity::Warning);
    assert_eq!(finding.subject, db("app"));
    assert!(finding.could_not_look);
}

#[test]
fn a_placeholder_is_critical_swallows_its_gaps_and_is_no_bug() {
    let mut scene = dark(&Denied::NotAsked, None);
    scene.expected.placeholders.push(Placeholder {
        subject: store_subject(),
        key_path: "stores.minio.bucket".into(),
        value: "TBD-PROD-BUCKET".into(),
        at: "dalsegno.yaml:4:13".into(),
    });
    let finding = scene.only("config-placeholder-unresolved", Severity::Critical);
    assert!(!finding.could_not_look);
    assert!(finding.evidence.iter().any(|line| line.contains("pg/home/prod/app")), "{:?}", finding.evidence);
    scene.observation.gaps.clear();
    assert_eq!(scene.judge().bugs, []);
}

#[test]
fn a_subject_with_neither_fact_nor_gap_is_a_bug_of_ours() {
    let mut scene = Scene::healthy();
    scene.expected.covers.push((db("forgotten"), FactKind::Archive));
    assert_eq!(scene.judge().bugs, [(db("forgotten"), FactKind::Archive)]);
}

#[test]
fn a_used_up_request_budget_is_told() {
    let scene = Scene::healthy().gap(gap(store_subject(), FactKind::Sample, Denied::NotAsked, Some(BUDGET_USED)));
    assert!(scene.only("store-request-budget-used", Severity::Warning).could_not_look);
}

#[test]
fn an_archive_whose_whole_listing_waits_is_told_with_its_store() {
    let used = |subject| gap(subject, FactKind::Sample, Denied::NotAsked, Some(BUDGET_USED));
    let scene = Scene::healthy().gap(used(store_subject())).gap(Gap { detail: "the listing waits".into(), ..used(db("app")) });
    let finding = scene.only("store-request-budget-used", Severity::Warning);
    assert_eq!(finding.subject, store_subject());
    assert!(finding.evidence.iter().any(|line| line.contains("pg/") && line.ends_with("the listing waits")), "{finding:?}");
}

#[test]
fn parts_of_a_store_that_got_no_answer_are_one_warning_that_names_them_and_hides_nobody() {
    let part = |part| gap(store_subject(), FactKind::StorePart(part), Denied::Broken, Some("SlowDown"));
    let mut scene = Scene::healthy().gap(part(StorePart::Lifecycle)).gap(part(StorePart::Certificate));
    let finding = scene.only("store-look-incomplete", Severity::Warning);
    assert!(finding.could_not_look);
    assert!(finding.summary.contains("lifecycle rules, the certificate"), "{}", finding.summary);
    // A database that could not be looked at on that store is not explained by it.
    scene = scene.gap(gap(db("app"), FactKind::Archive, Denied::Timeout, None));
    assert_eq!(scene.judge().findings.len(), 2);
}

/// The other sides that are no store: each reason has its code, and none of them is fine.
#[test]
fn what_an_api_server_did_not_tell_is_told_by_its_reason() {
    let told = |why: Denied, code: Option<&str>| {
        Scene::healthy().gap(gap(db("app"), FactKind::Cnpg, why, code)).judge().findings.into_iter().next().unwrap()
    };
    for (why, code, expected, severity) in [
        (Denied::Malformed, None, "look-answer-malformed", Severity::Warning),
        (Denied::Truncated, None, "look-answer-malformed", Severity::Warning),
        (Denied::NotAsked, None, "look-not-made", Severity::Warning),
        (Denied::AbsentApi, None, "look-unsupported", Severity::Warning),
        (Denied::Timeout, None, "look-timed-out", Severity::Warning),
        (Denied::Denied { verb: "list clusters".into() }, None, "look-denied", Severity::Critical),
        (Denied::NotAsked, Some("secret-missing"), "secret-missing", Severity::Critical),
        (Denied::AbsentApi, Some(SERIES_ABSENT), "metrics-absent", Severity::Warning),
    ] {
        let finding = told(why, code);
        assert_eq!((finding.code.as_str(), finding.severity, finding.could_not_look), (expected, severity, true), "{finding:?}");
    }
    Scene::healthy().silent();
}
