//! What people decided about alerts: what hangs on what, windows of maintenance, what is not there yet.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::load::Work;
use super::mistake::Mistake;
use super::tree::Shape;
use super::walk::is_subjects;
use crate::domain::{Attention, Awaited, AwaitedWhat, Maintenance, Span, Subjects, Times};

/// A window of maintenance: nothing is said, everything is recorded.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MaintenanceFragment {
    /// Which subjects: a subject, its end, all below (`pg/home/prod/*`), or `*`.
    pub subjects: Vec<String>,
    /// Why; it is said with what was held back.
    pub reason: String,
    /// Begin of a window that is there once: 2027-03-01T22:00:00Z, or a date (its first moment, UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Its end; a date means the end of that day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Time of day at which a window that comes again opens: "02:00".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Days of the week on which it opens; every day when left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<Day>,
    /// Time zone of `at`: Europe/Zurich. Default: UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// How long it lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lasts: Option<Span>,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Day {
    /// Monday.
    Mon,
    /// Tuesday.
    Tue,
    /// Wednesday.
    Wed,
    /// Thursday.
    Thu,
    /// Friday.
    Fri,
    /// Saturday.
    Sat,
    /// Sunday.
    Sun,
}

/// Something that the site does not have yet: silent before its date, a finding afterwards.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AwaitedFragment {
    /// Which subjects: a subject, its end, or all below (`pg/home/prod/*`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Or which provider: `kube`, `store/r2`, a name that is not known here yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The day by which it is to be there: 2027-03-01.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<String>,
    /// Why it is not adopted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_adopted: Option<String>,
    /// The day until which that holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// A week: a window that comes each week must be over before the next.
const LONGEST_WINDOW: SignedDuration = SignedDuration::from_hours(7 * 24 - 1);

/// Reads all of it. `grace_seconds` is that of `notify`.
pub(super) fn build(work: &mut Work, grace_seconds: f64) -> Attention {
    let mut attention = Attention { grace_seconds, ..Attention::default() };
    for (subjects, node) in work.named("dependents") {
        let key = format!("dependents.{subjects}");
        let names: Vec<String> = work.part(&key, &node, &|_| true).unwrap_or_default();
        attention.dependents.push((Subjects(subjects), names));
    }
    for (name, node) in work.named("postgres") {
        let Some(node) = node.get("dependents") else { continue };
        let names: Vec<String> = work.part(&format!("postgres.{name}.dependents"), node, &|_| true).unwrap_or_default();
        attention.dependents.push((Subjects(format!("pg/{name}")), names));
    }
    let windows: Vec<MaintenanceFragment> = list(work, "maintenance");
    for (index, window) in windows.into_iter().enumerate() {
        attention.maintenance.extend(maintenance(work, &format!("maintenance[{index}]"), window));
    }
    let expected: Vec<AwaitedFragment> = list(work, "expected");
    for (index, fragment) in expected.into_iter().enumerate() {
        attention.awaited.extend(awaited(work, &format!("expected[{index}]"), fragment));
    }
    attention
}

fn list<T: serde::de::DeserializeOwned>(work: &mut Work, key: &str) -> Vec<T> {
    let Some(node) = work.root.get(key).cloned().filter(|node| node.shape != Shape::Null) else { return Vec::new() };
    work.part(key, &node, &|_| true).unwrap_or_default()
}

fn refuse(work: &mut Work, key: &str, code: &'static str, text: impl Into<String>, hint: &str) {
    let at = work.root.place_of(key);
    work.fatal.push(Mistake::new(&at, key, code, text).hint(hint));
}

fn maintenance(work: &mut Work, path: &str, window: MaintenanceFragment) -> Option<Maintenance> {
    for (index, subjects) in window.subjects.iter().enumerate() {
        must_name(work, &format!("{path}.subjects[{index}]"), subjects);
    }
    if window.subjects.is_empty() {
        refuse(work, &format!("{path}.subjects"), "window-invalid", "names no subject", "\"*\" means all");
    }
    let when = match (&window.from, &window.until, &window.at, window.lasts) {
        (Some(from), Some(until), None, None) => {
            let from = moment(work, &format!("{path}.from"), from, false);
            let until = moment(work, &format!("{path}.until"), until, true);
            let (from, until) = (from?, until?);
            if until <= from {
                refuse(work, &format!("{path}.until"), "window-invalid", format!("{until} is not after {from}"), "");
                return None;
            }
            Times::Once { from, until }
        }
        (None, None, Some(at), Some(lasts)) => weekly(work, path, &window, at, lasts)?,
        _ => {
            let hint = "once: from and until; again and again: at and lasts, with days and zone if wanted";
            refuse(work, path, "window-invalid", "has neither from and until nor at and lasts, or both", hint);
            return None;
        }
    };
    Some(Maintenance { subjects: window.subjects.into_iter().map(Subjects).collect(), reason: window.reason, when })
}

fn weekly(work: &mut Work, path: &str, window: &MaintenanceFragment, at: &str, lasts: Span) -> Option<Times> {
    let Ok(time) = at.parse::<jiff::civil::Time>() else {
        let text = format!("\"{at}\" is no time of day");
        refuse(work, &format!("{path}.at"), "window-invalid", text, "hours and minutes, in quotes: \"02:00\"");
        return None;
    };
    let zone = window.zone.clone().unwrap_or_else(|| "UTC".to_owned());
    if jiff::tz::TimeZone::get(&zone).is_err() {
        let text = format!("\"{zone}\" is no time zone that is known here");
        refuse(work, &format!("{path}.zone"), "window-invalid", text, "a name of the IANA data base: Europe/Zurich, UTC");
        return None;
    }
    let seconds = i64::try_from(lasts.0.as_secs()).unwrap_or(i64::MAX);
    if seconds < 60 || seconds > LONGEST_WINDOW.as_secs() {
        let text = format!("{lasts} is no length of a window");
        refuse(work, &format!("{path}.lasts"), "window-invalid", text, "a minute at least, and less than a week");
        return None;
    }
    let weekdays = window.days.iter().map(|day| *day as i8 + 1).collect();
    Some(Times::Weekly { weekdays, minute: i16::from(time.hour()) * 60 + i16::from(time.minute()), zone, seconds })
}

fn awaited(work: &mut Work, path: &str, fragment: AwaitedFragment) -> Option<Awaited> {
    let what = match (fragment.subject, fragment.provider) {
        (Some(subject), None) => {
            must_name(work, &format!("{path}.subject"), &subject);
            AwaitedWhat::Subject(Subjects(subject))
        }
        (None, Some(provider)) if is_subjects(&provider) && !provider.contains('*') => AwaitedWhat::Provider(provider),
        (None, Some(provider)) => {
            refuse(work, &format!("{path}.provider"), "expected-invalid", format!("{provider:?} is not a name"), "");
            return None;
        }
        _ => {
            refuse(
                work,
                path,
                "expected-invalid",
                "names neither a subject nor a provider, or both",
                "subject: … or provider: …",
            );
            return None;
        }
    };
    let (key, date, reason) = match (fragment.planned, fragment.not_adopted, fragment.until) {
        (Some(date), None, None) => ("planned", date, None),
        (None, Some(reason), Some(date)) => ("until", date, Some(reason)),
        _ => {
            let hint = "planned: DATE, or not-adopted: WHY with until: DATE; what has no date is never asked for again";
            refuse(work, path, "expected-invalid", "is neither planned by a date nor not adopted until one", hint);
            return None;
        }
    };
    Some(Awaited { what, until: moment(work, &format!("{path}.{key}"), &date, true)?, reason })
}

fn must_name(work: &mut Work, key: &str, subjects: &str) {
    if !is_subjects(subjects) {
        let hint = "a subject, its end, or all below: pg/home/prod/keycloak-db, keycloak-db, pg/home/prod/*";
        refuse(work, key, "config-name-invalid", format!("{subjects:?} names no subject"), hint);
    }
}

/// A moment, or a day in UTC: its begin, or its end.
fn moment(work: &mut Work, key: &str, text: &str, end: bool) -> Option<Timestamp> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    let day = text.parse::<jiff::civil::Date>().ok().filter(|_| text.len() == "2027-03-01".len());
    let day = day.and_then(|day| if end { day.tomorrow().ok() } else { Some(day) });
    let at = day.and_then(|day| day.to_zoned(jiff::tz::TimeZone::UTC).ok()).map(|zoned| zoned.timestamp());
    if at.is_none() {
        let text = format!("\"{text}\" is neither a moment nor a date");
        refuse(work, key, "config-date", text, "2027-03-01T22:00:00Z, or 2027-03-01");
    }
    at
}
