//! A runbook as it was written, read into types.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::assertion::Assertion;
use super::kind::Kind;
use crate::domain::Isolation;

/// A runbook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runbook {
    /// Its name: what `dalsegno drill NAME` takes.
    pub name: String,
    /// What it shows, in a sentence.
    pub purpose: String,
    /// What it must be told.
    pub parameters: Vec<Parameter>,
    /// The sandbox must be at least this closed.
    pub isolation_at_least: Isolation,
    /// Longest time until the restored system answers.
    pub rto: Option<Budget>,
    /// Most data that may be lost.
    pub rpo: Option<Budget>,
    /// Verbs of risk `changes` or `destroys` that may be called.
    pub allows: Vec<String>,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What is done at the end in any case, before scaffolds are taken back.
    pub finally: Vec<Step>,
}

/// A budget: a length of time, or a parameter of the kind `duration`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// Seconds.
    Seconds(f64),
    /// The value of this parameter; none when it is not given.
    Parameter(String),
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// The value when none is given, in the form that verbs are given.
    pub default: Option<Value>,
    /// Whether it must be given.
    pub required: bool,
    /// What it means.
    pub about: String,
}

/// What happens after a step that ended badly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The rest is skipped.
    #[default]
    Stop,
    /// The rest is done as far as it does not need this step's outputs. The verdict is not softened by it.
    Continue,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its name, unique in the runbook.
    pub name: String,
    /// The verb it calls.
    pub verb: String,
    /// The verb's arguments; texts may hold references.
    pub with: Map<String, Value>,
    /// Longest time for the whole step, in seconds; the verb's own limit when not given.
    pub time_limit_seconds: Option<f64>,
    /// What its receipt must say.
    pub assertions: Vec<Assertion>,
    /// What happens when it ends badly.
    pub on_failure: OnFailure,
}
