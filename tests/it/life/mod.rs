//! The life of an alert: what people are told, and what they are spared.

mod cause;
mod damping;
mod quiet;
mod soak;
mod weighing;

use std::collections::{BTreeMap, BTreeSet};

use dalsegno::domain::{
    Ack, Change, Ended, Expected, Finding, FindingKey, Heard, Notice, Severity, Silence, Subject, SubjectKind,
};
use dalsegno::policy::life::{Lived, live};
use jiff::{SignedDuration, Timestamp};

fn at(minutes: i64) -> Timestamp {
    Timestamp::from_second(1_790_769_600).unwrap() + SignedDuration::from_mins(minutes)
}

fn db(name: &str) -> Subject {
    Subject::new(SubjectKind::Pg, &["home", "prod", name])
}

fn store() -> Subject {
    Subject::new(SubjectKind::Store, &["home", "minio"])
}

fn finding(code: &str, subject: &Subject, severity: Severity) -> Finding {
    Finding {
        code: code.into(),
        severity,
        subject: subject.clone(),
        summary: format!("{code} was seen on {subject}"),
        evidence: vec![],
        cause: "one cause".into(),
        remedy: "mend it".into(),
        could_not_look: false,
    }
}

fn critical(code: &str) -> Finding {
    finding(code, &db("app"), Severity::Critical)
}

fn warning(code: &str) -> Finding {
    finding(code, &db("app"), Severity::Warning)
}

fn blind(code: &str, subject: &Subject) -> Finding {
    Finding { could_not_look: true, ..finding(code, subject, Severity::Critical) }
}

/// A ledger of nothing but open findings and alerts, so that whole months pass in a second.
#[derive(Default)]
struct Site {
    expected: Expected,
    open: BTreeMap<FindingKey, (Finding, Timestamp)>,
    heard: Heard,
}

impl Site {
    /// One pass that looked at everything.
    fn pass(&mut self, now: Timestamp, found: &[Finding]) -> Vec<Notice> {
        self.pass_with(now, found, &|_| Some(Ended::Fixed))
    }

    /// One pass; `glance` says of what was not found whether it is over (`None` = not looked at).
    fn pass_with(&mut self, now: Timestamp, found: &[Finding], glance: &dyn Fn(&FindingKey) -> Option<Ended>) -> Vec<Notice> {
        let mut changes = Vec::new();
        let mut not_looked = BTreeSet::new();
        let mut before = std::mem::take(&mut self.open);
        for finding in found {
            let since = if let Some((was, since)) = before.remove(&finding.key()) {
                let severity_was = (was.severity != finding.severity).then_some(was.severity);
                changes.push(Change::Still { finding: finding.clone(), since, severity_was });
                since
            } else {
                changes.push(Change::New { finding: finding.clone() });
                now
            };
            self.open.insert(finding.key(), (finding.clone(), since));
        }
        for (key, (finding, since)) in before {
            if let Some(why) = glance(&key) {
                changes.push(Change::Cleared { finding, since, why });
            } else {
                changes.push(Change::Still { finding: finding.clone(), since, severity_was: None });
                not_looked.insert(key.clone());
                self.open.insert(key, (finding, since));
            }
        }
        let Lived { alerts, notices, over } = live(now, &self.expected, &changes, &not_looked, &self.heard);
        self.heard.alerts = alerts;
        self.heard.acks.retain(|ack| !over.contains(&ack.key));
        notices
    }

    fn ack(&mut self, finding: &Finding, now: Timestamp, until: Timestamp) {
        self.heard.acks.push(Ack {
            key: finding.key(),
            severity: finding.severity,
            reason: "the disk is ordered".into(),
            author: "vera".into(),
            made_at: now,
            until,
        });
    }

    fn quiet_of(&self, key: &FindingKey) -> Option<&Silence> {
        self.heard.alerts.iter().find(|alert| &alert.key() == key).and_then(|alert| alert.quiet.as_ref())
    }
}

fn words(notices: &[Notice]) -> Vec<String> {
    let word = |notice: &Notice| {
        let finding = &notice.alert.finding;
        format!("{} {} {}", notice.told.as_str(), finding.severity.as_str(), finding.code)
    };
    notices.iter().map(word).collect()
}

/// What is said over passes five minutes apart: `!` critical, `w` warning, `?` not looked at, `.` not there.
fn said(pattern: &str) -> Vec<(i64, String)> {
    let mut site = Site::default();
    let mut all = Vec::new();
    for (index, sign) in (0..).zip(pattern.chars()) {
        let now = at(index * 5);
        let notices = match sign {
            '!' => site.pass(now, &[critical("wal-gap")]),
            'w' => site.pass(now, &[warning("wal-gap")]),
            '?' => site.pass_with(now, &[], &|_| None),
            '.' => site.pass(now, &[]),
            other => panic!("{other}"),
        };
        all.extend(words(&notices).into_iter().map(|word| (index, word)));
    }
    all
}

fn told(index: i64, word: &str) -> (i64, String) {
    (index, format!("{word} wal-gap"))
}
