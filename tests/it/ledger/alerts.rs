use dalsegno::domain::{Ack, Alert, Change, Ended, FindingKey, Glance, Severity};
use dalsegno::ledger::{Committed, Telling};

use super::{at, finding, open, pass, raw, subject};
use sqlx::Connection as _;

fn key() -> FindingKey {
    finding("wal-gap", &subject("a"), Severity::Critical).key()
}

fn alert() -> Alert {
    serde_json::from_value(serde_json::json!({
        "finding": finding("wal-gap", &subject("a"), Severity::Critical),
        "since": at(0), "present": true, "turned": at(0), "told": "critical", "told-at": at(0),
        "end-told": null, "lower-since": null, "quiet": null,
    }))
    .unwrap()
}

fn ack(made: i64, until: i64) -> Ack {
    Ack {
        key: key(),
        severity: Severity::Critical,
        reason: "known".into(),
        author: "vera".into(),
        made_at: at(made),
        until: at(until),
    }
}

#[tokio::test]
async fn alerts_are_kept_with_the_findings_of_their_pass_and_forgotten_when_they_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let found = [finding("wal-gap", &subject("a"), Severity::Critical)];
    let keep = |alerts: Vec<Alert>| move |_: &Committed| Telling { alerts: Some(alerts.clone()), ..Telling::default() };
    let run = pass(&ledger, 0).await;
    ledger.commit_findings_and_tell(run, at(0), &found, &|_| true, &keep(vec![alert()])).await.unwrap();
    ledger.close().await;
    let ledger = open(folder.path()).await;
    assert_eq!(ledger.alerts().await.unwrap(), [alert()]);
    let run = pass(&ledger, 60).await;
    let heard = ledger.commit_findings_and_tell(run, at(60), &found, &|_| true, &keep(vec![])).await.unwrap().heard;
    assert_eq!(heard.alerts, [alert()], "the pass was told what was said before");
    assert!(ledger.alerts().await.unwrap().is_empty());
    assert_eq!(ledger.verify().await.unwrap().problems, Vec::<String>::new());
}

#[tokio::test]
async fn nobody_who_does_not_look_after_alerts_changes_them() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    let keep = |_: &Committed| Telling { alerts: Some(vec![alert()]), ..Telling::default() };
    ledger.commit_findings_and_tell(run, at(0), &[], &|_| true, &keep).await.unwrap();
    ledger.commit_findings(run, at(1), &[], &|_| true).await.unwrap();
    assert_eq!(ledger.alerts().await.unwrap(), [alert()]);
}

#[tokio::test]
async fn an_acknowledgement_holds_until_its_end_is_replaced_and_withdrawn() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    ledger.acknowledge(&ack(0, 60)).await.unwrap();
    ledger.acknowledge(&ack(10, 90)).await.unwrap();
    let kept = ledger.acks(10).await.unwrap();
    assert_eq!((kept.len(), kept[0].ended_at, kept[1].ended_at), (2, None, Some(at(10))));
    assert!(kept[0].holds(at(89)) && !kept[0].holds(at(90)) && !kept[1].holds(at(11)));
    assert!(ledger.withdraw_ack(&key(), at(20)).await.unwrap());
    assert!(!ledger.withdraw_ack(&key(), at(21)).await.unwrap(), "once");
    assert!(!ledger.acks(10).await.unwrap()[0].holds(at(22)));
}

#[tokio::test]
async fn an_acknowledgement_ends_with_what_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    ledger.acknowledge(&ack(0, 600)).await.unwrap();
    let run = pass(&ledger, 60).await;
    let over = |committed: &Committed| {
        assert_eq!(committed.heard.acks, [ack(0, 600)]);
        Telling { over: vec![key()], ..Telling::default() }
    };
    ledger.commit_findings_and_tell(run, at(60), &[], &|_| true, &over).await.unwrap();
    assert_eq!(ledger.acks(10).await.unwrap()[0].ended_at, Some(at(60)));
}

#[tokio::test]
async fn why_a_finding_ended_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    let found = [finding("a", &subject("a"), Severity::Info), finding("b", &subject("b"), Severity::Info)];
    ledger.commit_findings(run, at(0), &found, &|_| true).await.unwrap();
    let run = pass(&ledger, 60).await;
    let glance = |key: &FindingKey| Glance::Over(if key.code == "a" { Ended::Fixed } else { Ended::NotConfigured });
    let committed = ledger.commit_findings(run, at(60), &[], &glance).await.unwrap();
    let whys = committed.changes.iter().filter_map(|change| match change {
        Change::Cleared { why, .. } => Some(*why),
        _ => None,
    });
    assert_eq!(whys.collect::<Vec<_>>(), [Ended::Fixed, Ended::NotConfigured]);
    ledger.close().await;
    let mut connection = raw(folder.path()).await;
    let kept: Vec<Option<String>> =
        sqlx::query_scalar("SELECT cleared_why FROM findings ORDER BY id").fetch_all(&mut connection).await.unwrap();
    assert_eq!(kept, [Some("fixed".to_owned()), Some("not-configured".to_owned())]);
    connection.close().await.unwrap();
}
