//! The evidence of a drill: one immutable JSON file, versioned.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Call, Intent, Mechanism, Place, Receipt, Requests, RunId, Subject, SystemId, Undone, Verdict};

/// The version of the file's form. A reader refuses a newer one.
pub const EVIDENCE_FORMAT: u32 = 1;

/// How closed the sandbox was. Ordered: `None < Declared < Closed < Sealed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Not isolated.
    None,
    /// Somebody says so.
    Declared,
    /// No listening socket but the one in the sandbox, archiving off and read back.
    Closed,
    /// Closed, and shown from inside that nothing outside can be reached.
    Sealed,
}

impl Isolation {
    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Declared => "declared",
            Self::Closed => "closed",
            Self::Sealed => "sealed",
        }
    }
}

/// How a single check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckEnd {
    /// As expected.
    Passed,
    /// Not as expected.
    Failed,
    /// Could not be decided.
    Undecided,
}

/// One check inside a drill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssertionResult {
    /// `system-id`, `replay-end`, `archiving-off`, `fresh`, or the name the user gave.
    pub name: String,
    /// What was expected, in words.
    pub expected: String,
    /// What was seen, in words.
    pub seen: String,
    /// How it ended.
    pub end: CheckEnd,
    /// Whether stale data would have failed it. A proof needs at least one that is true.
    pub tells_stale: bool,
    /// Seconds it took.
    pub seconds: f64,
}

/// A part of the recovery time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// `catalogue`, `base`, `start`, `replay`, `promote`, `checks`, `clean-up`.
    pub name: String,
    /// Seconds.
    pub seconds: f64,
    /// Bytes moved, when that means something.
    pub bytes: Option<u64>,
}

/// How it is known up to which moment nothing can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoveredBy {
    /// By the time at which the newest unbroken segment was written into the store.
    LastSegmentWritten,
}

impl CoveredBy {
    /// The words for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LastSegmentWritten => "last segment written",
        }
    }
}

/// RPO by its two numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rpo {
    /// The newest data that came back: of a database, the newest replayed commit.
    pub data_as_of: Option<Timestamp>,
    /// The latest moment up to which nothing can be missing.
    pub covered_until: Option<Timestamp>,
    /// How `covered_until` is known.
    pub covered_by: Option<CoveredBy>,
    /// now − covered until, in seconds; `None` = unknown.
    pub seconds: Option<f64>,
}

/// Where recovery of a base backup with WAL had to end, and where it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecoveryEnd {
    /// `end`, or the time that was asked for.
    pub target: String,
    /// The timeline that was named to PostgreSQL.
    pub timeline: u32,
    /// The segment that the catalogue says recovery must reach.
    pub expected_segment: String,
    /// The segment that replay reached.
    pub reached_segment: Option<String>,
    /// The position that replay reached, `X/Y`.
    pub reached_lsn: Option<String>,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum StepEnd {
    /// Done.
    Done,
    /// Bad archive, or an expectation not met.
    Failed {
        /// Why.
        why: String,
    },
    /// Our lack: time, space, rights, no answer.
    CouldNot {
        /// Why.
        why: String,
        /// What to do.
        hint: String,
    },
    /// A human must look.
    Stuck {
        /// Why.
        why: String,
    },
    /// Not begun, since an earlier step ended badly or somebody cancelled.
    Skipped,
}

/// One step of a drill, from intent to receipt to undo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The call.
    pub call: Call,
    /// The intent, once it was written.
    pub intent: Option<Intent>,
    /// When the step began.
    pub began: Option<Timestamp>,
    /// Seconds until it ended.
    pub seconds: f64,
    /// How it ended.
    pub end: StepEnd,
    /// Its receipt.
    pub receipt: Option<Receipt>,
    /// What `undo` did, for scaffolds.
    pub undone: Option<Undone>,
}

/// What a drill expects to come back, by the mechanism that it restores by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mechanism", rename_all = "kebab-case")]
pub enum Expects {
    /// A base backup and WAL.
    BaseAndWal {
        /// The system that the configuration expects. When it names none, what backup.info says must come back.
        system: Option<SystemId>,
    },
}

impl Expects {
    /// The mechanism.
    pub const fn mechanism(&self) -> Mechanism {
        match self {
            Self::BaseAndWal { .. } => Mechanism::BaseAndWal,
        }
    }
}

/// What was restored: place, mechanism and name are those of the recovery point that is proven by it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restored {
    /// The place that was restored from.
    pub place: Place,
    /// The recovery point's name in its mechanism: the base backup's id.
    pub name: String,
    /// How, and what came back.
    #[serde(flatten)]
    pub by: RestoredBy,
}

/// What came back, by mechanism.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mechanism", rename_all = "kebab-case")]
pub enum RestoredBy {
    /// A base backup and WAL.
    BaseAndWal {
        /// The system identifier that was expected.
        system_expected: Option<SystemId>,
        /// What pg_control of the restored cluster says.
        system_restored: Option<SystemId>,
        /// Segments replayed.
        segments: u64,
        /// PostgreSQL that was started: its version and where it was found.
        postgres: Option<String>,
        /// Where recovery ended.
        recovery: Option<RecoveryEnd>,
    },
}

impl RestoredBy {
    /// Where recovery ended, where the mechanism can end at several moments: `end`, or a time.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::BaseAndWal { recovery, .. } => recovery.as_ref().map(|recovery| recovery.target.as_str()),
        }
    }

    /// The mechanism.
    pub const fn mechanism(&self) -> Mechanism {
        match self {
            Self::BaseAndWal { .. } => Mechanism::BaseAndWal,
        }
    }
}

/// The evidence of one drill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// [`EVIDENCE_FORMAT`].
    pub format: u32,
    /// The run.
    pub run: RunId,
    /// The site that drilled.
    pub site: String,
    /// The host that drilled, for people: two containers may bear the same name. Empty = not told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// What was drilled.
    pub subject: Subject,
    /// The runbook's name.
    pub runbook: String,
    /// SHA-256 of the runbook's text, hex.
    pub runbook_sha256: String,
    /// dalsegno's version.
    pub made_by: String,
    /// When it began.
    pub began: Timestamp,
    /// When it ended, clean-up included.
    pub ended: Timestamp,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is not `proven`; empty when it is.
    pub reasons: Vec<String>,
    /// What to do, when it is not `proven`.
    pub hints: Vec<String>,
    /// Finding codes that the reasons stand for, if any.
    pub codes: Vec<String>,
    /// What was restored.
    pub restored: Option<Restored>,
    /// Isolation that was asked for at least.
    pub isolation_declared: Isolation,
    /// Isolation as shown.
    pub isolation: Isolation,
    /// How isolation was shown, one fact a line.
    pub isolation_facts: Vec<String>,
    /// RPO.
    pub rpo: Rpo,
    /// Allowed RPO in seconds.
    pub rpo_budget_seconds: Option<f64>,
    /// RTO: seconds from the start until what was restored answers.
    pub rto_seconds: Option<f64>,
    /// Allowed RTO in seconds.
    pub rto_budget_seconds: Option<f64>,
    /// RTO by phase.
    pub phases: Vec<Phase>,
    /// Names of the checks that the configuration asked for.
    #[serde(default)]
    pub checks: Vec<String>,
    /// Results of all checks, ours and the configuration's.
    pub assertions: Vec<AssertionResult>,
    /// Steps, in order.
    pub steps: Vec<StepRecord>,
    /// Left-overs that could not be removed.
    pub left_over: Vec<String>,
    /// Requests made of the store.
    pub requests: Requests,
    /// Sizes for the next drill to compare with: name → bytes or rows.
    pub sizes: std::collections::BTreeMap<String, u64>,
}
