//! Runs a plan: journal, act, undo, finally, sweep.
//!
//! It sees `&dyn Act`, a journal, and a guard that the conductor gives: policy decides, execution obeys. What it did is told by
//! the journal alone; a run that was killed is closed by [`sweep`] from its journal, never resumed.
//!
//! Order of a run: intent (fsync) → start → handle (fsync) → look … → receipt, step by step; then the steps of `finally`; then
//! what must be taken back, newest first. An acting future is never dropped: it is cancelled by its token, then awaited.

mod error;
mod evidence_file;
mod follow;
mod journal;
mod outlook;
mod record;
mod replay;
mod run;
mod step;
mod sweep;
mod undo;
mod watch;

pub use error::{EvidenceError, JournalError};
pub use evidence_file::{EVIDENCE_FILE, list_evidence, read_evidence, read_evidence_and_digest, write_evidence};
pub use journal::{JOURNAL_FILE, Journal, Told, read_journal};
pub use outlook::{Outlook, outlook};
pub use record::{How, JOURNAL_FORMAT, Line, Part, Record};
pub use replay::{Replayed, Trace, replay};
pub use run::{Hands, Outcome, run};
pub use sweep::{Close, Interrupted, Swept, SweptHow, recorded, sweep, unclosed};
pub use undo::LONGEST_UNDO_SECONDS;
pub use watch::{Unwatched, Watch};
