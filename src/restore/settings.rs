//! What a restore is given when it is built: where, as whom, of what.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::domain::{ArchivePlace, Isolation, SqlCheck, Subject, SystemId};
use crate::store::Store;

/// Settings of all restores of this process.
#[derive(Clone, Debug)]
pub struct RestoreSettings {
    /// Sandboxes are made in here.
    pub folder: PathBuf,
    /// The user that PostgreSQL runs as when we are root. Empty = `postgres`, else `nobody`.
    pub user: String,
    /// Folders to look for PostgreSQL's programs in, before the usual places.
    pub postgres_folders: Vec<PathBuf>,
    /// How closed the sandbox must be at least.
    pub isolation: Isolation,
    /// Whether PostgreSQL is fenced in (Landlock). Off only to see what a drill makes of a kernel that cannot.
    pub fence: bool,
    /// Our own program, for `internal hold`.
    pub executable: PathBuf,
    /// Bounds.
    pub limits: Limits,
}

/// Bounds of a restore. [`Limits::default`] keeps the whole process below 96 MiB of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one ranged GET of a base backup.
    pub part_bytes: u64,
    /// Ranged GETs of a base backup at a time.
    pub parts: usize,
    /// Workers that fetch WAL.
    pub wal_workers: usize,
    /// Bytes of WAL objects that may be in memory, as stored.
    pub wal_memory_bytes: u64,
    /// Bytes of whole segments on disk ahead of replay.
    pub wal_ahead_bytes: u64,
    /// How long a read that fails in passing is tried again, in seconds.
    pub retry_seconds: u64,
    /// Replay that does not move for so long while all WAL lies there is a stall, in seconds.
    pub stall_seconds: u64,
    /// PostgreSQL's shared buffers at most; see [`super::memory`].
    pub shared_buffers_bytes: u64,
    /// Disk that must stay free.
    pub reserve_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            part_bytes: 4 << 20,
            parts: 4,
            wal_workers: 8,
            wal_memory_bytes: 16 << 20,
            wal_ahead_bytes: 1 << 30,
            retry_seconds: 60,
            stall_seconds: 60,
            shared_buffers_bytes: 1 << 30,
            reserve_bytes: 256 << 20,
        }
    }
}

/// A database that can be restored.
#[derive(Clone)]
pub struct RestoreSubject {
    /// `pg/<site>/<environment>/<name>`.
    pub subject: Subject,
    /// Where its archive lies.
    pub place: ArchivePlace,
    /// The store, opened with the reading key.
    pub store: Store,
    /// The system identifier that must come back.
    pub system_id: Option<SystemId>,
    /// The user's checks.
    pub checks: Vec<SqlCheck>,
    /// How far *data as of* may lie behind *covered until* on a healthy archive (archive_timeout plus upload), in seconds.
    pub archive_timeout_seconds: Option<f64>,
    /// Sizes that the last proven drill saw.
    pub last_sizes: BTreeMap<String, u64>,
}
