//! `global/pg_control`: which cluster it is, where its last checkpoint lies, and the settings a recovering server must not fall below.
//!
//! Layout of `ControlFileData` (<https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_control.h>) on 64-bit little
//! endian machines. Version 1300 is PostgreSQL 13 to 16; 1700 is 17, which keeps its new field in what was padding, so that all offsets
//! stay; 1800 is 18: the same offsets up to `data_checksum_version`, then one more byte and its padding before the nonce. Another
//! version is an error, never a guess.

use super::name::{Lsn, SegmentSize};
use crate::domain::SystemId;

/// Offset of the CRC in versions 1300 and 1700.
const CRC_AT_1300: usize = 288;
/// Offset of the CRC in version 1800.
const CRC_AT_1800: usize = 292;

/// `DBState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DbState {
    /// Starting up.
    Startup,
    /// Shut down in order.
    ShutDown,
    /// Shut down in order, during recovery.
    ShutDownInRecovery,
    /// On the way down.
    ShuttingDown,
    /// Crash recovery.
    InCrashRecovery,
    /// Archive recovery.
    InArchiveRecovery,
    /// Running.
    InProduction,
}

impl DbState {
    fn of(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Startup,
            1 => Self::ShutDown,
            2 => Self::ShutDownInRecovery,
            3 => Self::ShuttingDown,
            4 => Self::InCrashRecovery,
            5 => Self::InArchiveRecovery,
            6 => Self::InProduction,
            _ => return None,
        })
    }

    /// The words of `pg_controldata`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "starting up",
            Self::ShutDown => "shut down",
            Self::ShutDownInRecovery => "shut down in recovery",
            Self::ShuttingDown => "shutting down",
            Self::InCrashRecovery => "in crash recovery",
            Self::InArchiveRecovery => "in archive recovery",
            Self::InProduction => "in production",
        }
    }
}

/// What the control file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlFile {
    /// `pg_control_version`.
    pub version: u32,
    /// `catalog_version_no`.
    pub catalog_version: u32,
    /// The major version that this catalogue belongs to; `None` for a pre-release or a fork.
    pub major: Option<u32>,
    /// The cluster.
    pub system_id: SystemId,
    /// Its state.
    pub state: DbState,
    /// Position of the last checkpoint's record.
    pub checkpoint: Lsn,
    /// Where replay from it starts.
    pub redo: Lsn,
    /// Its timeline.
    pub timeline: u32,
    /// Bytes of a WAL segment.
    pub segment_size: SegmentSize,
    /// `wal_level`: 0 minimal, 1 replica, 2 logical.
    pub wal_level: u32,
    /// A standby needs at least this.
    pub max_connections: u32,
    /// A standby needs at least this.
    pub max_worker_processes: u32,
    /// A standby needs at least this.
    pub max_wal_senders: u32,
    /// A standby needs at least this.
    pub max_prepared_xacts: u32,
    /// A standby needs at least this.
    pub max_locks_per_xact: u32,
    /// Whether pages carry checksums.
    pub data_checksums: bool,
}

/// Why a control file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// Too few bytes.
    #[error("pg_control has {got} bytes, at least {wanted} are needed")]
    TooShort {
        /// How many there are.
        got: usize,
        /// How many are needed.
        wanted: usize,
    },
    /// Written by a version that we do not know.
    #[error("pg_control has version {version}; known are 1300 (PostgreSQL 13 to 16), 1700 (17) and 1800 (18)")]
    UnknownVersion {
        /// What it says.
        version: u32,
    },
    /// The checksum does not fit.
    #[error("pg_control is damaged: its CRC is {found:08x}, its content has {computed:08x}")]
    Crc {
        /// In the file.
        found: u32,
        /// Over its content.
        computed: u32,
    },
    /// A field makes no sense although the CRC fits.
    #[error("pg_control: {field} is {value}, which cannot be")]
    Field {
        /// Which.
        field: &'static str,
        /// What it says.
        value: u64,
    },
}

impl ControlFile {
    /// Reads the file; its checksum is checked first.
    pub fn parse(bytes: &[u8]) -> Result<Self, ControlError> {
        let short = |wanted| ControlError::TooShort { got: bytes.len(), wanted };
        let fields = Fields(bytes);
        let version = fields.u32(8).ok_or_else(|| short(12))?;
        let crc_at = match version {
            1300 | 1700 => CRC_AT_1300,
            1800 => CRC_AT_1800,
            _ => return Err(ControlError::UnknownVersion { version }),
        };
        let found = fields.u32(crc_at).ok_or_else(|| short(crc_at + 4))?;
        let computed = crc32c::crc32c(bytes.get(..crc_at).unwrap_or_default());
        if found != computed {
            return Err(ControlError::Crc { found, computed });
        }
        fields.control(version).ok_or_else(|| short(crc_at + 4))?
    }
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u32(&self, at: usize) -> Option<u32> {
        self.0.get(at..)?.first_chunk().map(|part| u32::from_le_bytes(*part))
    }

    fn u64(&self, at: usize) -> Option<u64> {
        self.0.get(at..)?.first_chunk().map(|part| u64::from_le_bytes(*part))
    }

    fn control(&self, version: u32) -> Option<Result<ControlFile, ControlError>> {
        let bad = |field, value| Some(Err(ControlError::Field { field, value }));
        let state = self.u32(16)?;
        let Some(state) = DbState::of(state) else { return bad("the state", u64::from(state)) };
        let timeline = self.u32(48)?;
        if timeline == 0 {
            return bad("the timeline", 0);
        }
        let size = u64::from(self.u32(228)?);
        let Some(segment_size) = SegmentSize::new(size) else { return bad("the WAL segment size", size) };
        let catalog_version = self.u32(12)?;
        Some(Ok(ControlFile {
            version,
            catalog_version,
            major: major_of_catalog(catalog_version),
            system_id: SystemId(self.u64(0)?),
            state,
            checkpoint: Lsn(self.u64(32)?),
            redo: Lsn(self.u64(40)?),
            timeline,
            segment_size,
            wal_level: self.u32(172)?,
            max_connections: self.u32(180)?,
            max_worker_processes: self.u32(184)?,
            max_wal_senders: self.u32(188)?,
            max_prepared_xacts: self.u32(192)?,
            max_locks_per_xact: self.u32(196)?,
            data_checksums: self.u32(252)? != 0,
        }))
    }
}

/// `CATALOG_VERSION_NO` of the releases.
const fn major_of_catalog(catalog_version: u32) -> Option<u32> {
    match catalog_version {
        202_007_201 => Some(13),
        202_107_181 => Some(14),
        202_209_061 => Some(15),
        202_307_071 => Some(16),
        202_406_281 => Some(17),
        202_506_291 => Some(18),
        _ => None,
    }
}
