//! Channels and the heartbeat: what is said, to whom, and what becomes of it when nobody listens.

mod body;
mod heartbeat;
mod listener;
mod sending;

use dalsegno::domain::{Change, Finding, RunId, Secret, Severity, Subject, SubjectKind};
use dalsegno::notify::{About, Channel};
use jiff::Timestamp;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_790_769_600 + seconds).unwrap()
}

fn about() -> About {
    About { site: "home".into(), run: RunId::parse("01999999-aaaa-7bbb-8ccc-0123456789ab").unwrap(), number: 1207 }
}

fn channel(url: &str, at_least: Severity) -> Channel {
    Channel { name: "ops".into(), url: Secret::new(url.into()), at_least }
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

fn new(code: &str, name: &str, severity: Severity) -> Change {
    Change::New { finding: finding(code, name, severity) }
}
