//! The life of an alert: what people were told of a finding, and why nothing is said.
//!
//! A finding is what is there; an alert is what was said about it. Findings are recorded exactly as they were seen; alerts are damped.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Finding, FindingKey, Severity};

/// An alert of one finding, from its first sight until it is forgotten.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Alert {
    /// The finding, as last seen.
    pub finding: Finding,
    /// When this episode began: kept over short absences.
    pub since: Timestamp,
    /// Whether it was there when it was last looked for.
    pub present: bool,
    /// When `present` last changed.
    pub turned: Timestamp,
    /// The severity people last heard; `None` = nothing yet, or its end.
    pub told: Option<Severity>,
    /// When something was last said.
    pub told_at: Option<Timestamp>,
    /// When its end was last said.
    pub end_told: Option<Timestamp>,
    /// Since when its severity is below the one that was told.
    pub lower_since: Option<Timestamp>,
    /// When it came back, inside the window of flapping.
    #[serde(default)]
    pub returns: Vec<Timestamp>,
    /// It comes and goes: its end is not said until it has been calm.
    #[serde(default)]
    pub restless: bool,
    /// Why nothing is said now, if so.
    pub quiet: Option<Silence>,
    /// Severities that were told earlier in this episode, and until when each held.
    #[serde(default)]
    pub earlier: Vec<(Severity, Timestamp)>,
    /// What hangs on the subject, in words of the configuration.
    #[serde(default)]
    pub dependents: Vec<String>,
    /// Why it ended, when it is not present.
    #[serde(default)]
    pub ended: Option<Ended>,
}

impl Alert {
    /// Code and subject.
    pub fn key(&self) -> FindingKey {
        self.finding.key()
    }
}

/// The one name of an alert in every message on every channel: `site/code/subject`.
pub fn alert_key(site: &str, finding: &Finding) -> String {
    format!("{}/{}/{}", if site.is_empty() { "-" } else { site }, finding.code, finding.subject)
}

/// Why a finding is not there any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Looked for, and not there.
    #[default]
    Fixed,
    /// Nobody looks any more: its subject is not in the configuration. Nothing was repaired.
    NotConfigured,
}

impl Ended {
    /// The word in the ledger.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::NotConfigured => "not-configured",
        }
    }

    /// What is said of it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Fixed => "looked for and not there any more",
            Self::NotConfigured => "no longer configured; nothing says that it was repaired",
        }
    }
}

/// What a pass can say of a finding that it did not find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glance {
    /// Not looked at: it is still there, as far as anybody knows.
    NotLooked,
    /// Over.
    Over(Ended),
}

impl From<bool> for Glance {
    fn from(looked: bool) -> Self {
        if looked { Self::Over(Ended::Fixed) } else { Self::NotLooked }
    }
}

/// Why nothing is said about an alert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "quiet", rename_all = "kebab-case")]
pub enum Silence {
    /// It has not been there for long enough.
    Grace {
        /// It is said when it is seen then.
        until: Timestamp,
    },
    /// It came back shortly after its end was said, and has not stayed yet.
    Flapping {
        /// It is said when it is seen then.
        until: Timestamp,
    },
    /// A person knows.
    Acknowledged {
        /// Who.
        author: String,
        /// Why.
        reason: String,
        /// Until when.
        until: Timestamp,
    },
    /// A window of maintenance.
    Maintenance {
        /// Why.
        reason: String,
        /// When the window ends.
        until: Timestamp,
    },
    /// Another alert that was told explains it.
    Explained {
        /// By which.
        by: FindingKey,
    },
}

impl Silence {
    /// The word for metrics and tables.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Grace { .. } => "grace",
            Self::Flapping { .. } => "flapping",
            Self::Acknowledged { .. } => "acknowledged",
            Self::Maintenance { .. } => "maintenance",
            Self::Explained { .. } => "explained",
        }
    }

    /// Whether people decided that nothing is to be said.
    pub const fn by_people(&self) -> bool {
        matches!(self, Self::Acknowledged { .. } | Self::Maintenance { .. })
    }
}

/// What is said of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// First said.
    New,
    /// Nearer to harm than when last said.
    Worse,
    /// Back after its end was said, and it stayed; or it comes and goes.
    Back,
    /// Still there when what kept us quiet ended: an acknowledgement, a window.
    Still,
    /// Further from harm, for some time.
    Eased,
    /// Over.
    Cleared,
}

impl Told {
    /// The word for people and machines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Worse => "worse",
            Self::Back => "back",
            Self::Still => "still",
            Self::Eased => "eased",
            Self::Cleared => "cleared",
        }
    }

    /// Whether it calls somebody.
    pub const fn pages(self) -> bool {
        !matches!(self, Self::Eased | Self::Cleared)
    }
}

/// Something to say about one alert, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Notice {
    /// What.
    pub told: Told,
    /// The severity that was said before.
    pub was: Option<Severity>,
    /// A reason beyond the word: `the acknowledgement of … ended`, `comes and goes: 3 times since …`.
    pub because: Option<String>,
    /// About what.
    pub alert: Alert,
    /// Findings that this one explains, and that are not said for themselves.
    #[serde(default)]
    pub explains: Vec<FindingKey>,
}

/// An acknowledgement: a person knows, says why, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Ack {
    /// Of which finding.
    pub key: FindingKey,
    /// Its severity then: something worse is said all the same.
    pub severity: Severity,
    /// Why.
    pub reason: String,
    /// Who.
    pub author: String,
    /// When.
    pub made_at: Timestamp,
    /// Until when.
    pub until: Timestamp,
}

/// What a pass remembers of alerts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heard {
    /// Alerts that are not forgotten.
    pub alerts: Vec<Alert>,
    /// Acknowledgements that are not ended; they may have expired.
    pub acks: Vec<Ack>,
}
