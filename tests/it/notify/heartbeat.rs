use std::collections::BTreeSet;
use std::time::Duration;

use dalsegno::domain::{Change, Ended, Finding, Secret, Severity};
use dalsegno::notify::{Heartbeat, Sent, Signal, ping, signal};
use dalsegno::tap::http::{LiveHttp, LiveHttpOptions};

use super::listener::{Answer, Listener};
use super::{about, at, finding};

/// The run of these tests: both ends of a pass carry it.
const RID: &str = "01999999-aaaa-7bbb-8ccc-0123456789ab";

fn http() -> LiveHttp {
    let _ = rustls::crypto::ring::default_provider().install_default();
    LiveHttp::new(&LiveHttpOptions { proxies: false, ..LiveHttpOptions::default() }).unwrap()
}

fn blind(severity: Severity) -> Finding {
    Finding { could_not_look: true, ..finding("store-unreachable", "minio", severity) }
}

fn new(code: &str, name: &str, severity: Severity) -> Change {
    Change::New { finding: finding(code, name, severity) }
}

fn still(finding: Finding) -> Change {
    Change::Still { finding, since: at(-60), severity_was: None }
}

#[test]
fn success_only_when_everything_was_seen_and_nothing_is_critical() {
    let none = BTreeSet::new();
    let of = |changes: &[Change]| signal(&about(), changes, &none, &none, true);
    assert_eq!(of(&[]), Signal::Success);
    assert_eq!(of(&[new("never-drilled", "a", Severity::Warning)]), Signal::Success, "a warning is told, it is no failure");
    assert_eq!(
        of(&[Change::Cleared { finding: finding("x", "a", Severity::Critical), since: at(0), why: Ended::Fixed }]),
        Signal::Success
    );
    assert!(matches!(of(&[new("wal-gap", "a", Severity::Critical)]), Signal::Fail(text) if text.contains("wal-gap")));
    assert!(matches!(of(&[still(finding("wal-gap", "a", Severity::Critical))]), Signal::Fail(_)));
    assert!(
        matches!(of(&[Change::New { finding: blind(Severity::Warning) }]), Signal::Log(text) if text.contains("could not be looked at"))
    );
    assert!(matches!(of(&[Change::New { finding: blind(Severity::Critical) }]), Signal::Fail(_)));
}

#[test]
fn what_was_not_looked_at_is_never_a_success() {
    let (warning, critical) = (finding("x", "a", Severity::Warning), finding("x", "a", Severity::Critical));
    let (none, not_looked) = (BTreeSet::new(), BTreeSet::from([warning.key()]));
    assert!(matches!(signal(&about(), &[still(warning.clone())], &not_looked, &none, true), Signal::Log(_)));
    assert_eq!(signal(&about(), &[still(warning)], &none, &none, true), Signal::Success);
    assert!(
        matches!(signal(&about(), &[still(critical)], &not_looked, &none, true), Signal::Fail(_)),
        "known, and nobody saw it gone"
    );
    assert!(matches!(signal(&about(), &[], &none, &none, false), Signal::Log(_)), "the pass did not come through");
}

#[tokio::test]
async fn each_signal_has_its_path() {
    let listener = Listener::start(Answer::With("200 OK", "OK")).await;
    let heartbeat = Heartbeat { url: Secret::new(format!("{}/ping/uuid-uuid", listener.url)) };
    for given in [Signal::Start, Signal::Success, Signal::Fail("wal-gap".into()), Signal::Log("minio".into())] {
        assert_eq!(ping(&http(), &heartbeat, about().run, &given, at(0), Duration::from_secs(5)).await, Sent::Delivered);
    }
    let asked: Vec<_> = listener.asked().into_iter().map(|asked| (asked.line, asked.body)).collect();
    assert_eq!(
        asked,
        [
            (format!("GET /ping/uuid-uuid/start?rid={RID} HTTP/1.1"), String::new()),
            (format!("GET /ping/uuid-uuid?rid={RID} HTTP/1.1"), String::new()),
            (format!("POST /ping/uuid-uuid/fail?rid={RID} HTTP/1.1"), "wal-gap".to_owned()),
            (format!("POST /ping/uuid-uuid/log?rid={RID} HTTP/1.1"), "minio".to_owned()),
        ]
    );
}

#[tokio::test]
async fn a_server_that_hangs_costs_its_limit_and_is_asked_twice() {
    let listener = Listener::start(Answer::Hang).await;
    let heartbeat = Heartbeat { url: Secret::new(format!("{}/ping/uuid-uuid", listener.url)) };
    let begun = std::time::Instant::now();
    let sent = ping(&http(), &heartbeat, about().run, &Signal::Success, at(0), Duration::from_secs(3)).await;
    assert!(matches!(sent, Sent::Later { .. }), "{sent:?}");
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert_eq!(listener.asked().len(), 2);
}

#[test]
fn what_people_silenced_does_not_stop_the_sign_of_life() {
    let critical = finding("wal-gap", "a", Severity::Critical);
    let (none, silenced) = (BTreeSet::new(), BTreeSet::from([critical.key()]));
    assert_eq!(signal(&about(), &[still(critical.clone())], &none, &silenced, true), Signal::Success);
    let other = new("base-backup-failed", "a", Severity::Critical);
    assert!(matches!(signal(&about(), &[still(critical), other], &none, &silenced, true), Signal::Fail(_)), "the twin");
}
