//! What lies in a PostgreSQL archive and what can be restored from it. Pure: bytes and names in, facts and plans out.
//!
//! Everything here reads what strangers wrote: no function panics on any input, and memory is bounded by the input or a stated cap.
//!
//! # How it is used
//!
//! 1. A listing of the archive's root goes into a [`Catalogue`], one [`Catalogue::add`] per object, keys *below the root*
//!    (`base/…`, `wals/…`).
//! 2. Small objects are read by the caller and handed in: [`Catalogue::set_backup_info`] with [`BackupInfo::parse`],
//!    [`Catalogue::set_history`] with [`History::parse`], [`Catalogue::set_keep`], and headers of sampled segments with
//!    [`Catalogue::note_header`] ([`Catalogue::headers_wanted`] says which).
//! 3. [`Catalogue::fact`] is the [`crate::domain::ArchiveFact`]; [`Catalogue::choose`] is a [`RestorePlan`] or a [`Refusal`].
//!
//! A plan names keys below the root: put [`crate::domain::ArchivePlace::root`] in front. [`RestorePlan::segments`] iterates all segments in
//! replay order; [`RestorePlan::segment`] finds one by name.
//!
//! [`Compression`] decodes: [`Compression::reader`] streams a base tar, [`Compression::whole_segment`] inflates one WAL segment to its
//! exact size or says what is damaged, [`Compression::head`] inflates the first bytes of a ranged GET. [`check_segment`] proves name,
//! position and system of a whole segment. [`ControlFile`] reads `global/pg_control`. [`RecoveryTarget`] reads a moment from a person.

mod backup_info;
mod backups;
mod carry;
mod catalogue;
mod chain;
mod choose;
mod codec;
mod control;
mod damage;
mod fact;
mod header;
mod history;
mod key;
mod label;
mod literal;
mod lz4;
mod name;
mod plan;
mod refusal;
mod tail;
mod target;
mod wals;

pub use backup_info::{BackupInfo, BackupInfoError, MAX_BACKUP_INFO, RecordStatus, Tablespace};
pub use backups::{BackupObjects, TarObject};
pub use catalogue::{Catalogue, HeaderSeen, HistoryObject, ObjectSeen};
pub use codec::Compression;
pub use control::{ControlError, ControlFile, DbState};
pub use damage::Damage;
pub use header::{HeaderError, SegmentFault, WalHeader, aws_chunked, check_head, check_segment, majors_of_magic};
pub use history::{History, HistoryEntry, HistoryError, MAX_HISTORY};
pub use key::{ArchiveKey, PartOf, backup_info_key, history_key, segment_key, tar_key};
pub use label::{BackupLabel, LabelError};
pub use name::{Lsn, NameError, SegmentName, SegmentSize, Timeline};
pub use plan::{BaseObject, HistoryFile, PlannedSegment, RestorePlan, SegmentRange, Stretch};
pub use refusal::Refusal;
pub use tail::{TailFault, WAL_PAGE, check_tail};
pub use target::{RecoveryTarget, TargetError};
