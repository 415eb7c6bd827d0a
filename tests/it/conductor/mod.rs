//! The pass with a real ledger and observers of the test's own; the screens as snapshots.

mod look;
mod outcome;
pub(crate) mod pass;
mod say;
pub(crate) mod scene;
mod screens;
mod status;
