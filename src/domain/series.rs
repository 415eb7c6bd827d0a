//! A number over time: what the clock is computed from.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Subject;

/// One metric of one subject over time, oldest first. From a Prometheus range, or from samples of earlier passes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What it is about.
    pub subject: Subject,
    /// A word of the closed table of metrics.
    pub metric: String,
    /// Where the numbers come from: `prometheus`, `exporter`, `kubelet`, `sql`, `ledger`.
    pub source: String,
    /// Moments and values, oldest first; no value twice for one moment.
    pub points: Vec<(Timestamp, f64)>,
}
