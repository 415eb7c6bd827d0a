//! The only place that turns settings into objects.

pub use crate::config;
/// What the command line shows of the ledger.
pub use crate::ledger::{
    ChangeInRun, HistoryFilter, Ledger, LedgerError, RunKind, RunLine, RunState, ShownFinding, ShownRun, Verified,
};
