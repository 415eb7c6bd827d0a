use dalsegno::conductor::{Before, Budget, LOOK_SECONDS, Swept};
use dalsegno::domain::{
    Change, Denied, ExitCode, Fact, FactKind, Gap, LifecycleRule, Observation, REQUESTS_LEFT, Requests, Setting, StoreFact,
    StoreId, StorePart,
};
use dalsegno::ledger::{HistoryFilter, RunState};

use super::scene::{Does, Site, answers, archive, codes, db, later, now, store, store_subject, the_archive, the_store};

fn ill() -> Fact {
    let mut ill = archive("app");
    ill.systems.push(dalsegno::domain::SystemSeen {
        system_id: dalsegno::domain::SystemId(42),
        seen_in: vec!["x".into()],
        newest: None,
    });
    Fact::Archive(Box::new(ill))
}

fn dark() -> Does {
    let gap = Gap {
        subject: db("app"),
        what: FactKind::Archive,
        why: Denied::Refused,
        code: None,
        detail: "connection refused".into(),
        hint: String::new(),
    };
    Does::Answers(Box::new(Observation { gaps: vec![gap], ..Observation::default() }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_pass_is_fine_and_leaves_a_run_and_a_sample_for_each_subject() {
    let site = Site::new(vec![the_store(), the_archive()]).await;
    let outcome = site.pass(now()).await;
    assert_eq!(outcome.findings, []);
    assert_eq!(outcome.exit, ExitCode::Fine);
    let run = site.ledger.history(&HistoryFilter::default()).await.unwrap().remove(0);
    assert_eq!((run.state, run.exit_code, run.number), (RunState::Done, Some(0), outcome.number));
    for subject in [db("app"), store_subject()] {
        let samples = site.ledger.samples(&subject, LOOK_SECONDS, now(), later(1)).await.unwrap();
        assert_eq!(samples.len(), 1, "{subject}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finding_is_new_then_still_then_cleared() {
    let archive = the_archive();
    let site = Site::new(vec![the_store(), archive.clone()]).await;
    archive.then(answers(vec![ill()]));
    let first = site.pass(now()).await;
    assert!(matches!(first.changes.as_slice(), [Change::New { .. }]), "{:?}", first.changes);
    assert_eq!(first.exit, ExitCode::Findings);
    let second = site.pass(later(5)).await;
    assert!(matches!(second.changes.as_slice(), [Change::Still { since, .. }] if *since == now()), "{:?}", second.changes);
    archive.then(answers(vec![Fact::Archive(Box::new(super::scene::archive("app")))]));
    let third = site.pass(later(10)).await;
    assert!(
        third.changes.iter().any(|c| matches!(c, Change::Cleared { finding, .. } if finding.code == "wal-chain-mixed-system-id"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_looked_at_is_not_cleared() {
    let archive = the_archive();
    let site = Site::new(vec![the_store(), archive.clone()]).await;
    archive.then(answers(vec![ill()]));
    site.pass(now()).await;
    archive.then(dark());
    let outcome = site.pass(later(5)).await;
    let still = outcome
        .changes
        .iter()
        .filter(|c| matches!(c, Change::Still { finding, .. } if finding.code == "wal-chain-mixed-system-id"));
    assert_eq!(still.count(), 1, "{:?}", outcome.changes);
    assert!(!outcome.changes.iter().any(|change| matches!(change, Change::Cleared { .. })));
}

/// A rule that deletes after a day what is promised for two.
fn deleting() -> StoreFact {
    let rule = LifecycleRule {
        id: "tidy".into(),
        enabled: true,
        prefix: String::new(),
        expire_days: Some(1),
        noncurrent_days: None,
        abort_multipart_days: None,
        transition: None,
        narrowed: false,
    };
    StoreFact { lifecycle: Setting::Set(vec![rule]), ..store() }
}

async fn with_a_lifecycle_finding(then: Observation, archive_too: Option<Does>) -> dalsegno::conductor::PassOutcome {
    let (bucket, on_it) = (the_store(), the_archive());
    let site = Site::new(vec![bucket.clone(), on_it.clone()]).await;
    bucket.then(answers(vec![Fact::Store(Box::new(deleting()))]));
    assert_eq!(codes(&site.pass(now()).await), ["lifecycle-conflicts-with-retention"]);
    bucket.then(Does::Answers(Box::new(then)));
    if let Some(does) = archive_too {
        on_it.then(does);
    }
    site.pass(later(5)).await
}

fn cleared(outcome: &dalsegno::conductor::PassOutcome) -> bool {
    let of = |change: &Change| matches!(change, Change::Cleared { finding, .. } if finding.code == "lifecycle-conflicts-with-retention");
    outcome.changes.iter().any(of)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_store_that_got_no_answer_once_clears_nothing_and_is_not_fine() {
    let gap = Gap {
        subject: store_subject(),
        what: FactKind::StorePart(StorePart::Lifecycle),
        why: Denied::Broken,
        code: Some("SlowDown".into()),
        detail: "GetBucketLifecycleConfiguration: 503".into(),
        hint: String::new(),
    };
    let blind = StoreFact { lifecycle: Setting::NotAsked, ..store() };
    let seen = Observation { facts: vec![Fact::Store(Box::new(blind))], gaps: vec![gap], ..Observation::default() };
    let outcome = with_a_lifecycle_finding(seen, None).await;
    assert!(!cleared(&outcome), "{:?}", outcome.changes);
    assert_eq!(codes(&outcome), ["store-look-incomplete"]);
    assert_eq!(outcome.exit, ExitCode::CouldNotLook);
    // The twin: the rule is gone, and everything was seen.
    let healthy = Observation { facts: vec![Fact::Store(Box::new(store()))], ..Observation::default() };
    let outcome = with_a_lifecycle_finding(healthy, None).await;
    assert!(cleared(&outcome) && outcome.exit == ExitCode::Fine, "{:?}", outcome.changes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_that_may_not_be_asked_any_more_clears_nothing_and_neither_does_an_archive_that_was_not_seen() {
    let refused = StoreFact { lifecycle: Setting::Denied, ..store() };
    let seen = Observation { facts: vec![Fact::Store(Box::new(refused))], ..Observation::default() };
    let outcome = with_a_lifecycle_finding(seen, None).await;
    assert!(!cleared(&outcome), "{:?}", outcome.changes);
    assert_eq!(codes(&outcome), ["store-settings-not-readable"]);
    let same = Observation { facts: vec![Fact::Store(Box::new(deleting()))], ..Observation::default() };
    let outcome = with_a_lifecycle_finding(same, Some(dark())).await;
    assert!(!cleared(&outcome), "{:?}", outcome.changes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_that_is_not_configured_any_more_falls_silent() {
    let archive = the_archive();
    let mut site = Site::new(vec![the_store(), archive.clone()]).await;
    archive.then(answers(vec![ill()]));
    site.pass(now()).await;
    site.looks.pop();
    let outcome = site.pass(later(5)).await;
    assert!(matches!(outcome.changes.as_slice(), [Change::Cleared { .. }]), "{:?}", outcome.changes);
}

#[tokio::test(flavor = "multi_thread")]
async fn left_overs_of_interrupted_drills_are_a_finding_and_exit_5() {
    let mut site = Site::new(vec![the_store(), the_archive()]).await;
    site.swept = Swept { closed: vec![], stuck: vec!["/var/tmp/dalsegno-1: not ours".into()] };
    let outcome = site.pass(now()).await;
    assert_eq!(codes(&outcome), ["drill-left-over"]);
    assert_eq!(outcome.exit, ExitCode::Stuck);
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_in_the_state_folder_is_taken_in_and_counts_as_proof() {
    let mut site = Site::new(vec![the_store(), the_archive()]).await;
    let drill_every = Some(35.0 * 86_400.0);
    site.expected.policies.insert(db("app"), dalsegno::domain::Policy { drill_every_seconds: drill_every, ..Default::default() });
    assert_eq!(codes(&site.pass(now()).await), ["never-drilled"]);
    let run = dalsegno::domain::RunId::new();
    let folder = site.drills().join(run.to_string());
    std::fs::create_dir_all(&folder).unwrap();
    dalsegno::execution::write_evidence(&folder, &evidence(run)).unwrap();
    let outcome = site.pass(later(5)).await;
    assert_eq!(codes(&outcome), Vec::<&str>::new());
    // Twice is once.
    assert_eq!(codes(&site.pass(later(10)).await), Vec::<&str>::new());
}

/// Takes the evidence of a drill in: verdict, target and the minute when it ended.
fn leave(site: &Site, verdict: dalsegno::domain::Verdict, target: &str, minute: i64) {
    let run = dalsegno::domain::RunId::new();
    let mut drill = evidence(run);
    (drill.verdict, drill.began, drill.ended) = (verdict, later(minute), later(minute));
    let dalsegno::domain::RestoredBy::BaseAndWal { recovery, .. } = &mut drill.restored.as_mut().unwrap().by;
    recovery.as_mut().unwrap().target = target.into();
    let folder = site.drills().join(run.to_string());
    std::fs::create_dir_all(&folder).unwrap();
    dalsegno::execution::write_evidence(&folder, &drill).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_drill_stays_open_behind_narrower_and_undecided_ones_until_the_whole_is_proven() {
    use dalsegno::domain::Verdict;
    let site = Site::new(vec![the_store(), the_archive()]).await;
    leave(&site, Verdict::Failed, "end", 1);
    assert_eq!(codes(&site.pass(later(2)).await), ["drill-failed"]);
    leave(&site, Verdict::Proven, "2026-11-30T10:00:00Z", 3);
    assert_eq!(codes(&site.pass(later(4)).await), ["drill-failed"]);
    leave(&site, Verdict::Unknown, "end", 5);
    assert_eq!(codes(&site.pass(later(6)).await), ["drill-failed"]);
    leave(&site, Verdict::Proven, "end", 7);
    let outcome = site.pass(later(8)).await;
    assert_eq!(codes(&outcome), Vec::<&str>::new());
    assert!(
        outcome.changes.iter().any(|change| matches!(change, Change::Cleared { finding, .. } if finding.code == "drill-failed"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_that_cannot_be_read_is_a_finding_and_stops_nothing() {
    let site = Site::new(vec![the_store(), the_archive()]).await;
    let folder = site.drills().join(dalsegno::domain::RunId::new().to_string());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("evidence.json"), "{\"format\": 1, half").unwrap();
    let outcome = site.pass(now()).await;
    assert_eq!(codes(&outcome), ["evidence-unreadable"]);
    assert_eq!(outcome.exit, ExitCode::CouldNotLook, "what that drill said is not known");
    assert_eq!(outcome.seen.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_used_up_budget_is_told_to_people_and_to_the_observers() {
    let (bucket, archive) = (the_store(), the_archive());
    let mut site = Site::new(vec![bucket.clone(), archive.clone()]).await;
    let costly = Observation {
        facts: vec![Fact::Store(Box::new(store()))],
        requests: Requests { class_a: 900, class_b: 200, ..Requests::default() },
        ..Observation::default()
    };
    bucket.then(Does::Answers(Box::new(costly)));
    site.budgets = vec![Budget { store: StoreId("minio".into()), subject: store_subject(), per_day: 1_000 }];
    assert_eq!(codes(&site.pass(now()).await), Vec::<&str>::new());
    let outcome = site.pass(later(5)).await;
    assert_eq!(codes(&outcome), ["store-request-budget-used"]);
    let known = archive.known.lock().unwrap().clone();
    let left = |at: usize| {
        known[at].facts.iter().find_map(|fact| match fact {
            Fact::Sample(sample) if sample.metric == REQUESTS_LEFT => Some(sample.value),
            _ => None,
        })
    };
    assert_eq!((left(0), left(1)), (Some(1_000.0), Some(-100.0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_of_one_database_looks_at_it_and_at_its_store_and_records_nothing() {
    use super::scene::{RULE, Told, cx};
    let other = Told::new("postgres/auth", vec![(db("auth"), FactKind::Archive)], dark());
    let site = Site::new(vec![the_store(), the_archive(), other.clone()]).await;
    let limit = std::time::Duration::from_secs(5);
    let checked = dalsegno::conductor::check(
        &site.looks,
        &site.expected,
        Before::Everything(&site.ledger),
        Some("pg/app"),
        limit,
        RULE,
        &cx(now()),
    )
    .await
    .unwrap();
    assert_eq!((checked.exit, checked.findings), (ExitCode::Fine, vec![]));
    assert_eq!(checked.seen, [db("app"), store_subject()]);
    assert!(other.known.lock().unwrap().is_empty());
    assert_eq!(site.ledger.history(&HistoryFilter::default()).await.unwrap(), []);
    assert_eq!(site.ledger.recall(&dalsegno::domain::ProviderId("postgres/app".into())).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_ledger_a_check_does_not_claim_that_nothing_was_ever_drilled() {
    use super::scene::{RULE, cx};
    let mut site = Site::new(vec![the_store(), the_archive()]).await;
    let drill_every = Some(35.0 * 86_400.0);
    site.expected.policies.insert(db("app"), dalsegno::domain::Policy { drill_every_seconds: drill_every, ..Default::default() });
    for (before, exit) in [(Before::Nothing, ExitCode::CouldNotLook), (Before::Everything(&site.ledger), ExitCode::Findings)] {
        let limit = std::time::Duration::from_secs(5);
        let checked =
            dalsegno::conductor::check(&site.looks, &site.expected, before, None, limit, RULE, &cx(now())).await.unwrap();
        let found: Vec<&str> = checked.findings.iter().map(|finding| finding.code.as_str()).collect();
        assert_eq!((found, checked.exit), (vec!["never-drilled"], exit));
    }
}

pub(crate) fn evidence(run: dalsegno::domain::RunId) -> dalsegno::domain::Evidence {
    use dalsegno::domain::{EVIDENCE_FORMAT, Evidence, Isolation, Restored, RestoredBy, Rpo, Verdict};
    let ended = super::scene::at("2026-11-30T14:00:00Z");
    Evidence {
        format: EVIDENCE_FORMAT,
        run,
        site: "home".into(),
        host: "bench".into(),
        subject: db("app"),
        runbook: "pg-restore".into(),
        runbook_sha256: "00".repeat(32),
        made_by: "0.1.0".into(),
        began: ended,
        ended,
        verdict: Verdict::Proven,
        reasons: vec![],
        hints: vec![],
        codes: vec![],
        restored: Some(Restored {
            place: archive("app").place.into(),
            name: "b".into(),
            by: RestoredBy::BaseAndWal {
                system_expected: None,
                system_restored: None,
                segments: 3,
                postgres: None,
                recovery: Some(dalsegno::domain::RecoveryEnd {
                    target: "end".into(),
                    timeline: 1,
                    expected_segment: "000000010000000000000010".into(),
                    reached_segment: None,
                    reached_lsn: None,
                }),
            },
        }),
        isolation_declared: Isolation::Closed,
        isolation: Isolation::Closed,
        isolation_facts: vec![],
        rpo: Rpo::default(),
        rpo_budget_seconds: None,
        rto_seconds: Some(14.0),
        rto_budget_seconds: None,
        phases: vec![],
        checks: vec![],
        assertions: vec![],
        steps: vec![],
        left_over: vec![],
        requests: Requests::default(),
        sizes: std::collections::BTreeMap::default(),
    }
}
