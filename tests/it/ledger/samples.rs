use dalsegno::domain::{Fact, Memory, Observation, ProviderId, RecoveryPoint, Requests, Sample, StoreId};
use jiff::Timestamp;

use super::{at, open, pass, place, subject};

fn sample(metric: &str, value: f64, at: Timestamp) -> Sample {
    Sample { subject: subject("a"), metric: metric.into(), value, at }
}

#[tokio::test]
async fn one_sample_per_pass_subject_and_metric_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    ledger.commit_samples(run, at(0), &[sample("archive_objects", 1.0, at(0))]).await.unwrap();
    let kept =
        ledger.commit_samples(run, at(1), &[sample("archive_objects", 2.0, at(1)), sample("archive_bytes", 9.0, at(1))]).await;
    assert_eq!(kept.unwrap(), 2);
    let rows = ledger.samples(&subject("a"), "archive_objects", at(-9), at(9)).await.unwrap();
    assert_eq!(rows, [(at(1), 2.0)]);
}

#[tokio::test]
async fn a_value_that_is_no_number_is_left_out_and_the_others_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    let samples = [sample("a_bytes", f64::NAN, at(0)), sample("b_bytes", 3.0, at(0)), sample("c_bytes", f64::INFINITY, at(0))];
    assert_eq!(ledger.commit_samples(run, at(0), &samples).await.unwrap(), 1);
}

#[tokio::test]
async fn raw_samples_become_hours_and_both_go_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    for (second, value) in [(0, 1.0), (600, 3.0), (3_599, 8.0), (3_600, 100.0)] {
        let run = pass(&ledger, second).await;
        ledger.commit_samples(run, at(second), &[sample("archive_bytes", value, at(second))]).await.unwrap();
    }
    ledger.tidy(at(3_700)).await.unwrap();
    ledger.tidy(at(3_700)).await.unwrap();
    let hours = ledger.hours(&subject("a"), "archive_bytes", at(-9_999), at(99_999)).await.unwrap();
    assert_eq!(hours.len(), 1, "the hour that goes on is not rolled up");
    assert_eq!((hours[0].hour, hours[0].count, hours[0].minimum, hours[0].maximum, hours[0].mean), (at(0), 3, 1.0, 8.0, 4.0));

    // A late sample of a rolled-up hour counts.
    let run = pass(&ledger, 3_710).await;
    ledger.commit_samples(run, at(3_710), &[sample("archive_bytes", 0.0, at(1_000))]).await.unwrap();
    ledger.tidy(at(7_300)).await.unwrap();
    let hours = ledger.hours(&subject("a"), "archive_bytes", at(-9_999), at(99_999)).await.unwrap();
    assert_eq!((hours.len(), hours[0].count, hours[0].minimum), (2, 4, 0.0));

    let day = 86_400;
    ledger.tidy(at(15 * day)).await.unwrap();
    assert!(ledger.samples(&subject("a"), "archive_bytes", at(-9), at(99_999)).await.unwrap().is_empty(), "raw: 14 days");
    assert_eq!(ledger.hours(&subject("a"), "archive_bytes", at(-9_999), at(99_999)).await.unwrap().len(), 2);
    ledger.tidy(at(397 * day)).await.unwrap();
    assert!(ledger.hours(&subject("a"), "archive_bytes", at(-9_999), at(99_999)).await.unwrap().is_empty(), "hours: 13 months");
}

#[tokio::test]
async fn samples_of_13_days_ago_stay_raw() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    ledger.commit_samples(run, at(0), &[sample("archive_bytes", 1.0, at(0))]).await.unwrap();
    ledger.tidy(at(13 * 86_400)).await.unwrap();
    assert_eq!(ledger.samples(&subject("a"), "archive_bytes", at(-9), at(9)).await.unwrap().len(), 1);
}

fn point(name: &str) -> RecoveryPoint {
    RecoveryPoint {
        subject: subject("a"),
        place: place(),
        mechanism: dalsegno::domain::Mechanism::BaseAndWal,
        name: name.into(),
        from: at(-100),
        covered_until: Some(at(-10)),
        stored_bytes: 5,
    }
}

#[tokio::test]
async fn an_observation_is_kept_as_one_piece_with_memory_and_requests() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    let (provider, store) = (ProviderId("postgres/a".into()), StoreId("minio".into()));
    let made = Requests { class_a: 3, class_b: 2, free: 1, bytes_in: 10, bytes_out: 0 };
    let observation = Observation {
        facts: vec![Fact::Sample(sample("archive_bytes", 1.0, at(0))), Fact::RecoveryPoint(Box::new(point("20260930T020000")))],
        memory: Some(Memory(serde_json::json!({"last": "k"}))),
        requests: made,
        ..Observation::default()
    };
    ledger.commit_observation(run, at(0), &provider, Some(&store), &observation).await.unwrap();
    ledger.commit_requests(run, at(5), &store, made).await.unwrap();
    assert_eq!(ledger.recall(&provider).await.unwrap(), observation.memory);
    assert_eq!(ledger.recall(&ProviderId("other".into())).await.unwrap(), None);
    let today = ledger.requests_today(&store, at(10)).await.unwrap();
    assert_eq!((today.class_a, today.class_b, today.free), (6, 4, 2));
    assert_eq!(ledger.requests_today(&store, at(86_400)).await.unwrap(), Requests::default(), "another day");
    let shown = ledger.show(&run.to_string()).await.unwrap();
    assert_eq!(shown.samples.len(), 1);
    assert_eq!(shown.requests[0].1.bytes_in, 20);
    assert_eq!(ledger.points().await.unwrap()[0].point, point("20260930T020000"));
}

#[tokio::test]
async fn recovery_points_go_only_when_their_place_was_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    ledger.commit_points(at(0), &[point("one"), point("two")], &[(subject("a"), place())]).await.unwrap();
    ledger.commit_points(at(60), &[], &[]).await.unwrap();
    assert_eq!(ledger.points().await.unwrap().len(), 2, "nobody looked");
    ledger.commit_points(at(120), &[point("two")], &[(subject("a"), place())]).await.unwrap();
    let names: Vec<_> = ledger.points().await.unwrap().into_iter().map(|known| known.point.name).collect();
    assert_eq!(names, ["two"]);
}
