//! The language of drills: text → checked runbook → plan. Pure: no file, no clock, no verb is called here.
//!
//! A runbook is a reviewed text. [`check`] reads it on paper and reports every mistake at once; [`plan`] binds its parameters.
//! The language is described in `runbooks/README.md`.

mod assertion;
mod check;
mod kind;
mod mistake;
mod plan;
mod read;
mod reference;
mod text;

pub use assertion::{Assertion, Test};
pub use check::{Checked, check};
pub use kind::{Kind, duration_seconds};
pub use mistake::{Mistake, Mistakes};
pub use plan::{Outputs, Plan, PlannedStep, Unresolved, plan};
pub use reference::{Reference, references};
pub use text::{Budget, OnFailure, Parameter, Runbook, Step};

/// The version of the language that this program speaks. A runbook names the version it is written in.
pub const LANGUAGE: u64 = 1;
