//! The closed table of metrics: every number with a time has its name here. `docs/reference/metrics.md` is made from it.
//!
//! A name ends in its unit. A name is never renamed and never used for a second thing.

/// Files in `pg_wal/archive_status` that end in `.ready`: WAL that waits for the archiver.
pub const WAL_READY: &str = "wal_ready_count";
/// Bytes of `pg_wal`.
pub const WAL_BYTES: &str = "wal_bytes";
/// Bytes of the volume that holds `pg_wal`.
pub const WAL_VOLUME_CAPACITY: &str = "wal_volume_capacity_bytes";
/// Free bytes of the volume that holds `pg_wal`.
pub const WAL_VOLUME_AVAILABLE: &str = "wal_volume_available_bytes";
/// The current WAL position as a number.
pub const WAL_POSITION: &str = "wal_position_bytes";
/// WAL that was generated since PostgreSQL's counters were reset.
pub const WAL_GENERATED: &str = "wal_generated_bytes";
/// Start of the last archived segment.
pub const WAL_ARCHIVED_POSITION: &str = "wal_archived_position_bytes";
/// Segments archived.
pub const WAL_ARCHIVED: &str = "wal_archived_count";
/// Failed tries to archive.
pub const WAL_FAILED: &str = "wal_failed_count";
/// How long ago a segment was archived.
pub const WAL_SINCE_ARCHIVAL: &str = "wal_seconds_since_archival_seconds";
/// When archiving last failed.
pub const WAL_LAST_FAILED: &str = "wal_last_failed_seconds";
/// When a segment was last archived.
pub const WAL_LAST_ARCHIVED: &str = "wal_last_archived_seconds";
/// WAL that the slot furthest behind holds.
pub const WAL_SLOT_RETAINED: &str = "wal_slot_retained_bytes";
/// WAL that `wal_keep_size` holds.
pub const WAL_KEEP: &str = "wal_keep_bytes";
/// Free bytes of the data volume.
pub const DATA_VOLUME_AVAILABLE: &str = "data_volume_available_bytes";
/// Bytes of the data volume.
pub const DATA_VOLUME_CAPACITY: &str = "data_volume_capacity_bytes";
/// Whether the exporter could ask PostgreSQL.
pub const EXPORTER_UP: &str = "exporter_up";
/// Series that a Prometheus answered with.
pub const SERIES_SEEN: &str = "prometheus_series_count";
/// The nearest end of the clock's range.
pub const FULL_LOW: &str = "wal_volume_full_low_seconds";
/// The far end of the clock's range.
pub const FULL_HIGH: &str = "wal_volume_full_high_seconds";

/// How a number moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Up and down.
    Freely,
    /// Up only, until it is reset.
    Up,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it is about: `pg/…`.
    pub subject: &'static str,
    /// `bytes`, `count`, `objects`, `seconds`, or `0 or 1`.
    pub unit: &'static str,
    /// How it moves.
    pub moves: Moves,
    /// What it says.
    pub says: &'static str,
}

const fn row(name: &'static str, subject: &'static str, unit: &'static str, moves: Moves, says: &'static str) -> Metric {
    Metric { name, subject, unit, moves, says }
}

const PG: &str = "`pg/…`";

/// All metrics, sorted by name.
pub const METRICS: &[Metric] = &[
    row(
        "archive_age_seconds",
        PG,
        "seconds",
        Moves::Freely,
        "how long ago the newest segment was written (LastModified, the store's clock)",
    ),
    row("archive_bytes", PG, "bytes", Moves::Freely, "sizes of the objects under the archive's root, summed"),
    row(
        "archive_objects",
        PG,
        "objects",
        Moves::Freely,
        "objects under the archive's root, as the listing of this pass counts them",
    ),
    row("base_backups_count", PG, "count", Moves::Freely, "base backups that are done"),
    row(
        "channel_delivered_count",
        "`dalsegno/notify/…`",
        "count",
        Moves::Freely,
        "1 when the channel took at least one message in this pass; its age tells since when it takes none",
    ),
    row(DATA_VOLUME_AVAILABLE, PG, "bytes", Moves::Freely, "free bytes of the primary's data volume, as its file system tells"),
    row(DATA_VOLUME_CAPACITY, PG, "bytes", Moves::Freely, "size of the primary's data volume"),
    row(EXPORTER_UP, PG, "0 or 1", Moves::Freely, "whether the primary's exporter could ask PostgreSQL"),
    row("look_seconds", "any that was seen", "seconds", Moves::Freely, "how long the look of this pass took"),
    row(
        SERIES_SEEN,
        "`dalsegno/prometheus/…`",
        "count",
        Moves::Freely,
        "series that the server answered the pass's question with",
    ),
    row(
        "store_requests_left_count",
        "`store/…`",
        "count",
        Moves::Freely,
        "what is left of the day's request budget; negative when it is used up",
    ),
    row(WAL_ARCHIVED, PG, "count", Moves::Up, "segments archived since the counters were reset (pg_stat_archiver)"),
    row(WAL_ARCHIVED_POSITION, PG, "bytes", Moves::Up, "where the last archived segment starts, as a number"),
    row(WAL_BYTES, PG, "bytes", Moves::Freely, "size of `pg_wal`"),
    row(
        WAL_FAILED,
        PG,
        "count",
        Moves::Up,
        "tries to archive that failed since the counters were reset; a command killed by a signal is not counted",
    ),
    row(
        WAL_GENERATED,
        PG,
        "bytes",
        Moves::Up,
        "WAL written since the counters were reset (pg_stat_wal); the empty rest of switched segments is not in it",
    ),
    row(WAL_KEEP, PG, "bytes", Moves::Freely, "WAL that `wal_keep_size` holds whatever is archived"),
    row(WAL_LAST_ARCHIVED, PG, "seconds", Moves::Freely, "when a segment was last archived (Unix time)"),
    row(WAL_LAST_FAILED, PG, "seconds", Moves::Freely, "when archiving last failed (Unix time)"),
    row(WAL_POSITION, PG, "bytes", Moves::Up, "the current WAL position (LSN) as a number"),
    row(WAL_READY, PG, "count", Moves::Freely, "files `.ready` in `pg_wal/archive_status`: what waits for the archiver"),
    row(WAL_SINCE_ARCHIVAL, PG, "seconds", Moves::Freely, "how long ago a segment was last archived"),
    row(WAL_SLOT_RETAINED, PG, "bytes", Moves::Freely, "WAL that the replication slot furthest behind holds"),
    row(
        WAL_VOLUME_AVAILABLE,
        PG,
        "bytes",
        Moves::Freely,
        "free bytes of the volume that holds the primary's `pg_wal`: its own, or the data volume",
    ),
    row(
        WAL_VOLUME_CAPACITY,
        PG,
        "bytes",
        Moves::Freely,
        "size of the volume that holds the primary's `pg_wal`: its own, or the data volume",
    ),
    row(FULL_HIGH, PG, "seconds", Moves::Freely, "until the volume that holds WAL is full, at the latest (the clock's range)"),
    row(FULL_LOW, PG, "seconds", Moves::Freely, "until the volume that holds WAL is full, at the soonest (the clock's range)"),
];

/// The metrics that the disk-full clock reads over time.
pub const OF_THE_CLOCK: &[&str] = &[
    WAL_READY,
    WAL_BYTES,
    WAL_VOLUME_CAPACITY,
    WAL_VOLUME_AVAILABLE,
    WAL_POSITION,
    WAL_GENERATED,
    WAL_ARCHIVED_POSITION,
    WAL_ARCHIVED,
    WAL_FAILED,
    WAL_SLOT_RETAINED,
    DATA_VOLUME_AVAILABLE,
    DATA_VOLUME_CAPACITY,
];

/// The row of a metric.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|row| row.name == name)
}
