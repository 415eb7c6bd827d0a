//! Channels and the heartbeat: what is said, to whom, and what becomes of it when nobody listens.

mod alertmanager;
mod events;
mod heartbeat;
mod listener;
mod mail;
mod metrics;
mod push;
mod rules;
mod sending;
mod webhook;

use std::collections::BTreeMap;
use std::sync::Arc;

use dalsegno::domain::{Alert, Finding, Message, Notice, RunId, Secret, Severity, Subject, SubjectKind, Told};
use dalsegno::notify::{About, Channel, Means, Said, Way, message};
use dalsegno::tap::http::{LiveHttp, LiveHttpOptions};
use jiff::Timestamp;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_790_769_600 + seconds).unwrap()
}

fn about() -> About {
    About { site: "home".into(), run: RunId::parse("01999999-aaaa-7bbb-8ccc-0123456789ab").unwrap(), number: 1207 }
}

fn channel(url: &str, at_least: Severity) -> Channel {
    Channel::webhook("ops", Secret::new(url.into()), at_least)
}

fn finding(code: &str, name: &str, severity: Severity) -> Finding {
    Finding {
        code: code.into(),
        severity,
        subject: Subject::new(SubjectKind::Pg, &["home", "prod", name]),
        summary: format!("{code} was seen on {name}"),
        evidence: vec!["not told".into()],
        cause: "the endpoint is a placeholder".into(),
        remedy: "set the endpoint, then: dalsegno check".into(),
        could_not_look: false,
    }
}

/// An alert that was just told.
fn alert(finding: Finding) -> Alert {
    Alert {
        told: Some(finding.severity),
        finding,
        since: at(0),
        present: true,
        turned: at(0),
        told_at: Some(at(0)),
        end_told: None,
        lower_since: None,
        returns: vec![],
        restless: false,
        quiet: None,
        earlier: vec![],
        dependents: vec![],
        ended: None,
    }
}

fn notice(told: Told, was: Option<Severity>, finding: Finding) -> Notice {
    Notice { told, was, because: None, alert: alert(finding), explains: vec![] }
}

fn new(code: &str, name: &str, severity: Severity) -> Notice {
    notice(Told::New, None, finding(code, name, severity))
}

/// The message of a channel about these notices, whose alerts stand.
fn said(channel: &Channel, notices: &[Notice]) -> Option<Message> {
    let alerts: Vec<Alert> = notices.iter().map(|notice| notice.alert.clone()).collect();
    message(channel, &about(), &Said { now: at(0), notices, alerts: &alerts, objects: &BTreeMap::new() })
}

fn of(name: &str, way: Way) -> Channel {
    Channel { name: name.into(), at_least: Severity::Warning, way }
}

fn means() -> Means {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = LiveHttp::new(&LiveHttpOptions { proxies: false, ..LiveHttpOptions::default() }).unwrap();
    Means { http: Arc::new(http), kube: BTreeMap::new(), site: "home".into() }
}
