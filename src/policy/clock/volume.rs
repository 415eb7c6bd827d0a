//! The volume that holds `pg_wal`: which one it is, what is free on it, and who else writes to it.

use std::collections::BTreeMap;

use super::estimate::slope;
use super::tracks::{Point, Tracks};
use crate::domain::{CnpgFact, WalVolume};

/// What is known of the volume.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Room {
    pub(super) volume: Option<WalVolume>,
    pub(super) free: Option<f64>,
    pub(super) capacity: Option<f64>,
    /// Bytes per second that others than WAL write to it.
    pub(super) others: f64,
    /// Size of `pg_wal`.
    wal: Option<f64>,
}

impl Room {
    /// By what measures the volume itself, else by what CNPG's exporter says of its size, else by the size that was asked for.
    pub(super) fn of(tracks: &Tracks, cluster: Option<&CnpgFact>) -> Self {
        let wal = tracks.wal.last();
        if shared(tracks, cluster) {
            return Self {
                volume: Some(WalVolume::Data),
                free: tracks.data_available.last().or_else(|| tracks.available.last()),
                capacity: tracks.data_capacity.last().or_else(|| tracks.capacity.last()),
                others: others(tracks),
                wal,
            };
        }
        let asked = cluster.and_then(|cluster| cluster.wal_storage).map(|bytes| bytes as f64);
        let capacity = tracks.capacity.last().or(asked).filter(|bytes| *bytes > 0.0);
        if capacity.is_none() && tracks.available.is_empty() {
            return Self { wal, ..Self::default() };
        }
        let rest = capacity.zip(wal).map(|(capacity, wal)| (capacity - wal).max(0.0));
        Self { volume: Some(WalVolume::Own), free: tracks.available.last().or(rest), capacity, others: 0.0, wal }
    }

    /// Free bytes; endless when not known, so that what drains can still be told.
    pub(super) fn free_or_endless(&self) -> f64 {
        self.free.unwrap_or(f64::INFINITY)
    }

    /// Bytes of `pg_wal` that are not held: segments kept to be used again, which are filled before new ones are made.
    pub(super) fn slack(&self, held: f64) -> f64 {
        self.wal.map_or(0.0, |wal| (wal - held).max(0.0))
    }
}

/// Whether WAL lies on the data volume: the Cluster says so, or both volumes tell the very same numbers, or only the data's are known.
fn shared(tracks: &Tracks, cluster: Option<&CnpgFact>) -> bool {
    if let Some(cluster) = cluster {
        return cluster.wal_storage.is_none() && !(tracks.data_available.is_empty() && tracks.available.is_empty());
    }
    let same = |a: Option<f64>, b: Option<f64>| matches!((a, b), (Some(a), Some(b)) if (a - b).abs() < 1.0);
    let twins = same(tracks.available.last(), tracks.data_available.last());
    let only = tracks.available.is_empty() && tracks.capacity.is_empty() && !tracks.data_available.is_empty();
    only || (twins && same(tracks.capacity.last(), tracks.data_capacity.last()))
}

/// What the data beside WAL grows by: what is used in all, less `pg_wal`. Never below zero, since a DROP is no promise.
fn others(tracks: &Tracks) -> f64 {
    let Some(capacity) = tracks.data_capacity.last() else { return 0.0 };
    let beside = |point: &Point| {
        let wal = tracks.wal.at(point.at)?;
        // A resize is no growth: the part after it counts.
        let then = tracks.data_capacity.at(point.at).unwrap_or(capacity);
        ((then - capacity).abs() <= capacity * 0.01).then_some(Point { at: point.at, value: capacity - point.value - wal })
    };
    let points: Vec<Point> = tracks.data_available.points().iter().filter_map(beside).collect();
    if points.len() < super::estimate::LEAST_POINTS { 0.0 } else { slope(&points).unwrap_or_default().max(0.0) }
}

/// `max_slot_wal_keep_size` in bytes; `None` when it is not set, -1, or not readable: then nothing ends the growth.
/// <https://www.postgresql.org/docs/current/runtime-config-replication.html#GUC-MAX-SLOT-WAL-KEEP-SIZE>
pub(super) fn slot_limit(parameters: &BTreeMap<String, String>) -> Option<f64> {
    let text = parameters.get("max_slot_wal_keep_size")?.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().ok()?;
    // Without a unit it is megabytes.
    let factor = match unit.trim() {
        "" | "MB" => 1_048_576.0,
        "kB" => 1_024.0,
        "GB" => 1_073_741_824.0,
        "TB" => 1_099_511_627_776.0,
        _ => return None,
    };
    Some(number * factor)
}
