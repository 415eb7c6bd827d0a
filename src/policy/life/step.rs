//! One alert, one pass: the machine of its life. Pure and small, so that all of its ways can be walked by tests.

use jiff::{SignedDuration, Timestamp};

use super::{CALM, EASED_AFTER, FLAP_WINDOW, GAP_GRACE, RETURNS, RETURNS_UNSAID, STEADY};
use crate::domain::{Ack, Alert, Ended, Expected, Finding, FindingKey, Notice, Severity, Silence, Told, duration_in_words};

/// What the pass saw of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sight<'a> {
    /// There. `known` = the ledger had it open before.
    Seen { finding: &'a Finding, since: Timestamp, known: bool },
    /// Nobody looked: nothing changes, and nothing is said.
    NotLooked(&'a Finding),
    /// Not there.
    Gone(Ended),
}

/// What a step is taken by.
pub(super) struct Step<'a> {
    pub(super) now: Timestamp,
    pub(super) expected: &'a Expected,
    pub(super) ack: Option<&'a Ack>,
    pub(super) explained_by: Option<FindingKey>,
}

impl Step<'_> {
    /// The alert afterwards (`None` = forgotten), and what is said.
    pub(super) fn take(&self, before: Option<Alert>, sight: Sight<'_>) -> (Option<Alert>, Option<Notice>) {
        match (before, sight) {
            (Some(alert), Sight::NotLooked(_)) => (Some(alert), None),
            // Known from a ledger of an older version, or told by one: not said again.
            (None, Sight::NotLooked(finding)) => (Some(self.heard_before(finding, self.now)), None),
            (None, Sight::Seen { finding, since, known: true }) => (Some(self.heard_before(finding, since)), None),
            (None, Sight::Gone(_)) => (None, None),
            (before, Sight::Seen { finding, .. }) => self.seen(before, finding),
            (Some(alert), Sight::Gone(why)) => self.gone(alert, why),
        }
    }

    fn seen(&self, before: Option<Alert>, finding: &Finding) -> (Option<Alert>, Option<Notice>) {
        let mut alert = match before {
            None => self.fresh(finding, self.now),
            Some(alert) => self.here(alert, finding),
        };
        alert.finding = finding.clone();
        alert.dependents = self.expected.attention.dependents_of(&finding.subject);
        let heard_of = alert.quiet.take();
        alert.quiet = self.quiet(&alert);
        if alert.quiet.is_some() {
            return (Some(alert), None);
        }
        let Some((told, because)) = self.to_say(&mut alert, heard_of.as_ref()) else { return (Some(alert), None) };
        let notice = self.say(&mut alert, told, because);
        (Some(alert), Some(notice))
    }

    /// It was known, and is there.
    fn here(&self, mut alert: Alert, finding: &Finding) -> Alert {
        if !alert.present {
            let end_is_old = alert.end_told.is_some_and(|at| self.after(at) >= FLAP_WINDOW);
            if end_is_old {
                return self.fresh(finding, self.now);
            }
            alert.returns.retain(|at| self.after(*at) < FLAP_WINDOW);
            alert.returns.push(self.now);
            alert.present = true;
            alert.turned = self.now;
            alert.ended = None;
        } else if self.after(alert.turned) >= FLAP_WINDOW {
            alert.restless = false;
        }
        match alert.told {
            Some(told) if finding.severity < told => {
                alert.lower_since.get_or_insert(self.now);
            }
            _ => alert.lower_since = None,
        }
        alert
    }

    /// What is to be said now, when nothing keeps us quiet.
    fn to_say(&self, alert: &mut Alert, heard_of: Option<&Silence>) -> Option<(Told, Option<String>)> {
        let severity = alert.finding.severity;
        match alert.told {
            None if alert.end_told.is_none() => {
                alert.restless = alert.returns.len() >= RETURNS_UNSAID;
                let because = alert.restless.then(|| comes_and_goes(alert));
                Some((Told::New, because.or_else(|| until_now(heard_of))))
            }
            None => {
                alert.restless = true;
                let because = (self.after(alert.turned) < STEADY).then(|| comes_and_goes(alert));
                Some((Told::Back, because.or_else(|| until_now(heard_of))))
            }
            Some(told) if severity > told => Some((Told::Worse, None)),
            Some(_) if until_now(heard_of).is_some() => Some((Told::Still, until_now(heard_of))),
            Some(told) if severity < told => {
                let since = alert.lower_since?;
                (self.after(since) >= EASED_AFTER).then_some((Told::Eased, None))
            }
            Some(_) => None,
        }
    }

    fn gone(&self, mut alert: Alert, why: Ended) -> (Option<Alert>, Option<Notice>) {
        if alert.present {
            alert.present = false;
            alert.turned = self.now;
            alert.ended = Some(why);
        }
        if alert.told.is_none() {
            // Never said, or its end was: remembered as long as a return counts as one.
            let forgotten = self.after(alert.end_told.unwrap_or(alert.turned)) >= FLAP_WINDOW;
            alert.quiet = None;
            return (Some(alert).filter(|_| !forgotten), None);
        }
        let calm = !alert.restless || why == Ended::NotConfigured || self.after(alert.turned) >= CALM;
        let window = self.expected.attention.maintenance_of(&alert.finding.subject, self.now);
        alert.quiet = window.map(|(window, until)| Silence::Maintenance { reason: window.reason.clone(), until });
        if !calm || alert.quiet.is_some() {
            return (Some(alert), None);
        }
        let notice = self.say(&mut alert, Told::Cleared, None);
        (Some(alert), Some(notice))
    }

    /// Why nothing is said of something that is there.
    fn quiet(&self, alert: &Alert) -> Option<Silence> {
        let finding = &alert.finding;
        if let Some((window, until)) = self.expected.attention.maintenance_of(&finding.subject, self.now) {
            return Some(Silence::Maintenance { reason: window.reason.clone(), until });
        }
        let acked = self.ack.filter(|ack| self.now < ack.until && finding.severity <= ack.severity);
        if let Some(ack) = acked {
            return Some(Silence::Acknowledged { author: ack.author.clone(), reason: ack.reason.clone(), until: ack.until });
        }
        if alert.told.is_some() {
            return None;
        }
        if let Some(by) = &self.explained_by {
            return Some(Silence::Explained { by: by.clone() });
        }
        if alert.end_told.is_some() {
            let steady_at = later(alert.turned, STEADY);
            let restless = alert.returns.len() >= RETURNS;
            return (self.now < steady_at && !restless).then_some(Silence::Flapping { until: steady_at });
        }
        let until = later(alert.turned, self.grace(finding));
        (self.now < until && alert.returns.len() < RETURNS_UNSAID).then_some(Silence::Grace { until })
    }

    fn grace(&self, finding: &Finding) -> SignedDuration {
        let policy = self.expected.policies.get(&finding.subject).and_then(|policy| policy.grace_seconds);
        let asked = policy.unwrap_or(self.expected.attention.grace_seconds);
        let asked = SignedDuration::try_from_secs_f64(asked).unwrap_or_default();
        match finding.severity {
            _ if finding.could_not_look => asked.max(GAP_GRACE),
            Severity::Critical => SignedDuration::ZERO,
            Severity::Info | Severity::Warning => asked,
        }
    }

    fn say(&self, alert: &mut Alert, told: Told, because: Option<String>) -> Notice {
        let was = alert.told;
        let severity = alert.finding.severity;
        if let Some(was) = was.filter(|was| told == Told::Cleared || *was != severity) {
            alert.earlier.retain(|(earlier, _)| *earlier != was);
            alert.earlier.push((was, self.now));
        }
        alert.told_at = Some(self.now);
        if told == Told::Cleared {
            alert.told = None;
            alert.end_told = Some(self.now);
        } else {
            alert.earlier.retain(|(earlier, _)| *earlier != severity);
            alert.told = Some(severity);
            alert.end_told = None;
            alert.lower_since = None;
        }
        let was = was.filter(|was| *was != severity);
        Notice { told, was, because, alert: alert.clone(), explains: Vec::new() }
    }

    fn fresh(&self, finding: &Finding, since: Timestamp) -> Alert {
        Alert {
            finding: finding.clone(),
            since,
            present: true,
            turned: self.now,
            told: None,
            told_at: None,
            end_told: None,
            lower_since: None,
            returns: Vec::new(),
            restless: false,
            quiet: None,
            earlier: Vec::new(),
            dependents: self.expected.attention.dependents_of(&finding.subject),
            ended: None,
        }
    }

    fn heard_before(&self, finding: &Finding, since: Timestamp) -> Alert {
        Alert { told: Some(finding.severity), told_at: Some(since), ..self.fresh(finding, since) }
    }

    fn after(&self, at: Timestamp) -> SignedDuration {
        self.now.duration_since(at)
    }
}

fn comes_and_goes(alert: &Alert) -> String {
    let window = duration_in_words(FLAP_WINDOW.as_secs_f64());
    format!("comes and goes: back {} times within {window}", alert.returns.len())
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// What kept us quiet until now, when people decided it.
fn until_now(heard_of: Option<&Silence>) -> Option<String> {
    match heard_of? {
        Silence::Acknowledged { author, until, .. } => Some(format!("the acknowledgement of {author} held until {until}")),
        Silence::Maintenance { reason, .. } => Some(format!("the maintenance window ended: {reason}")),
        _ => None,
    }
}
