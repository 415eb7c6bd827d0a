//! Answers of the query API. <https://prometheus.io/docs/prometheus/latest/querying/api/>

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The envelope of every answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    /// `success` or `error`.
    pub(super) status: String,
    #[serde(default)]
    pub(super) data: Option<Data>,
    /// `bad_data`, `timeout`, `execution`, …
    #[serde(default, rename = "errorType")]
    pub(super) error_type: Option<String>,
    #[serde(default)]
    pub(super) error: Option<String>,
    /// Thanos says here which stores did not answer; Prometheus warns here of remote reads.
    #[serde(default)]
    pub(super) warnings: Vec<String>,
    /// VictoriaMetrics: storage nodes were missing.
    #[serde(default, rename = "isPartial")]
    pub(super) partial: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Data {
    /// `vector` or `matrix`.
    #[serde(rename = "resultType")]
    pub(super) kind: String,
    pub(super) result: Vec<Found>,
}

/// One series: of an instant query with `value`, of a range query with `values`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) metric: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<Pair>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) values: Vec<Pair>,
}

/// Unix seconds, and a number as text: `"NaN"`, `"+Inf"`, `"1.5e9"`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pair(pub(super) f64, pub(super) String);

impl Pair {
    /// `None` for what is no finite number: CNPG says NaN for what it does not have.
    pub(super) fn read(&self) -> Option<(f64, f64)> {
        let value: f64 = self.1.parse().ok()?;
        (value.is_finite() && self.0.is_finite()).then_some((self.0, value))
    }
}

impl Found {
    /// All pairs that are numbers, in the order of time, each moment once.
    pub(super) fn pairs(&self) -> Vec<(f64, f64)> {
        let mut pairs: Vec<(f64, f64)> = self.value.iter().chain(&self.values).filter_map(Pair::read).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        pairs.dedup_by(|later, kept| {
            let same = (later.0 - kept.0).abs() < 1e-3;
            if same {
                kept.1 = later.1;
            }
            same
        });
        pairs
    }

    pub(super) fn label(&self, name: &str) -> &str {
        self.metric.get(name).map_or("", String::as_str)
    }
}
