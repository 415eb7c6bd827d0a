//! A plan: every object that a restore reads, in order, and where it must end.

use jiff::Timestamp;

use super::backup_info::BackupInfo;
use super::codec::Compression;
use super::history::History;
use super::key::{PartOf, segment_key};
use super::name::{SegmentName, SegmentSize};
use super::target::RecoveryTarget;
use crate::domain::{EndOfWal, SystemId};

/// A tar to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseObject {
    /// Below the archive's root.
    pub key: String,
    /// What it holds.
    pub part_of: PartOf,
    /// 0 for the first.
    pub part: u32,
    /// Its compression.
    pub compression: Compression,
    /// Stored bytes.
    pub size: u64,
    /// Its ETag: the object must not change while it is read.
    pub etag: String,
}

/// A history to be placed in `pg_wal`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryFile {
    /// Whose.
    pub timeline: u32,
    /// Below the archive's root.
    pub key: String,
    /// Its compression.
    pub compression: Compression,
    /// What stands in it.
    pub history: History,
}

/// Consecutive segments on one timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The timeline.
    pub timeline: u32,
    /// First, included.
    pub first: SegmentName,
    /// Last, included.
    pub last: SegmentName,
}

/// Consecutive segments that lie there in the same compressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentRange {
    /// First, included.
    pub first: SegmentName,
    /// Last, included.
    pub last: SegmentName,
    /// The suffixes under which each of them exists, the best first. Never empty.
    pub compressions: Vec<Compression>,
}

/// A segment to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedSegment {
    /// Its name.
    pub name: SegmentName,
    /// Below the archive's root.
    pub key: String,
    /// Its compression.
    pub compression: Compression,
    /// Other suffixes under which it exists, should the first be damaged.
    pub others: Vec<Compression>,
}

/// What a restore does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestorePlan {
    /// The base backup's id.
    pub backup: String,
    /// Its record.
    pub info: BackupInfo,
    /// Its tars: the data directory's parts in order, then each tablespace's.
    pub base: Vec<BaseObject>,
    /// The system that must come back.
    pub system_id: SystemId,
    /// Bytes of a segment.
    pub segment_size: SegmentSize,
    /// The timeline to name in `recovery_target_timeline`.
    pub timeline: u32,
    /// The path, oldest timeline first.
    pub path: Vec<Stretch>,
    /// All segments, in replay order.
    pub ranges: Vec<SegmentRange>,
    /// Histories to place: those of the path's timelines, oldest first.
    pub histories: Vec<HistoryFile>,
    /// Where recovery must end when the target is the end; the last segment that is offered otherwise.
    pub end: EndOfWal,
    /// Earliest moment the backup can be restored to.
    pub from: Timestamp,
    /// Nothing up to here can be missing.
    pub covered_until: Option<Timestamp>,
    /// The target.
    pub target: RecoveryTarget,
    /// The first segment that is missing behind the end: only with a target before it.
    pub broken_at: Option<SegmentName>,
}

impl RestorePlan {
    /// Stored bytes of the tars.
    pub fn base_bytes(&self) -> u64 {
        self.base.iter().fold(0, |sum, object| sum.saturating_add(object.size))
    }

    /// How many segments there are.
    pub fn segment_count(&self) -> u64 {
        let size = self.segment_size;
        let numbers = self.path.iter().filter_map(|stretch| Some((stretch.first.number(size)?, stretch.last.number(size)?)));
        numbers.map(|(first, last)| last - first + 1).sum()
    }

    /// All segments in replay order.
    pub fn segments(&self) -> impl Iterator<Item = PlannedSegment> + '_ {
        let size = self.segment_size;
        self.ranges.iter().flat_map(move |range| {
            let first = range.first.number(size).unwrap_or(1);
            let last = range.last.number(size).unwrap_or(0);
            (first..=last).filter_map(move |number| range.planned(SegmentName::from_number(range.first.timeline, number, size)?))
        })
    }

    /// One segment. `None` when the plan does not have it: PostgreSQL must then wait or end, never be given another.
    pub fn segment(&self, name: SegmentName) -> Option<PlannedSegment> {
        self.ranges.iter().find(|range| (range.first..=range.last).contains(&name)).and_then(|range| range.planned(name))
    }

    /// The history of a timeline of the path.
    pub fn history(&self, timeline: u32) -> Option<&HistoryFile> {
        self.histories.iter().find(|file| file.timeline == timeline)
    }

    /// The last segment as a name.
    pub fn end_segment(&self) -> Option<SegmentName> {
        self.path.last().map(|stretch| stretch.last)
    }
}

impl SegmentRange {
    fn planned(&self, name: SegmentName) -> Option<PlannedSegment> {
        let (best, others) = self.compressions.split_first()?;
        Some(PlannedSegment { name, key: segment_key(name, *best), compression: *best, others: others.to_vec() })
    }
}
