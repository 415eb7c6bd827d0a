//! What the doctor makes of answers, refusals and silence.

use std::time::Duration;

use dalsegno::conductor::{Examination, Patient, Reach, examine};
use dalsegno::domain::{Control, Denied, ExitCode, Fact, FactKind, Gap, Isolation, Observation, Subject};
use dalsegno::restore::{Limits, RestoreSettings, Restorer};

use super::scene::{Does, Site, Told, archive, cx, db, now, store, store_subject, the_archive, the_store};

fn gap(subject: Subject, what: FactKind, why: Denied) -> Gap {
    Gap { subject, what, why, code: None, detail: "it says no".into(), hint: "check the keys".into() }
}

async fn examined(site: &Site, only: Option<&str>) -> Examination {
    let settings = RestoreSettings {
        folder: site.folder.path().join("sandboxes"),
        user: String::new(),
        postgres_folders: Vec::new(),
        isolation: Isolation::None,
        fence: true,
        executable: env!("CARGO_BIN_EXE_dalsegno").into(),
        limits: Limits::default(),
    };
    let patient = Patient {
        looks: &site.looks,
        placeholders: &site.expected.placeholders,
        rests_on: &site.expected.rests_on,
        restorer: &Restorer::new(settings, Vec::new()),
        only,
        limit: Duration::from_secs(5),
    };
    examine(&patient, &cx(now())).await.unwrap()
}

fn reach(examination: &Examination, provider: &str) -> Reach {
    examination.providers.iter().find(|of| of.provider == provider).unwrap_or_else(|| panic!("{examination:#?}")).reach
}

fn answers(facts: Vec<Fact>, gaps: Vec<Gap>) -> Does {
    Does::Answers(Box::new(Observation { facts, gaps, ..Observation::default() }))
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_refused_are_refused_and_not_partly_taken() {
    let denied = || Denied::Denied { verb: "ListObjectsV2".into() };
    let refused = answers(vec![Fact::Store(Box::new(store()))], vec![gap(store_subject(), FactKind::Store, denied())]);
    let silent = answers(Vec::new(), vec![gap(db("app"), FactKind::Archive, Denied::Refused)]);
    let site = Site::new(vec![
        Told::new("store/minio", vec![(store_subject(), FactKind::Store)], refused),
        Told::new("postgres/app", vec![(db("app"), FactKind::Archive)], silent),
    ])
    .await;
    let seen = examined(&site, None).await;
    assert_eq!((reach(&seen, "store/minio"), reach(&seen, "postgres/app")), (Reach::Refused, Reach::Unreachable));
    assert_eq!(seen.exit, ExitCode::CouldNotLook);
    let of_store = seen.providers.iter().find(|of| of.provider == "store/minio").unwrap();
    assert_eq!(of_store.seen.len(), 1, "nothing is said of rights that were never shown: {:?}", of_store.seen);
    // Its twin lacks one part of the look only.
    let part = gap(store_subject(), FactKind::StorePart(dalsegno::domain::StorePart::Lifecycle), Denied::Timeout);
    let twin = answers(vec![Fact::Store(Box::new(store()))], vec![part]);
    let site = Site::new(vec![Told::new("store/minio", vec![(store_subject(), FactKind::Store)], twin), the_archive()]).await;
    let seen = examined(&site, None).await;
    assert_eq!((reach(&seen, "store/minio"), reach(&seen, "postgres/app")), (Reach::Partly, Reach::Reachable));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_place_is_reached_and_the_doctor_asks_whether_it_is_the_right_one() {
    let mut empty = archive("app");
    (empty.objects, empty.segments) = (0, 0);
    let observation = Observation {
        facts: vec![Fact::Archive(Box::new(empty))],
        controls: vec![Control { subject: db("app"), shown: "cnpg/ answered 1 folders: cnpg/other/".into() }],
        ..Observation::default()
    };
    let told = Told::new("postgres/app", vec![(db("app"), FactKind::Archive)], Does::Answers(Box::new(observation)));
    let site = Site::new(vec![the_store(), told]).await;
    let seen = examined(&site, Some("app")).await;
    assert_eq!(seen.providers.len(), 1, "{seen:#?}");
    assert!(seen.drills.is_none(), "{seen:#?}");
    let (what, hint) = &seen.providers[0].fixes[0];
    assert!(what.contains("cnpg/other/") && hint.contains("archive.server of postgres.app"), "{what} {hint}");
    let full = Site::new(vec![the_store(), the_archive()]).await;
    assert!(examined(&full, Some("app")).await.providers[0].fixes.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_is_as_good_a_name_as_its_provider() {
    let site = Site::new(vec![the_store(), the_archive()]).await;
    for only in ["store/minio", "minio", &store_subject().to_string()] {
        let seen = examined(&site, Some(only)).await;
        assert_eq!(seen.providers.iter().map(|of| of.provider.as_str()).collect::<Vec<_>>(), ["store/minio"], "{only}");
    }
    assert!(examined(&site, Some("drills")).await.providers.is_empty());
}
