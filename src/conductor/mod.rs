//! When, and in which order: the pass (look, say, follow, start), and what a check or the status screen needs of it.
//!
//! A pass never waits for somebody else's work, and nothing comes between its findings and the channels. What it starts and
//! follows are calls of conducting (backups, shipments, syncs); while nothing is conducted, a pass is its first two parts, and
//! drills are processes of their own whose evidence the next pass takes in.

mod allow;
mod budget;
mod check;
mod clock;
pub mod daemon;
mod deliver;
mod discovered;
mod doctor;
pub mod drill;
mod evidence;
mod look;
pub mod metrics;
mod outcome;
mod pass;
mod replay;
pub mod runbook;
mod say;
mod sight;
mod status;
mod tried;

pub use crate::execution::LONGEST_UNDO_SECONDS;
pub use allow::{drill_guard, sweep_for_pass};
pub use budget::Budget;
pub use check::{Before, Checked, check};
pub use doctor::{Examination, Examined, Reach, examine};
pub use look::{LOOK_SECONDS, Look, Looked, Wave};
pub use outcome::{Counted, ExitRule, exit_of};
pub use pass::{Pass, PassOutcome, Swept, pass};
pub use replay::{Expectation, ExpectedFinding, LEDGER_FILE, ReplayError, Via, remember, remembered, without_ledger};
pub use say::{Delivery, LATE_AFTER, Notify};
pub use status::{ClockLine, Line, State, Status, status, usual_interval};
pub use tried::{Tried, try_channels};
