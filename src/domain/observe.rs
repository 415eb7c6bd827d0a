//! The contract of looking.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{Expected, FactKind, Known, Observation, ProviderId, RunId, StoreId};

/// What every look and every act is given.
#[derive(Clone)]
pub struct Cx {
    /// The run it belongs to.
    pub run: RunId,
    /// The time to judge by. Nobody below asks a clock for "now".
    pub now: Timestamp,
    /// When it must be done.
    pub deadline: Instant,
    /// Asked by every loop; acting futures are never dropped, only cancelled by this.
    pub cancel: CancellationToken,
    /// Where progress is told.
    pub progress: Arc<dyn Progress>,
}

/// Where progress is told. The terminal draws it, a log gets a line now and then, tests count it.
pub trait Progress: Send + Sync {
    /// Something of this name goes on: `done` of `total` (both in `unit`, for example "B", "segments"); total 0 = not known.
    fn tell(&self, what: &str, done: u64, total: u64, unit: &str);
    /// It is over.
    fn done(&self, what: &str);
}

/// Progress that goes nowhere.
pub struct Quiet;

impl Progress for Quiet {
    fn tell(&self, _what: &str, _done: u64, _total: u64, _unit: &str) {}
    fn done(&self, _what: &str) {}
}

/// A provider that can be looked at. Never writes.
#[async_trait]
pub trait Observe: Send + Sync {
    /// Which one it is.
    fn name(&self) -> ProviderId;
    /// Subjects of which a fact or a gap must come back, each with the kind. A subject with neither is a bug of ours (exit 70). Asked
    /// when its wave begins, so that what the first wave discovered can be covered too; before any look nothing is known.
    fn covers(&self, known: &Known) -> Vec<(super::Subject, FactKind)>;
    /// Facts of the first wave it needs; empty = it is of the first wave.
    fn reads(&self) -> &[FactKind];
    /// Looks. What failed is a gap, so there is no `Result`; the future may be dropped at the deadline.
    async fn observe(&self, cx: &Cx, known: &Known) -> Observation;
    /// Whether it may find subjects that nobody knows before it has looked: a name that means nothing yet may be one of them.
    fn discovers(&self) -> bool {
        false
    }
    /// Who else must look, by what the first wave saw: one observer for each thing that was discovered, each with its own memory,
    /// deadline and budget. Asked when its wave begins; those that come have no others behind them.
    fn more(&self, _known: &Known) -> Vec<Discovered> {
        Vec::new()
    }
    /// What judging must expect of what it covers, where the configuration cannot say it: policies, and what a subject rests on. Asked
    /// when its wave begins.
    fn expects(&self, _known: &Known) -> Expected {
        Expected::default()
    }
}

/// An observer that was not known before the first wave.
#[derive(Clone)]
pub struct Discovered {
    /// Who looks.
    pub observer: Arc<dyn Observe>,
    /// The store whose budget its requests use.
    pub store: Option<StoreId>,
}
