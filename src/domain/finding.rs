//! Findings: what is wrong, why, and what to do.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Ended, Subject};

/// How near the harm is. Ordered: `Info < Warning < Critical`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; nobody is called.
    Info,
    /// Will hurt if nobody acts.
    Warning,
    /// Hurts now, or a restore would not work today.
    Critical,
}

impl Severity {
    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// What makes two findings the same one: code and subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FindingKey {
    /// Stable kebab-case code, one of [`super::CODES`].
    pub code: String,
    /// What it is about.
    pub subject: Subject,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable kebab-case code, one of [`super::CODES`].
    pub code: String,
    /// How near the harm is.
    pub severity: Severity,
    /// What it is about.
    pub subject: Subject,
    /// One line: what was seen, with the names and numbers of this very case.
    pub summary: String,
    /// The facts behind it, one a line.
    pub evidence: Vec<String>,
    /// Why it is so, as far as it can be said.
    pub cause: String,
    /// What to do, runnable where possible.
    pub remedy: String,
    /// True when the finding says "could not look": it counts for exit code 3, not 1.
    pub could_not_look: bool,
}

impl Finding {
    /// Code and subject.
    pub fn key(&self) -> FindingKey {
        FindingKey { code: self.code.clone(), subject: self.subject.clone() }
    }
}

/// What the ledger says of a finding after a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    /// First seen in this pass.
    New {
        /// The finding.
        finding: Finding,
    },
    /// Known before, still there.
    Still {
        /// The finding, as seen now.
        finding: Finding,
        /// When it was first seen.
        since: Timestamp,
        /// The severity of the pass before, when it differs from now.
        severity_was: Option<Severity>,
    },
    /// Known before, looked for, and not there any more.
    Cleared {
        /// The finding, as last seen.
        finding: Finding,
        /// When it was first seen.
        since: Timestamp,
        /// Whether it was repaired, or nobody looks any more.
        #[serde(default)]
        why: Ended,
    },
}
