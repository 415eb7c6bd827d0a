//! The contract of acting: intent → handle → look → receipt, and undo.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Cx, RunId};

/// What a verb can do to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Risk {
    /// Reads only.
    Looks,
    /// Makes and removes things of its own inside the sandbox.
    Sandbox,
    /// Changes a production system in a declared way.
    Changes,
    /// Destroys something that was there before.
    Destroys,
}

impl Risk {
    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Looks => "looks",
            Self::Sandbox => "sandbox",
            Self::Changes => "changes",
            Self::Destroys => "destroys",
        }
    }
}

/// What is there after a verb that was not there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Makes {
    /// Nothing.
    Nothing,
    /// Something that goes in `finally`, always.
    Scaffold,
    /// Something that stays, also when a later step fails.
    Product,
}

/// Whether a verb can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undo {
    /// There is nothing to take back.
    None,
    /// `undo` removes what was made.
    Yes,
}

/// A verb, as its provider declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerbSpec {
    /// `sandbox.make`, `pg.restore-base`.
    pub name: &'static str,
    /// One line for `--plan` and the documentation.
    pub about: &'static str,
    /// What it can do to the world.
    pub risk: Risk,
    /// What it leaves.
    pub makes: Makes,
    /// Whether it can be taken back.
    pub undo: Undo,
    /// Names of arguments that must be given.
    pub required: &'static [&'static str],
    /// Names of arguments that may be given.
    pub optional: &'static [&'static str],
    /// Names of the values its receipt carries, to be used by later steps as `$(step.name)`.
    pub outputs: &'static [&'static str],
    /// Default deadline for `start` to come back, in seconds.
    pub start_seconds: u64,
    /// Default deadline for the work to end, in seconds.
    pub end_seconds: u64,
}

/// A verb with its arguments, all parameters resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The run it belongs to.
    pub run: RunId,
    /// The step's name, unique in the plan.
    pub step: String,
    /// The verb.
    pub verb: String,
    /// Its arguments.
    pub args: Map<String, Value>,
}

impl Call {
    /// A text argument.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.args.get(name).and_then(Value::as_str)
    }
}

/// What happens to something that is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It is made.
    Make,
    /// It was there, and is changed.
    Change,
    /// It was there, and is removed.
    Remove,
}

impl Effect {
    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Make => "make",
            Self::Change => "change",
            Self::Remove => "remove",
        }
    }
}

/// One object that an act makes, changes or removes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touch {
    /// What happens to it.
    pub effect: Effect,
    /// The object: a path, a name.
    pub what: String,
}

impl Touch {
    /// Something is made.
    pub fn make(what: impl Into<String>) -> Self {
        Self { effect: Effect::Make, what: what.into() }
    }
}

/// What is about to be done: everything derived from run id + step, so that it can be found again without a handle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The call.
    pub call: Call,
    /// What will be touched, for `--plan` and for the sweep.
    pub touches: Vec<Touch>,
    /// The mark by which `look` and `undo` find what was made: a path, a label, a name.
    pub mark: Value,
}

impl Intent {
    /// What will be made.
    pub fn made(&self) -> Vec<&str> {
        self.touches.iter().filter(|touch| touch.effect == Effect::Make).map(|touch| touch.what.as_str()).collect()
    }
}

/// What the other side calls it: pid, path, uid, task id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handle(pub Value);

/// What an act ended with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// Values for later steps and for the evidence, under the names of the verb's `outputs`.
    pub outputs: Map<String, Value>,
    /// Assertions that the verb evaluated.
    pub assertions: Vec<super::AssertionResult>,
    /// Sub-phases with their seconds, for the RTO by phase.
    pub phases: Vec<super::Phase>,
    /// Notes for people.
    pub notes: Vec<String>,
}

/// What `look` sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum State {
    /// Nothing of ours is there.
    Absent,
    /// It goes on.
    Running {
        /// How far, in words.
        progress: String,
    },
    /// It is done.
    Done {
        /// With this.
        receipt: Box<Receipt>,
    },
    /// It ended badly, and the fault lies with what was looked at: the archive is bad.
    Failed {
        /// Why.
        why: String,
    },
    /// It ended, and the fault is ours or nobody's: no space, no rights, no time, no answer. Never counts as failed.
    CouldNot {
        /// Why.
        why: String,
        /// What to do.
        hint: String,
    },
    /// Two candidates, or something that is not ours under our name: a human must look.
    Unclear {
        /// Why.
        why: String,
    },
}

/// What `undo` did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "undone", rename_all = "kebab-case")]
pub enum Undone {
    /// It was there and is gone.
    Removed,
    /// It was not there.
    NothingToDo,
    /// It is still there, or is not ours: a human must look.
    Stuck {
        /// Why.
        why: String,
    },
}

/// Why a call is not taken, before anything was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{why}")]
pub struct Refused {
    /// Why.
    pub why: String,
    /// What to do.
    pub hint: String,
}

/// What can go wrong in `start`, `look` and `undo`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "error", rename_all = "kebab-case")]
pub enum ActError {
    /// The other side, or we, refused; nothing was done.
    #[error("refused: {why}")]
    Refused {
        /// Why.
        why: String,
        /// What to do.
        hint: String,
    },
    /// Nothing was done: no connection, no process.
    #[error("not started: {why}")]
    NotStarted {
        /// Why.
        why: String,
        /// What to do.
        hint: String,
    },
    /// The answer was lost. Only `look` can tell; never a second `start`.
    #[error("may have started: {why}")]
    MayHaveStarted {
        /// Why.
        why: String,
    },
    /// The rights are missing.
    #[error("not allowed to {verb}")]
    Denied {
        /// What was refused.
        verb: String,
        /// What to do.
        hint: String,
    },
    /// The archive, or what stands in its place, is bad: the drill failed.
    #[error("{why}")]
    Bad {
        /// Why.
        why: String,
    },
}

/// What the conductor's policy says to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permit {
    /// Go on.
    Yes,
    /// Do not.
    No(Refused),
}

/// The guard that execution asks before each act.
pub type Guard<'a> = &'a (dyn Fn(&Call, &VerbSpec) -> Permit + Send + Sync);

/// Something of a drill that was found without its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// The run whose label it bears.
    pub run: RunId,
    /// What is still there, and why; `None` = it was removed.
    pub left_over: Option<String>,
}

/// A provider that can act.
#[async_trait]
pub trait Act: Send + Sync {
    /// What it can do.
    fn verbs(&self) -> &'static [VerbSpec];
    /// No I/O: names, labels, marks, all derived from run id and step.
    fn intend(&self, call: &Call) -> Result<Intent, Refused>;
    /// Starts. Twice is once: a taken name with our mark means carry on.
    async fn start(&self, cx: &Cx, intent: &Intent) -> Result<Handle, ActError>;
    /// Looks how far it is. Without a handle it finds by mark.
    async fn look(&self, cx: &Cx, intent: &Intent, handle: Option<&Handle>) -> Result<State, ActError>;
    /// Takes back what was made. Twice is once. Never touches what is not ours.
    async fn undo(&self, cx: &Cx, intent: &Intent, state: &State) -> Result<Undone, ActError>;
    /// Removes what earlier runs left where no journal of this machine leads to it any more, found by our mark. `known` are the runs
    /// that this machine has folders of, `living` those that still run. What another machine may still need stays.
    async fn strays(&self, _cx: &Cx, _known: &[RunId], _living: &[RunId]) -> Vec<Stray> {
        Vec::new()
    }
}
