//! What a key below the archive's root is. Borrowed from the key, so that a million of them cost no allocation.

use super::codec::Compression;
use super::name::{SegmentName, Timeline, hex_u32};

/// What a tar of a base backup holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartOf {
    /// The data directory.
    Data,
    /// A tablespace, by OID.
    Tablespace(u32),
}

/// A key, understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveKey<'a> {
    /// `base/<id>/backup.info`.
    BackupInfo {
        /// The backup's id.
        id: &'a str,
    },
    /// `base/<id>/data.tar.gz`, `base/<id>/16384_0001.tar`.
    BaseTar {
        /// The backup's id.
        id: &'a str,
        /// What it holds.
        part_of: PartOf,
        /// 0 for the first, then 1, 2, …
        part: u32,
        /// Its compression.
        compression: Compression,
    },
    /// `base/<id>/annotations/keep`.
    Keep {
        /// The backup's id.
        id: &'a str,
    },
    /// `wals/<16 hex>/<24 hex>[.ext]`.
    Segment {
        /// Its name.
        name: SegmentName,
        /// Its compression.
        compression: Compression,
    },
    /// `….partial[.ext]`.
    Partial {
        /// The segment it is a part of.
        name: SegmentName,
        /// Its compression.
        compression: Compression,
    },
    /// `….<8 hex>.backup[.ext]`.
    Label {
        /// The segment in which the backup began.
        name: SegmentName,
        /// Bytes into it.
        offset: u32,
        /// Its compression.
        compression: Compression,
    },
    /// `wals/<8 hex>.history[.ext]`.
    History {
        /// Whose.
        timeline: u32,
        /// Its compression.
        compression: Compression,
    },
    /// A key that ends in `/`: made by consoles to show a folder.
    DirectoryMarker,
    /// Something else.
    Foreign,
}

impl<'a> ArchiveKey<'a> {
    /// Understands a key below the root (`base/…`, `wals/…`). Total: what is not barman's is [`Self::Foreign`].
    pub fn classify(key: &'a str) -> Self {
        if let Some(rest) = key.strip_prefix("wals/") {
            return wal_key(rest).unwrap_or_else(|| other(key));
        }
        if let Some(rest) = key.strip_prefix("base/") {
            return base_key(rest).unwrap_or_else(|| other(key));
        }
        other(key)
    }
}

fn other(key: &str) -> ArchiveKey<'_> {
    if key.ends_with('/') { ArchiveKey::DirectoryMarker } else { ArchiveKey::Foreign }
}

fn wal_key(rest: &str) -> Option<ArchiveKey<'_>> {
    let Some((directory, file)) = rest.split_once('/') else { return history_name(rest) };
    let name = SegmentName::parse(file.get(..24)?)?;
    // barman puts a segment into the directory of its first 16 digits; anywhere else no tool would find it.
    if name.timeline == 0 || directory.len() != 16 || directory != file.get(..16)? {
        return None;
    }
    let tail = file.get(24..)?;
    if let Some(compression) = Compression::of_suffix(tail) {
        return Some(ArchiveKey::Segment { name, compression });
    }
    if let Some(suffix) = tail.strip_prefix(".partial") {
        return Some(ArchiveKey::Partial { name, compression: Compression::of_suffix(suffix)? });
    }
    let label = tail.strip_prefix('.')?;
    let offset = label.get(..8).and_then(hex_u32)?;
    let suffix = label.get(8..)?.strip_prefix(".backup")?;
    Some(ArchiveKey::Label { name, offset, compression: Compression::of_suffix(suffix)? })
}

fn history_name(file: &str) -> Option<ArchiveKey<'_>> {
    let timeline = file.get(..8).and_then(hex_u32).filter(|timeline| *timeline != 0)?;
    let suffix = file.get(8..)?.strip_prefix(".history")?;
    Some(ArchiveKey::History { timeline, compression: Compression::of_suffix(suffix)? })
}

fn base_key(rest: &str) -> Option<ArchiveKey<'_>> {
    let (id, file) = rest.split_once('/')?;
    if !is_backup_id(id) {
        return None;
    }
    match file {
        "backup.info" => Some(ArchiveKey::BackupInfo { id }),
        "annotations/keep" => Some(ArchiveKey::Keep { id }),
        _ => {
            let (stem, suffix) = file.split_at_checked(file.find(".tar")?)?;
            let compression = Compression::of_suffix(suffix.strip_prefix(".tar")?)?;
            let (what, part) = match stem.split_once('_') {
                None => (stem, 0),
                Some((what, digits)) => (what, part_number(digits)?),
            };
            let part_of = if what == "data" { PartOf::Data } else { PartOf::Tablespace(oid(what)?) };
            Some(ArchiveKey::BaseTar { id, part_of, part, compression })
        }
    }
}

/// `20261130T091120`.
fn is_backup_id(id: &str) -> bool {
    let bytes = id.as_bytes();
    bytes.len() == 15 && bytes.iter().enumerate().all(|(at, byte)| if at == 8 { *byte == b'T' } else { byte.is_ascii_digit() })
}

/// Four digits or more, from 1.
fn part_number(digits: &str) -> Option<u32> {
    let plain = (4..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten().filter(|part| *part > 0)
}

fn oid(text: &str) -> Option<u32> {
    let plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// The key of a segment.
pub fn segment_key(name: SegmentName, compression: Compression) -> String {
    format!("wals/{:08X}{:08X}/{name}{}", name.timeline, name.log, compression.suffix())
}

/// The key of a partial segment.
pub(super) fn partial_key(name: SegmentName, compression: Compression) -> String {
    format!("wals/{:08X}{:08X}/{name}.partial{}", name.timeline, name.log, compression.suffix())
}

/// The key of a history.
pub fn history_key(timeline: u32, compression: Compression) -> String {
    format!("wals/{}{}", Timeline(timeline).history_name(), compression.suffix())
}

/// The key of a record.
pub fn backup_info_key(id: &str) -> String {
    format!("base/{id}/backup.info")
}

/// The key of a tar.
pub fn tar_key(id: &str, part_of: PartOf, part: u32, compression: Compression) -> String {
    let what = match part_of {
        PartOf::Data => "data".to_owned(),
        PartOf::Tablespace(oid) => oid.to_string(),
    };
    let number = if part == 0 { String::new() } else { format!("_{part:04}") };
    format!("base/{id}/{what}{number}.tar{}", compression.suffix())
}
