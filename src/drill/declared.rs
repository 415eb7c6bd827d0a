//! What a drill was declared to show, and how its run went.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::{Expects, Isolation, Place, Placeholder, Requests, Subject};

/// What the drill was declared to show. Kept in the journal, so that a later start can write the evidence of a killed run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declared {
    /// The site that drills.
    pub site: String,
    /// The host that drills.
    #[serde(default)]
    pub host: String,
    /// What is drilled.
    pub subject: Subject,
    /// The place that is restored from.
    pub place: Place,
    /// The runbook's name.
    pub runbook: String,
    /// SHA-256 of the runbook's text, hex.
    pub runbook_sha256: String,
    /// dalsegno's version.
    pub made_by: String,
    /// The sandbox must be at least this closed.
    pub isolation: Isolation,
    /// Allowed RPO in seconds.
    pub rpo_budget_seconds: Option<f64>,
    /// Allowed RTO in seconds.
    pub rto_budget_seconds: Option<f64>,
    /// By which mechanism, and what of it must come back.
    pub expects: Expects,
    /// Names of the checks that the configuration asks for: each must have a result.
    #[serde(default)]
    pub checks: Vec<String>,
    /// Placeholders of the configuration that stand where something of this subject should: what they would have asked for is not
    /// known.
    #[serde(default)]
    pub placeholders: Vec<Placeholder>,
}

/// How the run went, beside its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// When it began.
    pub began: Timestamp,
    /// When it ended, clean-up included.
    pub ended: Timestamp,
    /// Whether somebody cancelled it.
    pub cancelled: bool,
    /// Whether its process went away and a later start closed it.
    pub interrupted: bool,
    /// Seconds of clean-up.
    pub clean_up_seconds: Option<f64>,
    /// What could not be removed.
    pub left_over: Vec<String>,
    /// Requests made of the store.
    pub requests: Requests,
}
