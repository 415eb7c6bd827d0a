//! Suite `runbook`.

mod language;
mod mistakes;
mod plans;
