use std::collections::BTreeMap;
use std::time::Duration;

use dalsegno::domain::{Alert, Message, Severity, Silence};
use dalsegno::notify::{Channel, STANDS_FOR, Said, Sent, Way, message, send, test_message};
use jiff::Timestamp;
use lab::Tool;
use lab::alertmanager::Alertmanager;
use serde_json::Value;

use super::{about, alert, at, finding, means, of};

fn channel(url: &str) -> Channel {
    of("alertmanager/main", Way::Alertmanager { url: url.to_owned(), auth: None })
}

fn standing(channel: &Channel, now: Timestamp, alerts: &[Alert]) -> Option<Message> {
    message(channel, &about(), &Said { now, notices: &[], alerts, objects: &BTreeMap::new() })
}

fn ill(severity: Severity) -> Alert {
    alert(finding("wal-gap", "keycloak-db", severity))
}

fn entries(message: &Message) -> Vec<Value> {
    serde_json::from_str::<Value>(&message.body).unwrap().as_array().unwrap().clone()
}

#[test]
fn what_stands_is_sent_in_each_pass_and_believed_for_a_day() {
    let channel = channel("http://am.lan:9093");
    for minutes in [0, 5, 600] {
        let now = at(minutes * 60);
        let message = standing(&channel, now, &[ill(Severity::Critical)]).unwrap();
        assert!(message.replaces, "a newer one takes its place");
        let all = entries(&message);
        assert_eq!(all[0]["startsAt"], at(0).to_string(), "it began when it began");
        assert_eq!(all[0]["endsAt"], (now + STANDS_FOR).to_string());
    }
}

#[test]
fn the_labels_are_its_key_and_the_severity() {
    let mut alert = ill(Severity::Critical);
    alert.dependents = vec!["SSO".into()];
    let until = at(3_600);
    alert.quiet = Some(Silence::Acknowledged { author: "vera".into(), reason: "known".into(), until });
    let all = entries(&standing(&channel("http://am.lan"), at(0), &[alert]).unwrap());
    insta::assert_json_snapshot!(all);
}

#[test]
fn another_severity_ends_the_alert_of_the_old_one() {
    let mut alert = ill(Severity::Critical);
    alert.earlier = vec![(Severity::Warning, at(300))];
    let all = entries(&standing(&channel("http://am.lan"), at(600), &[alert]).unwrap());
    let ends: Vec<_> = all.iter().map(|entry| (entry["labels"]["severity"].as_str().unwrap(), entry["endsAt"].clone())).collect();
    assert_eq!(ends[1], ("warning", Value::from(at(300).to_string())));
    assert_eq!(ends[0].0, "critical");
}

#[test]
fn what_was_not_told_is_not_sent() {
    let mut waiting = ill(Severity::Critical);
    waiting.told = None;
    assert_eq!(standing(&channel("http://am.lan"), at(0), &[waiting]), None);
    assert_eq!(standing(&channel("http://am.lan"), at(0), &[ill(Severity::Info)]), None, "below the threshold");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_alertmanager_takes_it_passes_it_on_and_hears_its_end() {
    if lab::need("notify", Tool::Alertmanager).is_none() {
        return;
    }
    let server = Alertmanager::start().await.unwrap();
    let channel = channel(&server.url());
    let limit = Duration::from_secs(5);
    let now = Timestamp::now();
    let mut alert = ill(Severity::Critical);
    alert.since = now;
    for _ in 0..2 {
        let message = standing(&channel, now, std::slice::from_ref(&alert)).unwrap();
        assert_eq!(send(&means(), &channel, &message, now, limit).await, Sent::Delivered);
    }
    let held = server.wait_for("code", "wal-gap", true, Duration::from_secs(20)).await.unwrap();
    assert_eq!(held["labels"]["subject"], "pg/home/prod/keycloak-db");
    assert_eq!(held["labels"]["alertname"], "DalsegnoWalGap");
    assert_eq!(server.alerts().await.unwrap().len(), 1, "sent twice, it is one");
    // It gets worse or better: another alert, and the old one ends; then its own end.
    (alert.told, alert.end_told) = (None, Some(now));
    alert.earlier = vec![(Severity::Critical, Timestamp::now())];
    let message = standing(&channel, now, &[alert]).unwrap();
    assert_eq!(send(&means(), &channel, &message, now, limit).await, Sent::Delivered);
    server.wait_for("code", "wal-gap", false, Duration::from_secs(20)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_reaches_a_real_alertmanager_and_ends_by_itself() {
    if lab::need("notify", Tool::Alertmanager).is_none() {
        return;
    }
    let server = Alertmanager::start().await.unwrap();
    let channel = channel(&server.url());
    let now = Timestamp::now();
    let test = test_message(&channel, &about(), now).unwrap();
    assert_eq!(send(&means(), &channel, &test, now, Duration::from_secs(5)).await, Sent::Delivered);
    let held = server.wait_for("code", "notify-test", true, Duration::from_secs(20)).await.unwrap();
    let ends: Timestamp = held["endsAt"].as_str().unwrap().parse().unwrap();
    assert!(ends.duration_since(now).as_secs() <= 61);
}
