//! Findings → what is said of them: damped, grouped by cause, and silent where people decided so.
//!
//! A finding is recorded as it was seen, in every pass; this is about calling people. Rules, in this order:
//!
//! 1. A seen critical is said at once; a warning after its grace; "could not look" after [`GAP_GRACE`], whatever its severity.
//! 2. What was said is said again only when it is worse, when it came back and stayed, or when the reason to be quiet has ended.
//! 3. An end is said at once, unless the alert comes and goes: then after [`CALM`] without it.
//! 4. An alert that another one explains ([`cause`]) is named in that one's message and held back while it lasts.
//! 5. Acknowledged, or under maintenance: nothing is said; afterwards the difference to what was said last.

mod awaited;
mod cause;
mod dependents;
mod step;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::domain::{Ack, Alert, Change, Expected, Finding, FindingKey, Glance, Heard, Notice, Observation, ProviderId, Silence};
use step::{Sight, Step};

/// "Could not look" is said when it is still so after this long: one lost connection calls nobody. Two passes of the usual five minutes.
pub const GAP_GRACE: SignedDuration = SignedDuration::from_mins(10);
/// A finding that comes back within this long after its end was said is the same trouble, not a new one.
pub const FLAP_WINDOW: SignedDuration = SignedDuration::from_hours(3);
/// What came back inside the window is said when it has stayed this long: three passes of the usual five minutes.
pub const STEADY: SignedDuration = SignedDuration::from_mins(15);
/// So many returns inside the window are said once, as trouble that comes and goes, even if none stayed.
pub const RETURNS: usize = 3;
/// The same for what was never said, because it never stayed for its grace. Higher, since single lost looks are usual.
pub const RETURNS_UNSAID: usize = 6;
/// The end of an alert that comes and goes is said when it has been away this long.
pub const CALM: SignedDuration = FLAP_WINDOW;
/// A lower severity is said when it has lasted this long: a value at a threshold does not call people back and forth.
pub const EASED_AFTER: SignedDuration = SignedDuration::from_hours(1);
/// What another alert explained is said for itself when it is still there this long after that one ended: an archive needs time to drain.
pub const EXPLAINED_AFTER: SignedDuration = SignedDuration::from_mins(30);

/// What a pass comes to, for people.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lived {
    /// Alerts as they are now. What is not among them is forgotten.
    pub alerts: Vec<Alert>,
    /// What is to be said, worst first.
    pub notices: Vec<Notice>,
    /// Alerts that are over: their acknowledgements end.
    pub over: Vec<FindingKey>,
}

/// What judging lacks: silence for what is not there yet, findings for what is overdue, and the weight of what hangs on a subject.
pub fn weigh(
    now: Timestamp,
    expected: &Expected,
    observations: &[(ProviderId, Observation)],
    findings: Vec<Finding>,
) -> Vec<Finding> {
    let findings = awaited::judge(now, expected, observations, findings);
    dependents::raise(&expected.attention, findings)
}

/// What is said after a pass. `changes` and `not_looked` are what the ledger made of its findings, `heard` what was said before.
pub fn live(now: Timestamp, expected: &Expected, changes: &[Change], not_looked: &BTreeSet<FindingKey>, heard: &Heard) -> Lived {
    let mut before: BTreeMap<FindingKey, Alert> = heard.alerts.iter().map(|alert| (alert.key(), alert.clone())).collect();
    let acks: BTreeMap<&FindingKey, &Ack> = heard.acks.iter().map(|ack| (&ack.key, ack)).collect();
    let roots = cause::roots(now, changes, &before);
    let mut lived = Lived::default();
    let mut explained: BTreeMap<FindingKey, Vec<FindingKey>> = BTreeMap::new();
    let mut walk = |key: FindingKey, known: Option<Alert>, sight: Sight<'_>, lived: &mut Lived| {
        let by = cause::explained_by(&key, &sight, known.as_ref(), &expected.rests_on, &roots, now);
        if let Some(by) = &by {
            explained.entry(by.clone()).or_default().push(key.clone());
        }
        let step = Step { now, expected, ack: acks.get(&key).copied(), explained_by: by };
        match step.take(known, sight) {
            (None, _) => lived.over.push(key),
            (Some(alert), notice) => {
                lived.notices.extend(notice);
                lived.alerts.push(alert);
            }
        }
    };
    for change in changes {
        let (finding, sight) = match change {
            Change::New { finding } => (finding, Sight::Seen { finding, since: now, known: false }),
            Change::Still { finding, .. } if not_looked.contains(&finding.key()) => (finding, Sight::NotLooked(finding)),
            Change::Still { finding, since, .. } => (finding, Sight::Seen { finding, since: *since, known: true }),
            Change::Cleared { finding, why, .. } => (finding, Sight::Gone(*why)),
        };
        let key = finding.key();
        let known = before.remove(&key);
        walk(key, known, sight, &mut lived);
    }
    // Alerts of which this pass said nothing: they were over before.
    for (key, alert) in before {
        let why = alert.ended.unwrap_or_default();
        walk(key, Some(alert), Sight::Gone(why), &mut lived);
    }
    for notice in &mut lived.notices {
        notice.explains = explained.remove(&notice.alert.key()).unwrap_or_default();
    }
    lived.notices.sort_by_cached_key(|notice| {
        let finding = &notice.alert.finding;
        (!notice.told.pages(), std::cmp::Reverse(finding.severity), notice.told, finding.subject.clone(), finding.code.clone())
    });
    lived
}

/// What a look that did not find a finding says of it, with the reason when it is over.
pub const fn glance(looked: bool, configured: bool) -> Glance {
    use crate::domain::Ended;
    match (configured, looked) {
        (false, _) => Glance::Over(Ended::NotConfigured),
        (true, true) => Glance::Over(Ended::Fixed),
        (true, false) => Glance::NotLooked,
    }
}

/// Findings that people silenced: they do not stop a sign of life.
pub fn silenced(alerts: &[Alert]) -> BTreeSet<FindingKey> {
    alerts.iter().filter(|alert| alert.quiet.as_ref().is_some_and(Silence::by_people)).map(Alert::key).collect()
}
