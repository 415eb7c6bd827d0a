//! The heartbeat: a sign of life that is only given when everything was looked at and nothing is critical.
//!
//! Paths as healthchecks.io has them (<https://healthchecks.io/docs/http_api/>): `/start` when a pass begins, then the URL itself is
//! success, `/fail` is failure, `/log` is noted and changes nothing. All carry `rid`, the run's id, so that the two ends of a pass are matched.
//! It is not kept in the outbox: a success that arrives late would be a lie, and the receiver notices by itself when none comes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;

use super::send::{Sent, call};
use super::text::tame;
use super::{About, Heartbeat};
use crate::domain::{Change, Finding, FindingKey, RunId, Severity};
use crate::tap::http::Base;
use crate::tap::{HttpCalls, HttpRequest};

/// At most so many findings are named.
const NAMED: usize = 10;

/// What a pass has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A pass begins.
    Start,
    /// Everything that must be seen was seen, and nothing is critical.
    Success,
    /// Something is critical, whether seen now or known from before and not looked at since.
    Fail(String),
    /// Nothing critical is known, and not everything could be looked at. Not a success, so the receiver alarms when its time is over.
    Log(String),
}

/// What a pass has to say. `whole` = the pass came through: every provider answered or left gaps that became findings. What people
/// silenced (acknowledged, under maintenance) does not stop the sign of life: it is to tell of what nobody knows.
pub fn signal(
    about: &About,
    changes: &[Change],
    not_looked: &BTreeSet<FindingKey>,
    silenced: &BTreeSet<FindingKey>,
    whole: bool,
) -> Signal {
    let open = || {
        let open = changes.iter().filter_map(|change| match change {
            Change::New { finding } | Change::Still { finding, .. } => Some(finding),
            Change::Cleared { .. } => None,
        });
        open.filter(|finding| !silenced.contains(&finding.key()))
    };
    let critical: Vec<&Finding> = open().filter(|finding| finding.severity == Severity::Critical).collect();
    if !critical.is_empty() {
        return Signal::Fail(words(about, "critical", &critical));
    }
    let unseen: Vec<&Finding> = open().filter(|finding| finding.could_not_look || not_looked.contains(&finding.key())).collect();
    if !unseen.is_empty() {
        return Signal::Log(words(about, "could not be looked at", &unseen));
    }
    if !whole {
        return Signal::Log(format!("dalsegno {} run {}: the pass did not come through\n", tame(&about.site, 60), about.number));
    }
    Signal::Success
}

fn words(about: &About, what: &str, findings: &[&Finding]) -> String {
    let mut text = format!("dalsegno {} run {}: {} {what}\n", tame(&about.site, 60), about.number, findings.len());
    for finding in findings.iter().take(NAMED) {
        let (subject, summary) = (tame(&finding.subject.to_string(), 200), tame(&finding.summary, 300));
        let _ = writeln!(text, "{}  {subject}  {summary}", finding.code);
    }
    if findings.len() > NAMED {
        let _ = writeln!(text, "…and {} more", findings.len() - NAMED);
    }
    text
}

/// Gives the signal, and once more after a second when nobody answered. Both attempts together take at most `limit`. A start is given once:
/// nothing waits for it.
pub async fn ping(
    calls: &dyn HttpCalls,
    heartbeat: &Heartbeat,
    run: RunId,
    signal: &Signal,
    now: Timestamp,
    limit: Duration,
) -> Sent {
    let half = limit / 2;
    match once(calls, heartbeat, run, signal, now, half).await {
        Sent::Later { .. } if limit > Duration::from_secs(2) && *signal != Signal::Start => {
            tokio::time::sleep(Duration::from_secs(1)).await;
            once(calls, heartbeat, run, signal, now, half.saturating_sub(Duration::from_secs(1))).await
        }
        sent => sent,
    }
}

async fn once(
    calls: &dyn HttpCalls,
    heartbeat: &Heartbeat,
    run: RunId,
    signal: &Signal,
    now: Timestamp,
    limit: Duration,
) -> Sent {
    let base = Base::secret("heartbeat", heartbeat.url.clone());
    let request = match signal {
        Signal::Start => HttpRequest::get(base, "/start"),
        Signal::Success => HttpRequest::get(base, ""),
        Signal::Fail(text) => HttpRequest::post(base, "/fail").text(text.clone()),
        Signal::Log(text) => HttpRequest::post(base, "/log").text(text.clone()),
    };
    call(calls, request.query("rid", &run.to_string()), &heartbeat.url, now, limit).await
}
