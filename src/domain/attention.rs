//! What people decided about alerts, in the configuration: what hangs on what, windows of maintenance, and what is not there yet.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::Subject;

/// Subjects as people write them: `*`, a whole subject, its end at a slash (`keycloak-db`), or everything below (`pg/home/prod/*`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Subjects(pub String);

impl Subjects {
    /// Whether this subject is meant.
    pub fn matches(&self, subject: &Subject) -> bool {
        let text = self.0.as_str();
        if text == "*" {
            return true;
        }
        match text.strip_suffix("/*") {
            Some(head) => subject.to_string().strip_prefix(head).is_some_and(|rest| rest.starts_with('/')),
            None => subject.answers_to(text),
        }
    }
}

impl fmt::Display for Subjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A window in which nothing is said. What is found is recorded all the same, and said after the window if it is still there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Maintenance {
    /// About which subjects.
    pub subjects: Vec<Subjects>,
    /// Why.
    pub reason: String,
    /// When.
    pub when: Times,
}

/// When a window of maintenance is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Times {
    /// Once.
    Once {
        /// From.
        from: Timestamp,
        /// Until before.
        until: Timestamp,
    },
    /// On days of the week, at a time of the day.
    Weekly {
        /// 1 = Monday … 7 = Sunday; empty = every day.
        weekdays: Vec<i8>,
        /// Minutes after midnight.
        minute: i16,
        /// Time zone: a name of the IANA data base. Unknown to this machine = the window never opens.
        zone: String,
        /// How long, in seconds; less than a week.
        seconds: i64,
    },
}

impl Times {
    /// When the window that is open at `now` ends; `None` = none is open.
    pub fn open_until(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Once { from, until } => (*from <= now && now < *until).then_some(*until),
            Self::Weekly { weekdays, minute, zone, seconds } => {
                let zone = jiff::tz::TimeZone::get(zone).ok()?;
                let today = now.to_zoned(zone.clone()).date();
                let lasts = SignedDuration::from_secs(*seconds);
                // Windows may reach over midnight: look back as far as one lasts.
                let days = i64::from(i32::try_from(*seconds / 86_400).unwrap_or(7)) + 1;
                (0..=days).find_map(|back| {
                    let day = today.checked_sub(jiff::Span::new().days(back)).ok()?;
                    if !weekdays.is_empty() && !weekdays.contains(&day.weekday().to_monday_one_offset()) {
                        return None;
                    }
                    let opens = day.at(i8::try_from(minute / 60).ok()?, i8::try_from(minute % 60).ok()?, 0, 0);
                    let opens = opens.to_zoned(zone.clone()).ok()?.timestamp();
                    let until = opens.checked_add(lasts).ok()?;
                    (opens <= now && now < until).then_some(until)
                })
            }
        }
    }
}

/// Something that the site does not have yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Awaited {
    /// What.
    pub what: AwaitedWhat,
    /// Nothing is said of it before.
    pub until: Timestamp,
    /// Why it is not adopted; `None` = it is planned.
    pub reason: Option<String>,
}

/// What is awaited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AwaitedWhat {
    /// Subjects.
    Subject(Subjects),
    /// A provider: its whole name, or what stands before the slash (`kube` for `kube/prod`).
    Provider(String),
}

impl fmt::Display for AwaitedWhat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subject(subjects) => subjects.fmt(f),
            Self::Provider(name) => f.write_str(name),
        }
    }
}

/// What people decided about alerts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attention {
    /// What hangs on subjects.
    #[serde(default)]
    pub dependents: Vec<(Subjects, Vec<String>)>,
    /// How long a warning must be there before it is said, in seconds, where the policy of its subject says nothing.
    #[serde(default)]
    pub grace_seconds: f64,
    /// Windows.
    #[serde(default)]
    pub maintenance: Vec<Maintenance>,
    /// What is not there yet.
    #[serde(default)]
    pub awaited: Vec<Awaited>,
}

impl Attention {
    /// What hangs on a subject, each once.
    pub fn dependents_of(&self, subject: &Subject) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for (_, names) in self.dependents.iter().filter(|(subjects, _)| subjects.matches(subject)) {
            for name in names {
                if !found.contains(name) {
                    found.push(name.clone());
                }
            }
        }
        found
    }

    /// The window that is open for a subject and ends last.
    pub fn maintenance_of(&self, subject: &Subject, now: Timestamp) -> Option<(&Maintenance, Timestamp)> {
        self.maintenance
            .iter()
            .filter(|window| window.subjects.iter().any(|subjects| subjects.matches(subject)))
            .filter_map(|window| Some((window, window.when.open_until(now)?)))
            .max_by_key(|(_, until)| *until)
    }
}
