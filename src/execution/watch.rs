//! Somebody who is told how a run goes: the terminal, a log, a test.

use crate::domain::{StepRecord, Undone};

/// Told as a run goes. Must be quick: the run waits for it.
pub trait Watch: Send + Sync {
    /// A step begins.
    fn began(&self, _step: &str, _verb: &str) {}
    /// A step has waited for a while, and says for what (`waits for …`). Told once a step.
    fn waits(&self, _step: &str, _what: &str) {}
    /// A step is over.
    fn ended(&self, _step: &StepRecord) {}
    /// Something was taken back, or could not be.
    fn undone(&self, _step: &str, _undone: &Undone) {}
}

/// Nobody.
pub struct Unwatched;

impl Watch for Unwatched {}
