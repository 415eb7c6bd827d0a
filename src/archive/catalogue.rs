//! The catalogue: everything that a listing showed, in little memory, plus the small objects that were read.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::backup_info::{BackupInfo, RecordStatus};
use super::backups::{BackupObjects, TarObject};
use super::codec::Compression;
use super::damage::Damage;
use super::header::{SegmentFault, WalHeader};
use super::history::History;
use super::key::{ArchiveKey, PartOf, segment_key};
use super::name::{SegmentName, SegmentSize};
use super::wals::{Added, Wals, seconds};
use crate::domain::SystemId;

/// Caps against hostile listings; real archives stay far below.
const MAX_BACKUPS: usize = 10_000;
const MAX_TARS: usize = 100_000;
const MAX_HISTORIES: usize = 4_096;
pub(super) const MAX_LISTED: usize = 1_000;
const MAX_HEADERS: usize = 64;

/// An object, as a listing shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectSeen {
    /// Stored bytes.
    pub size: u64,
    /// Its ETag, as sent, cut to 128 characters.
    pub etag: String,
    /// LastModified.
    pub written: Option<Timestamp>,
}

/// A history: the object, and what stands in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryObject {
    /// As listed.
    pub seen: ObjectSeen,
    /// Its compression.
    pub compression: Compression,
    /// As read; `None` = not read yet.
    pub history: Option<Result<History, String>>,
}

/// What the first bytes of a segment showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderSeen {
    /// The object's key, below the root.
    pub key: String,
    /// When it was written.
    pub written: Option<Timestamp>,
    /// The system that wrote it; `None` when there was no readable header.
    pub system_id: Option<SystemId>,
    /// The segment size it states.
    pub segment_size: Option<u64>,
    /// The body carries aws-chunked framing.
    pub framed: bool,
    /// What is wrong with it.
    pub fault: Option<String>,
}

/// A segment object that does not count: a `.partial`, or one of no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Odd {
    pub(super) timeline: u32,
    pub(super) log: u32,
    pub(super) seg: u32,
    pub(super) compression: Compression,
    pub(super) written: u32,
}

impl Odd {
    pub(super) const fn name(self) -> SegmentName {
        SegmentName { timeline: self.timeline, log: self.log, seg: self.seg }
    }
}

/// What lies in one archive. Can be kept between passes (serde) and added to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Catalogue {
    pub(super) wals: Wals,
    pub(super) backups: BTreeMap<String, BackupObjects>,
    pub(super) histories: BTreeMap<u32, HistoryObject>,
    pub(super) partials: Vec<Odd>,
    pub(super) empty_segments: Vec<Odd>,
    /// Other objects of no bytes: key and time.
    pub(super) empty_objects: Vec<(String, Option<Timestamp>)>,
    /// Headers, by segment name.
    pub(super) headers: BTreeMap<String, HeaderSeen>,
    /// Segments that an older catalogue held and this one does not, although later ones of their timeline are there: one per hole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) lost: Vec<String>,
    pub(super) objects: u64,
    pub(super) bytes: u64,
    pub(super) foreign: u64,
    pub(super) labels: u64,
    pub(super) tars: usize,
    pub(super) overflow: bool,
}

impl Catalogue {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in one listed object. `key` is below the archive's root. Order does not matter; the order of a listing is fastest.
    pub fn add(&mut self, key: &str, size: u64, etag: &str, last_modified: Option<Timestamp>) {
        self.objects += 1;
        self.bytes = self.bytes.saturating_add(size);
        match ArchiveKey::classify(key) {
            ArchiveKey::Segment { name, compression } if size > 0 => {
                match self.wals.add(name, compression, size, seconds(last_modified)) {
                    Added::New => self.fill_empty(name, compression),
                    Added::Known => self.again(size),
                    Added::Refused => self.refuse(),
                }
            }
            ArchiveKey::Segment { name, compression } => {
                Self::push_odd(&mut self.empty_segments, &mut self.overflow, name, compression, last_modified);
            }
            ArchiveKey::Partial { name, compression } => {
                Self::push_odd(&mut self.partials, &mut self.overflow, name, compression, last_modified);
            }
            ArchiveKey::Label { .. } => self.labels += 1,
            ArchiveKey::DirectoryMarker => self.again(size),
            ArchiveKey::Foreign => self.foreign += 1,
            ArchiveKey::History { timeline, compression } => {
                self.add_history(key, timeline, compression, seen(size, etag, last_modified));
            }
            ArchiveKey::BackupInfo { id } => {
                let seen = self.note_empty(key, seen(size, etag, last_modified));
                if let Some(backup) = self.backup(id) {
                    if backup.record.as_ref().is_some_and(|old| old.etag != seen.etag || old.size != seen.size) {
                        backup.info = None;
                    }
                    backup.record = Some(seen);
                }
            }
            ArchiveKey::Keep { id } => {
                if let Some(backup) = self.backup(id) {
                    backup.keep = Some(seen(size, etag, last_modified));
                }
            }
            ArchiveKey::BaseTar { id, part_of, part, compression } => {
                let seen = self.note_empty(key, seen(size, etag, last_modified));
                let tablespace = match part_of {
                    PartOf::Data => None,
                    PartOf::Tablespace(oid) => Some(oid),
                };
                self.add_tar(id, TarObject { tablespace, part, compression, seen });
            }
        }
    }

    /// An object that was counted and is not to be counted.
    fn again(&mut self, size: u64) {
        self.objects -= 1;
        self.bytes = self.bytes.saturating_sub(size);
    }

    fn refuse(&mut self) {
        self.foreign += 1;
        self.overflow = true;
    }

    fn push_odd(list: &mut Vec<Odd>, overflow: &mut bool, name: SegmentName, compression: Compression, at: Option<Timestamp>) {
        let SegmentName { timeline, log, seg } = name;
        let odd = Odd { timeline, log, seg, compression, written: seconds(at) };
        if list.iter().rev().take(8).any(|known| known.name() == name && known.compression == compression) {
            return;
        }
        if list.len() < MAX_TARS { list.push(odd) } else { *overflow = true }
    }

    fn note_empty(&mut self, key: &str, seen: ObjectSeen) -> ObjectSeen {
        if seen.size == 0 && self.empty_objects.len() < MAX_LISTED && !self.empty_objects.iter().any(|(known, _)| known == key) {
            self.empty_objects.push((key.to_owned(), seen.written));
        }
        seen
    }

    fn backup(&mut self, id: &str) -> Option<&mut BackupObjects> {
        if !self.backups.contains_key(id) {
            if self.backups.len() >= MAX_BACKUPS {
                self.refuse();
                return None;
            }
            self.backups.insert(id.to_owned(), BackupObjects::default());
        }
        self.backups.get_mut(id)
    }

    fn add_tar(&mut self, id: &str, tar: TarObject) {
        if self.tars >= MAX_TARS {
            self.refuse();
            return;
        }
        let Some(backup) = self.backup(id) else { return };
        let same = |known: &&mut TarObject| {
            (known.tablespace, known.part, known.compression) == (tar.tablespace, tar.part, tar.compression)
        };
        if let Some(known) = backup.tars.iter_mut().find(same) {
            known.seen = tar.seen;
            return;
        }
        backup.tars.push(tar);
        self.tars += 1;
    }

    fn add_history(&mut self, key: &str, timeline: u32, compression: Compression, seen: ObjectSeen) {
        let seen = self.note_empty(key, seen);
        if let Some(known) = self.histories.get(&timeline) {
            // The same history under two suffixes: the one that is not empty, else the better suffix.
            if known.compression == compression {
                if known.seen == seen {
                    return;
                }
            } else if (seen.size == 0, compression) > (known.seen.size == 0, known.compression) {
                return;
            }
        } else if self.histories.len() >= MAX_HISTORIES {
            self.refuse();
            return;
        }
        self.histories.insert(timeline, HistoryObject { seen, compression, history: None });
    }

    /// A segment that was an object of no bytes and is whole now.
    fn fill_empty(&mut self, name: SegmentName, compression: Compression) {
        if !self.empty_segments.is_empty() {
            self.empty_segments.retain(|odd| odd.name() != name || odd.compression != compression);
        }
    }

    /// A segment may begin with pages of an older timeline only where that one was left. Without the history nobody can tell.
    fn fits_history(&self, name: SegmentName, header: WalHeader) -> Result<WalHeader, SegmentFault> {
        let Some(history) = self.history(name.timeline).filter(|_| header.timeline != name.timeline) else { return Ok(header) };
        let left = history.left(header.timeline).map(|switch| header.segment_size.number_of(switch));
        if left.is_some() && left == name.number(header.segment_size) {
            return Ok(header);
        }
        Err(SegmentFault::Timeline { found: header.timeline, wanted: name.timeline })
    }

    /// Records that are listed and not read yet.
    pub fn unread_records(&self) -> Vec<String> {
        self.backups
            .iter()
            .filter(|(_, backup)| backup.record.is_some() && backup.info.is_none())
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// Keep marks that are listed and not read yet.
    pub fn unread_keeps(&self) -> Vec<String> {
        self.backups
            .iter()
            .filter(|(_, backup)| backup.keep.is_some() && backup.keep_word.is_none())
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// Histories that are listed and not read yet, with the compression of each.
    pub fn unread_histories(&self) -> Vec<(u32, Compression)> {
        self.histories
            .iter()
            .filter(|(_, object)| object.history.is_none())
            .map(|(timeline, object)| (*timeline, object.compression))
            .collect()
    }

    /// Hands in what backup.info says, or why it cannot be read.
    pub fn set_backup_info(&mut self, id: &str, info: Result<BackupInfo, String>) {
        if let Some(backup) = self.backups.get_mut(id) {
            backup.info = Some(info);
        }
        if let Some(size) = self.segment_size() {
            self.wals.set_size(size);
        }
    }

    /// A record that was listed and was gone when it was read: retention works while we look.
    pub fn record_is_gone(&mut self, id: &str) {
        if let Some(backup) = self.backups.get_mut(id) {
            backup.record = None;
            backup.info = None;
        }
    }

    /// Hands in the word of a keep mark.
    pub fn set_keep(&mut self, id: &str, word: &str) {
        if let Some(backup) = self.backups.get_mut(id) {
            backup.keep_word = Some(word.trim().chars().take(16).collect());
        }
    }

    /// Hands in what a history says, or why it cannot be read.
    pub fn set_history(&mut self, timeline: u32, history: Result<History, String>) {
        if let Some(object) = self.histories.get_mut(&timeline) {
            object.history = Some(history);
        }
    }

    /// Hands in what the first bytes of a segment showed.
    pub fn note_header(
        &mut self,
        name: SegmentName,
        compression: Compression,
        written: Option<Timestamp>,
        outcome: Result<WalHeader, SegmentFault>,
    ) {
        let mut seen = HeaderSeen {
            key: segment_key(name, compression),
            written,
            system_id: None,
            segment_size: None,
            framed: false,
            fault: None,
        };
        match outcome.and_then(|header| self.fits_history(name, header)) {
            Ok(header) => {
                seen.system_id = Some(header.system_id);
                seen.segment_size = Some(header.segment_size.bytes());
            }
            Err(SegmentFault::Damage(Damage::ChunkFraming)) => seen.framed = true,
            Err(fault) => {
                if let SegmentFault::System { found, .. } = &fault {
                    seen.system_id = Some(*found);
                }
                seen.fault = Some(fault.to_string());
            }
        }
        if self.headers.len() < 4 * MAX_HEADERS {
            self.headers.insert(name.to_string(), seen);
        }
        if let Some(size) = self.segment_size() {
            self.wals.set_size(size);
        }
    }

    /// Segments whose first bytes prove system, timeline and position for all others, as far as they were not read yet: first and
    /// last of each timeline, the first after a hole, begin_wal of the newest backup, both sides where LastModified runs backwards.
    pub fn headers_wanted(&self) -> Vec<(SegmentName, Compression)> {
        let mut wanted: Vec<SegmentName> = Vec::new();
        wanted.extend(self.newest_done().and_then(|(_, info)| info.first_segment()));
        for timeline in self.wals.timelines().into_iter().rev().take(16) {
            wanted.extend(self.wals.ends(timeline).into_iter().flat_map(|(first, last)| [last.name, first.name]));
        }
        wanted.extend(self.wals.turns().iter().rev().flat_map(|(before, after)| [*before, *after]));
        wanted.extend(self.wals.after_holes(self.segment_size().unwrap_or(SegmentSize::DEFAULT), 8));
        let mut found: Vec<(SegmentName, Compression)> = Vec::new();
        for name in wanted {
            let known = self.headers.contains_key(&name.to_string()) || found.iter().any(|(other, _)| *other == name);
            if let Some(compression) = self.wals.compressions(name).first().filter(|_| !known) {
                found.push((name, *compression));
            }
        }
        found.truncate(MAX_HEADERS);
        found
    }

    /// Base backups by id.
    pub fn backups(&self) -> &BTreeMap<String, BackupObjects> {
        &self.backups
    }

    /// Histories by timeline.
    pub fn histories(&self) -> &BTreeMap<u32, HistoryObject> {
        &self.histories
    }

    /// Timelines that have a segment, ascending, with the newest segment of each: where an incremental listing goes on.
    pub fn newest_segments(&self) -> Vec<(SegmentName, Compression)> {
        let ends = self.wals.timelines().into_iter().filter_map(|timeline| self.wals.ends(timeline));
        ends.map(|(_, last)| (last.name, last.compression)).collect()
    }

    /// Objects, bytes, whole segments, foreign keys.
    pub fn counts(&self) -> (u64, u64, u64, u64) {
        (self.objects, self.bytes, self.wals.count(), self.foreign)
    }

    /// Whether there were more names than we are ready to keep: the catalogue is not whole then.
    pub const fn overflowed(&self) -> bool {
        self.overflow
    }

    /// Bytes of a segment: by the newest record, else by a header.
    pub fn segment_size(&self) -> Option<SegmentSize> {
        let of_records = self.backups.values().rev().filter_map(|backup| match &backup.info {
            Some(Ok(info)) => {
                info.wal_segment_size().map(|size| (info.status == RecordStatus::Done, info.timeline, info.begin_lsn, size))
            }
            _ => None,
        });
        let newest = of_records.max_by_key(|(done, timeline, lsn, _)| (*done, *timeline, *lsn)).map(|(.., size)| size);
        newest.or_else(|| self.headers.values().find_map(|header| header.segment_size).and_then(SegmentSize::new))
    }

    /// DONE backups, newest first *by content* (timeline, then position): clocks can be wrong.
    pub(super) fn done_newest_first(&self) -> Vec<(&str, &BackupInfo)> {
        let mut done: Vec<(&str, &BackupInfo)> =
            self.backups.iter().filter_map(|(id, backup)| backup.done().map(|info| (id.as_str(), info))).collect();
        done.sort_by_key(|(id, info)| std::cmp::Reverse((info.timeline, info.begin_lsn, *id)));
        done
    }

    pub(super) fn newest_done(&self) -> Option<(&str, &BackupInfo)> {
        self.done_newest_first().into_iter().next()
    }

    /// A history that was read and makes sense.
    pub(super) fn history(&self, timeline: u32) -> Option<&History> {
        match self.histories.get(&timeline).map(|object| &object.history) {
            Some(Some(Ok(history))) => Some(history),
            _ => None,
        }
    }
}

fn seen(size: u64, etag: &str, written: Option<Timestamp>) -> ObjectSeen {
    ObjectSeen { size, etag: etag.chars().take(128).collect(), written }
}
