//! A message that tries a channel out: it says of itself that it is a test.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{About, Channel, Said, Way, message, metrics};
use crate::domain::{Alert, Finding, Message, Notice, Severity, Subject, Told};

/// What a test says. For Alertmanager it is over at once, so that nothing is left standing there.
pub fn test_message(channel: &Channel, about: &About, now: Timestamp) -> Option<Message> {
    if channel.takes_metrics() {
        let text =
            "# HELP dalsegno_notify_test a test of this channel\n# TYPE dalsegno_notify_test gauge\ndalsegno_notify_test 1\n";
        return metrics(channel, about, text);
    }
    if let Way::Events { .. } = channel.way {
        return Some(Message {
            channel: channel.name.clone(),
            key: format!("{}/{}", about.run, channel.name),
            body: "[]".to_owned(),
            replaces: true,
        });
    }
    let all = Channel { at_least: Severity::Info, ..channel.clone() };
    let soon = now.saturating_add(SignedDuration::from_secs(60)).unwrap_or(now);
    let mut alert = the_alert(now);
    let notices = [Notice { told: Told::New, was: None, because: None, alert: alert.clone(), explains: Vec::new() }];
    alert.told = None;
    alert.earlier = vec![(Severity::Info, soon)];
    message(&all, about, &Said { now, notices: &notices, alerts: &[alert], objects: &BTreeMap::new() })
}

fn the_alert(now: Timestamp) -> Alert {
    let finding = Finding {
        code: "notify-test".to_owned(),
        severity: Severity::Info,
        subject: Subject::dalsegno("notify"),
        summary: "a test: this channel takes messages".to_owned(),
        evidence: Vec::new(),
        cause: "somebody ran dalsegno notify test".to_owned(),
        remedy: "nothing".to_owned(),
        could_not_look: false,
    };
    Alert {
        finding,
        since: now,
        present: true,
        turned: now,
        told: Some(Severity::Info),
        told_at: Some(now),
        end_told: None,
        lower_since: None,
        returns: Vec::new(),
        restless: false,
        quiet: None,
        earlier: Vec::new(),
        dependents: Vec::new(),
        ended: None,
    }
}
