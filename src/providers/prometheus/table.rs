//! Which series of CNPG's exporter and of the kubelet is which metric of ours.
//!
//! CNPG: <https://cloudnative-pg.io/documentation/current/monitoring/>. Kubelet: the same numbers as its `/stats/summary`.

use crate::domain::metric;

/// How series of several pods and labels become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// The primary's; of several series the largest (the slot furthest behind).
    Primary,
    /// The largest of all pods: files wait at the one that archives.
    Largest,
    /// What all pods have counted since the range began: a failover goes on counting elsewhere.
    Counted,
}

/// A row.
pub(super) struct Row {
    /// The series.
    pub(super) series: &'static str,
    /// A label it must have.
    pub(super) with: Option<(&'static str, &'static str)>,
    /// Our metric.
    pub(super) metric: &'static str,
    pub(super) join: Join,
}

const fn row(series: &'static str, metric: &'static str, join: Join) -> Row {
    Row { series, with: None, metric, join }
}

const fn value(series: &'static str, value: &'static str, metric: &'static str, join: Join) -> Row {
    Row { series, with: Some(("value", value)), metric, join }
}

pub(super) const ROWS: &[Row] = &[
    value("cnpg_collector_pg_wal_archive_status", "ready", metric::WAL_READY, Join::Largest),
    value("cnpg_collector_pg_wal", "size", metric::WAL_BYTES, Join::Primary),
    value("cnpg_collector_pg_wal", "volume_size", metric::WAL_VOLUME_CAPACITY, Join::Primary),
    row("cnpg_collector_wal_bytes", metric::WAL_GENERATED, Join::Counted),
    row("cnpg_collector_up", metric::EXPORTER_UP, Join::Primary),
    row("cnpg_pg_stat_archiver_archived_count", metric::WAL_ARCHIVED, Join::Counted),
    row("cnpg_pg_stat_archiver_failed_count", metric::WAL_FAILED, Join::Counted),
    row("cnpg_pg_stat_archiver_last_archived_time", metric::WAL_LAST_ARCHIVED, Join::Primary),
    row("cnpg_pg_stat_archiver_last_failed_time", metric::WAL_LAST_FAILED, Join::Primary),
    row("cnpg_pg_stat_archiver_seconds_since_last_archival", metric::WAL_SINCE_ARCHIVAL, Join::Primary),
    row("cnpg_pg_stat_archiver_last_archived_wal_start_lsn", metric::WAL_ARCHIVED_POSITION, Join::Largest),
    row("cnpg_pg_replication_slots_pg_wal_lsn_diff", metric::WAL_SLOT_RETAINED, Join::Primary),
];

/// Tells which pod is the primary: 0 there, 1 elsewhere.
pub(super) const IN_RECOVERY: &str = "cnpg_pg_replication_in_recovery";
/// The kubelet's free bytes of a claim.
pub(super) const CLAIM_AVAILABLE: &str = "kubelet_volume_stats_available_bytes";
/// The kubelet's size of a claim.
pub(super) const CLAIM_CAPACITY: &str = "kubelet_volume_stats_capacity_bytes";

/// All series of the exporter, for a selector by name.
pub(super) fn exporter_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = ROWS.iter().map(|row| row.series).chain([IN_RECOVERY]).collect();
    names.sort_unstable();
    names.dedup();
    names
}
