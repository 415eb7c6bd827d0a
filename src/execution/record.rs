//! The records of a journal: one JSON object a line.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::{Handle, Intent, Receipt, State, StepEnd, Undone, Verdict};
use crate::process::Process;
use crate::runbook::Plan;

/// The version of the journal's form. A reader refuses a newer one.
pub const JOURNAL_FORMAT: u32 = 1;

/// A line: a record with its number and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// From 1, without holes.
    pub n: u64,
    /// When it was written.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub record: Record,
}

/// Which part of the plan a step belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// `steps`.
    Steps,
    /// `finally`.
    Finally,
}

/// How a run was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// By itself, clean-up included.
    Finished,
    /// By a later start, since its process was gone.
    Interrupted,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// The first line.
    RunBegun {
        /// [`JOURNAL_FORMAT`].
        format: u32,
        /// dalsegno's version.
        made_by: String,
        /// The whole plan.
        plan: Box<Plan>,
        /// Who runs it.
        process: Process,
        /// What the caller needs to write evidence if this process does not come to it.
        context: Value,
    },
    /// About to be done. Written and synced before anything is.
    Intent {
        /// Of which part.
        part: Part,
        /// What.
        intent: Box<Intent>,
    },
    /// Started; this is what the other side calls it.
    Handle {
        /// The step.
        step: String,
        /// The handle.
        handle: Handle,
    },
    /// Seen to end, or to be in an unexpected state.
    State {
        /// The step.
        step: String,
        /// What was seen.
        state: State,
    },
    /// Done, with this.
    Receipt {
        /// The step.
        step: String,
        /// The receipt, assertions held against it included.
        receipt: Box<Receipt>,
    },
    /// The step is over.
    StepEnd {
        /// The step.
        step: String,
        /// How.
        end: StepEnd,
        /// Seconds it took.
        seconds: f64,
    },
    /// About to be taken back.
    UndoIntent {
        /// The step.
        step: String,
    },
    /// Taken back, or not.
    Undone {
        /// The step.
        step: String,
        /// What came of it.
        undone: Undone,
    },
    /// The last line. A second one follows when left-overs were removed later.
    RunEnded {
        /// How.
        how: How,
        /// What the evidence says, when there is one.
        verdict: Option<Verdict>,
        /// What could not be removed.
        left_over: Vec<String>,
    },
}

impl Record {
    /// The word in the file.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RunBegun { .. } => "run-begun",
            Self::Intent { .. } => "intent",
            Self::Handle { .. } => "handle",
            Self::State { .. } => "state",
            Self::Receipt { .. } => "receipt",
            Self::StepEnd { .. } => "step-end",
            Self::UndoIntent { .. } => "undo-intent",
            Self::Undone { .. } => "undone",
            Self::RunEnded { .. } => "run-ended",
        }
    }
}
