//! Numbers: the text of an instance's exporter, and a kubelet's summary, as samples of the closed table of metrics.
//!
//! Names and units: <https://cloudnative-pg.io/documentation/current/monitoring/>. Settings of WAL are exported in segments, sizes in
//! bytes. What the exporter says as NaN it does not have.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::lax::{lax, rows};
use super::quantity::whole;
use crate::domain::metric::{
    DATA_VOLUME_AVAILABLE, DATA_VOLUME_CAPACITY, EXPORTER_UP, WAL_ARCHIVED, WAL_ARCHIVED_POSITION, WAL_BYTES, WAL_FAILED,
    WAL_GENERATED, WAL_KEEP, WAL_LAST_ARCHIVED, WAL_LAST_FAILED, WAL_READY, WAL_SINCE_ARCHIVAL, WAL_SLOT_RETAINED,
    WAL_VOLUME_AVAILABLE, WAL_VOLUME_CAPACITY,
};
use crate::domain::{ClaimSeen, LastPosition, PodSeen, Sample, Subject};

/// The segment size when nobody tells another.
const USUAL_SEGMENT: f64 = 16_777_216.0;

/// A line of the exposition format: <https://prometheus.io/docs/instrumenting/exposition_formats/>.
struct Line<'a> {
    name: &'a str,
    labels: &'a str,
    value: f64,
}

/// Names that are read, by their beginning.
const READ: [&str; 6] = [
    "cnpg_collector_up",
    "cnpg_collector_wal_bytes",
    "cnpg_collector_pg_wal",
    "cnpg_pg_stat_archiver_",
    "cnpg_pg_replication_slots_",
    "cnpg_collector_last_collection_error",
];

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        if line.starts_with('#') || !READ.iter().any(|name| line.starts_with(name)) {
            return None;
        }
        let (series, value) = match line.rfind('}') {
            Some(end) => line.split_at_checked(end + 1)?,
            None => line.split_once(' ')?,
        };
        let (name, labels) = series.split_once('{').map_or((series, ""), |(name, rest)| (name, rest.trim_end_matches('}')));
        let value = value.split_whitespace().next()?.parse().ok()?;
        Some(Line { name: name.trim(), labels, value })
    })
}

/// What a recording keeps of an exporter's answer.
pub(super) fn kept_lines(text: &str) -> String {
    let mut kept = String::new();
    for line in lines(text) {
        let labels = if line.labels.is_empty() { String::new() } else { format!("{{{}}}", line.labels) };
        let _ = writeln!(kept, "{}{labels} {}", line.name, line.value);
    }
    kept
}

fn has_label(labels: &str, key: &str, value: &str) -> bool {
    labels.split(',').any(|label| label.trim().split_once('=').is_some_and(|(k, v)| k == key && v.trim_matches('"') == value))
}

/// What one answer of an exporter says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Exported {
    /// By metric of the closed table.
    pub(super) values: BTreeMap<&'static str, f64>,
    /// Bytes of a segment, when count and size tell.
    pub(super) segment: Option<f64>,
}

/// Reads an exporter's answer.
pub(super) fn exported(text: &str) -> Exported {
    let mut values = BTreeMap::new();
    let mut wal = BTreeMap::new();
    for line in lines(text).filter(|line| line.value.is_finite()) {
        let of = |value: &str| has_label(line.labels, "value", value);
        match line.name {
            "cnpg_collector_up" => {
                values.insert(EXPORTER_UP, line.value);
            }
            "cnpg_collector_wal_bytes" => {
                values.insert(WAL_GENERATED, line.value);
            }
            "cnpg_collector_pg_wal_archive_status" if of("ready") => {
                values.insert(WAL_READY, line.value);
            }
            "cnpg_collector_pg_wal" => {
                for word in ["count", "size", "keep", "volume_size"] {
                    if of(word) {
                        wal.insert(word, line.value);
                    }
                }
            }
            "cnpg_pg_replication_slots_pg_wal_lsn_diff" => {
                let most = values.entry(WAL_SLOT_RETAINED).or_insert(0.0_f64);
                *most = most.max(line.value);
            }
            name => {
                if let Some(metric) = of_archiver(name) {
                    values.insert(metric, line.value);
                }
            }
        }
    }
    let segment = match (wal.get("size"), wal.get("count")) {
        (Some(size), Some(count)) if *count > 0.0 && *size > 0.0 => Some(size / count),
        _ => None,
    };
    if let Some(size) = wal.get("size") {
        values.insert(WAL_BYTES, *size);
    }
    if let Some(keep) = wal.get("keep") {
        values.insert(WAL_KEEP, keep * segment.unwrap_or(USUAL_SEGMENT));
    }
    if let Some(size) = wal.get("volume_size") {
        values.insert(WAL_VOLUME_CAPACITY, *size);
    }
    Exported { values, segment }
}

fn of_archiver(name: &str) -> Option<&'static str> {
    Some(match name.strip_prefix("cnpg_pg_stat_archiver_")? {
        "archived_count" => WAL_ARCHIVED,
        "failed_count" => WAL_FAILED,
        "seconds_since_last_archival" => WAL_SINCE_ARCHIVAL,
        "last_failed_time" => WAL_LAST_FAILED,
        "last_archived_time" => WAL_LAST_ARCHIVED,
        "last_archived_wal_start_lsn" => WAL_ARCHIVED_POSITION,
        _ => return None,
    })
}

impl Exported {
    pub(super) fn samples(&self, subject: &Subject, at: Timestamp) -> Vec<Sample> {
        let sample = |(metric, value): (&&str, &f64)| sample(subject, metric, *value, at);
        self.values.iter().map(sample).collect()
    }

    /// At least so far had it written: everything up to the segment that was archived last, and the segments that wait.
    pub(super) fn position(&self, at: Timestamp, timeline: Option<u32>) -> Option<LastPosition> {
        let archived = self.values.get(WAL_ARCHIVED_POSITION).filter(|lsn| **lsn > 0.0)?;
        let segment = self.segment.unwrap_or(USUAL_SEGMENT);
        let waiting = self.values.get(WAL_READY).copied().unwrap_or(0.0);
        Some(LastPosition { at, lsn: whole(archived + segment * (waiting + 1.0))?, timeline, segment: whole(segment)? })
    }
}

fn sample(subject: &Subject, metric: &str, value: f64, at: Timestamp) -> Sample {
    Sample { subject: subject.clone(), metric: metric.to_owned(), value, at }
}

/// A kubelet's `stats/summary`: <https://kubernetes.io/docs/reference/instrumentation/node-metrics/>.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Summary {
    #[serde(deserialize_with = "rows")]
    pods: Vec<PodStats>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodStats {
    #[serde(deserialize_with = "lax")]
    pod_ref: ObjectRef,
    #[serde(rename = "volume", deserialize_with = "rows")]
    volumes: Vec<VolumeStats>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct ObjectRef {
    #[serde(deserialize_with = "lax")]
    name: String,
    #[serde(deserialize_with = "lax")]
    namespace: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct VolumeStats {
    #[serde(deserialize_with = "lax")]
    pvc_ref: Option<ObjectRef>,
    #[serde(deserialize_with = "lax")]
    available_bytes: Option<u64>,
    #[serde(deserialize_with = "lax")]
    capacity_bytes: Option<u64>,
}

/// Space of the primary's volumes. Where WAL has no volume of its own, it lies on the data volume.
pub(super) fn volumes(
    summary: &Summary,
    namespace: &str,
    primary: &PodSeen,
    claims: &[ClaimSeen],
    subject: &Subject,
    at: Timestamp,
) -> Vec<Sample> {
    let of_pod = |stats: &&PodStats| stats.pod_ref.namespace == namespace && stats.pod_ref.name == primary.name;
    let Some(pod) = summary.pods.iter().find(of_pod) else { return Vec::new() };
    let own = |role: &str| {
        let claim = claims
            .iter()
            .find(|claim| claim.role.as_deref() == Some(role) && claim.instance.as_deref() == Some(primary.name.as_str()))?;
        pod.volumes.iter().find(|volume| volume.pvc_ref.as_ref().is_some_and(|of| of.name == claim.name))
    };
    let data = own("PG_DATA");
    let has_wal_volume = claims.iter().any(|claim| claim.role.as_deref() == Some("PG_WAL"));
    let wal = if has_wal_volume { own("PG_WAL") } else { data };
    let mut samples = Vec::new();
    let metrics = [(data, DATA_VOLUME_AVAILABLE, DATA_VOLUME_CAPACITY), (wal, WAL_VOLUME_AVAILABLE, WAL_VOLUME_CAPACITY)];
    for (volume, available, capacity) in metrics {
        let Some(volume) = volume else { continue };
        for (metric, bytes) in [(available, volume.available_bytes), (capacity, volume.capacity_bytes)] {
            samples.extend(bytes.map(|bytes| sample(subject, metric, bytes as f64, at)));
        }
    }
    samples
}
