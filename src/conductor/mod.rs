//! When, and in which order: the pass, schedules, locks.

pub mod drill;
pub mod runbook;
