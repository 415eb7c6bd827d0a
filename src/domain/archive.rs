//! Facts about a PostgreSQL archive: what lies there and what could be restored from it.
//!
//! Segment names are the 24 upper-case hex digits that PostgreSQL uses.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ArchivePlace, Subject, SystemId};

/// What backup.info says of a base backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum BackupStatus {
    /// `DONE`.
    Done,
    /// `STARTED`: runs, or was killed.
    Started,
    /// `FAILED`.
    Failed {
        /// The `error` field.
        error: String,
    },
    /// The file is there and cannot be read as a record.
    Unreadable {
        /// What is wrong, with the line.
        why: String,
    },
    /// Data without a record.
    NoRecord,
}

/// What a keep mark (`barman-cloud-backup-keep`) asks for: that retention leaves the base backup alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Kept with all WAL since, so that any later moment can be reached.
    Full,
    /// Kept with the WAL that makes it consistent, and no more.
    Standalone,
    /// There is a mark; it was not read, or its word is neither.
    Unclear,
}

impl Keep {
    /// By the mark's word.
    pub fn of(word: &str) -> Self {
        match word {
            "full" => Self::Full,
            "standalone" => Self::Standalone,
            _ => Self::Unclear,
        }
    }

    /// The words for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "keep full",
            Self::Standalone => "keep standalone",
            Self::Unclear => "keep",
        }
    }
}

/// A base backup, as the bucket shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaseBackup {
    /// `YYYYMMDDTHHMMSS`: the clock of the machine that took it.
    pub id: String,
    /// Its state.
    #[serde(flatten)]
    pub status: BackupStatus,
    /// Start, from backup.info.
    pub begin_time: Option<Timestamp>,
    /// End, from backup.info: the earliest moment it can be restored to.
    pub end_time: Option<Timestamp>,
    /// First segment that a restore needs.
    pub begin_wal: Option<String>,
    /// Last segment that a restore needs.
    pub end_wal: Option<String>,
    /// `begin_xlog` as a number, to order backups by content.
    pub begin_lsn: Option<u64>,
    /// Timeline it was taken on.
    pub timeline: Option<u32>,
    /// System identifier.
    pub system_id: Option<SystemId>,
    /// PostgreSQL's version number, for example 150020.
    pub server_version: Option<u32>,
    /// Bytes of the cluster when it was taken: an upper bound for the disk a restore needs.
    pub cluster_size: Option<u64>,
    /// Bytes of its objects in the bucket.
    pub stored_bytes: u64,
    /// When backup.info was last written.
    pub record_written: Option<Timestamp>,
    /// Objects that must be there and are not (`data.tar*`, a part in the middle, a tablespace).
    pub missing: Vec<String>,
    /// Segments of `begin_wal..=end_wal` that are not in the archive.
    pub missing_wal: Vec<String>,
    /// Its keep mark, when somebody asked to keep it.
    pub keep: Option<Keep>,
    /// Tablespaces that its record names: name and number; `None` = the record was not read.
    #[serde(default)]
    pub tablespaces: Option<Vec<(String, u32)>>,
}

/// What could be restored from one base backup along one timeline path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// The base backup.
    pub backup: String,
    /// The timeline that the window ends on.
    pub timeline: u32,
    /// Earliest moment: the backup's end.
    pub from: Timestamp,
    /// Nothing up to here can be missing: LastModified of the newest segment of the unbroken chain.
    pub covered_until: Option<Timestamp>,
    /// The last segment of the unbroken chain.
    pub last_segment: Option<String>,
    /// The first segment that is not there although later ones are.
    pub broken_at: Option<String>,
}

/// A hole: segments that are not there although later ones of the same timeline are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalGap {
    /// Timeline.
    pub timeline: u32,
    /// First missing segment.
    pub first: String,
    /// Last missing segment.
    pub last: String,
    /// How many.
    pub count: u64,
    /// A DONE backup lies before it and none after it: recovery to the present is not possible.
    pub cuts_newest: bool,
    /// LastModified of the segment after the hole: how long it had time to fill.
    pub later_written: Option<Timestamp>,
}

/// A system identifier, and where it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemSeen {
    /// The identifier.
    pub system_id: SystemId,
    /// `backup.info of 20261130T091120`, or the segment whose header carries it.
    pub seen_in: Vec<String>,
    /// When the newest of those objects was written.
    pub newest: Option<Timestamp>,
}

/// A `.history` that no segment follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrphanHistory {
    /// Its timeline.
    pub timeline: u32,
    /// Its key.
    pub key: String,
    /// The timeline it says it left.
    pub parent: Option<u32>,
    /// When it was written.
    pub written: Option<Timestamp>,
    /// Newest write on an older timeline: later than `written` means that the cluster went on without it.
    pub older_timeline_written: Option<Timestamp>,
}

/// A `.partial` that stands where a whole segment should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialInside {
    /// The segment.
    pub segment: String,
    /// The object.
    pub key: String,
}

/// An object of no bytes under a name that must have some.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmptyObject {
    /// Its key.
    pub key: String,
    /// When it was written.
    pub written: Option<Timestamp>,
}

/// One segment, as the listing shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentSeen {
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: String,
    /// Stored bytes.
    pub size: u64,
    /// LastModified.
    pub written: Option<Timestamp>,
}

/// Where recovery must end if everything that lies there is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndOfWal {
    /// Timeline.
    pub timeline: u32,
    /// Last complete segment.
    pub segment: String,
}

/// What a look at an archive showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArchiveFact {
    /// `pg/<site>/<environment>/<name>`.
    pub subject: Subject,
    /// Where it lies.
    pub place: ArchivePlace,
    /// When the listing was made.
    pub listed_at: Timestamp,
    /// Objects under the archive's root.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whole segments.
    pub segments: u64,
    /// Bytes of a segment; `None` when neither backup.info nor a header tells.
    pub segment_size: Option<u64>,
    /// Base backups, oldest first by content.
    pub backups: Vec<BaseBackup>,
    /// What could be restored, per usable base backup, oldest first.
    pub windows: Vec<Window>,
    /// Holes.
    pub gaps: Vec<WalGap>,
    /// System identifiers seen.
    pub systems: Vec<SystemSeen>,
    /// The identifier that the configuration or the ledger expects.
    pub expected_system: Option<SystemId>,
    /// Histories without segments.
    pub orphan_histories: Vec<OrphanHistory>,
    /// `.partial` objects inside the chain.
    pub partials_inside: Vec<PartialInside>,
    /// Objects of no bytes.
    pub empty_objects: Vec<EmptyObject>,
    /// Objects whose bodies carry aws-chunked framing.
    pub framed_objects: Vec<String>,
    /// Objects whose first bytes are neither of their compression nor a WAL header: key and what was seen.
    pub malformed_objects: Vec<(String, String)>,
    /// First segment still there.
    pub oldest_segment: Option<SegmentSeen>,
    /// Newest segment by content.
    pub newest_segment: Option<SegmentSeen>,
    /// Where recovery from the newest usable base backup ends.
    pub end: Option<EndOfWal>,
    /// Ids of base backups that the last pass knew and this one does not find.
    pub vanished_backups: Vec<String>,
    /// Ids known at the last pass.
    pub known_backups: u64,
    /// Keys under the root that belong to no archive.
    pub foreign_keys: u64,
}
