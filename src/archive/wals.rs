//! The segments of an archive, as runs of names without a hole: a million segments are a handful of runs.
//!
//! A run is kept per timeline and compression, so that a segment that exists twice is seen twice. Times are exact where a run begins
//! and ends, which is where somebody asks for them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::codec::Compression;
use super::name::{SegmentName, SegmentSize};

/// More runs than any archive has; what lies beyond is refused, so that hostile listings cannot eat the memory.
const MAX_RUNS: usize = 500_000;
const MAX_LINES: usize = 4_096;
/// Segment numbers of a log end below this: 4 GiB / 1 MiB.
const MAX_SEG: u32 = 4_096;
const SEG_BITS: u32 = 12;
/// Places where LastModified runs backwards that are remembered.
const MAX_TURNS: usize = 8;
/// Uploads run in parallel: a segment may be this many seconds older than the one before it.
const TURN_SECONDS: u32 = 120;

/// Segments without a hole. Positions are `log << 12 | seg`: an order that needs no segment size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    start: u64,
    end: u64,
    first_written: u32,
    last_written: u32,
    first_size: u32,
    last_size: u32,
}

/// The runs of one timeline and compression.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    timeline: u32,
    compression: Compression,
    runs: Vec<Run>,
}

/// Consecutive segments, by number, of one timeline in whatever compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) first_written: u32,
    pub(super) last_written: u32,
}

/// One whole segment, with what the listing said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) name: SegmentName,
    pub(super) compression: Compression,
    pub(super) size: u32,
    pub(super) written: u32,
}

/// What became of an object that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    New,
    Known,
    /// No archive has such a name, or there are more names than we are ready to keep.
    Refused,
}

/// All segments.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub(super) struct Wals {
    lines: BTreeMap<(u32, Compression), Vec<Run>>,
    size: Option<SegmentSize>,
    runs: usize,
    /// Segment and its follower where the follower is older.
    turns: Vec<(SegmentName, SegmentName)>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    lines: Vec<Line>,
    size: Option<u64>,
}

impl From<Saved> for Wals {
    fn from(saved: Saved) -> Self {
        let runs = saved.lines.iter().map(|line| line.runs.len()).sum();
        let lines = saved.lines.into_iter().map(|line| ((line.timeline, line.compression), line.runs)).collect();
        Self { lines, size: saved.size.and_then(SegmentSize::new), runs, turns: Vec::new() }
    }
}

impl From<Wals> for Saved {
    fn from(wals: Wals) -> Self {
        let size = wals.size.map(SegmentSize::bytes);
        let lines = wals.lines.into_iter().map(|((timeline, compression), runs)| Line { timeline, compression, runs });
        Self { lines: lines.collect(), size }
    }
}

fn position(name: SegmentName) -> u64 {
    u64::from(name.log) << SEG_BITS | u64::from(name.seg)
}

fn name_at(timeline: u32, position: u64) -> SegmentName {
    let log = u32::try_from(position >> SEG_BITS).unwrap_or(u32::MAX);
    let seg = u32::try_from(position & u64::from(MAX_SEG - 1)).unwrap_or(0);
    SegmentName { timeline, log, seg }
}

/// Seconds since 1970; 0 = not known.
pub(super) fn seconds(written: Option<Timestamp>) -> u32 {
    written.and_then(|written| u32::try_from(written.as_second()).ok()).unwrap_or(0)
}

/// Back from [`seconds`].
pub(super) fn moment(seconds: u32) -> Option<Timestamp> {
    if seconds == 0 { None } else { Timestamp::from_second(i64::from(seconds)).ok() }
}

impl Wals {
    /// Takes a segment in. Names that arrive in order, one folder at a time, cost no allocation of their own.
    pub(super) fn add(&mut self, name: SegmentName, compression: Compression, size: u64, written: u32) -> Added {
        if name.seg >= MAX_SEG {
            return Added::Refused;
        }
        let at = position(name);
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let full = self.lines.len() >= MAX_LINES;
        let runs = match self.lines.entry((name.timeline, compression)) {
            Entry::Occupied(line) => line.into_mut(),
            Entry::Vacant(_) if full => return Added::Refused,
            Entry::Vacant(line) => line.insert(Vec::new()),
        };
        let index =
            if runs.last().is_none_or(|last| last.end < at) { runs.len() } else { runs.partition_point(|run| run.end < at) };
        if runs.get(index).is_some_and(|run| run.start <= at) {
            return Added::Known;
        }
        let segment_size = self.size;
        let joins_next = runs.get(index).is_some_and(|run| follows(name.timeline, at, run.start, segment_size));
        let before = index.checked_sub(1);
        let joins_before =
            before.and_then(|before| runs.get(before)).is_some_and(|run| follows(name.timeline, run.end, at, segment_size));
        let one = Run { start: at, end: at, first_written: written, last_written: written, first_size: size, last_size: size };
        if joins_before {
            let next = joins_next.then(|| runs.remove(index));
            if let Some(run) = before.and_then(|before| runs.get_mut(before)) {
                if written != 0 && written.saturating_add(TURN_SECONDS) < run.last_written {
                    note_turn(&mut self.turns, name_at(name.timeline, run.end), name);
                }
                join(run, &one);
                if let Some(next) = next {
                    join(run, &next);
                    self.runs = self.runs.saturating_sub(1);
                }
            }
        } else if let Some(run) = runs.get_mut(index).filter(|_| joins_next) {
            run.start = at;
            run.first_written = written;
            run.first_size = size;
        } else if self.runs >= MAX_RUNS {
            return Added::Refused;
        } else {
            runs.insert(index, one);
            self.runs += 1;
        }
        Added::New
    }

    /// When a segment was written, where that is kept exactly: at the ends of runs.
    pub(super) fn written(&self, name: SegmentName, compression: Compression) -> Option<u32> {
        let at = position(name);
        let runs = self.lines.get(&(name.timeline, compression))?;
        let run = runs.get(runs.partition_point(|run| run.end < at))?;
        let seen = if run.end == at { run.last_written } else { run.first_written };
        (run.start == at || run.end == at).then_some(seen)
    }

    /// From now on the last segment of a log and the first of the next belong together.
    pub(super) fn set_size(&mut self, size: SegmentSize) {
        if self.size == Some(size) {
            return;
        }
        self.size = Some(size);
        for ((timeline, _), runs) in &mut self.lines {
            let mut merged: Vec<Run> = Vec::new();
            for run in runs.drain(..) {
                match merged.last_mut() {
                    Some(last) if follows(*timeline, last.end, run.start, Some(size)) => join(last, &run),
                    _ => merged.push(run),
                }
            }
            merged.shrink_to_fit();
            *runs = merged;
        }
        self.runs = self.lines.values().map(Vec::len).sum();
    }

    /// Timelines that have a segment, ascending.
    pub(super) fn timelines(&self) -> Vec<u32> {
        let mut found: Vec<u32> =
            self.lines.iter().filter(|(_, runs)| !runs.is_empty()).map(|((timeline, _), _)| *timeline).collect();
        found.dedup();
        found
    }

    fn of(&self, timeline: u32) -> impl Iterator<Item = (Compression, &Vec<Run>)> {
        let range = (timeline, Compression::None)..=(timeline, Compression::Bzip2);
        self.lines.range(range).map(|((_, compression), runs)| (*compression, runs))
    }

    /// The segments of a timeline as numbers, merged over all compressions.
    pub(super) fn spans(&self, timeline: u32, size: SegmentSize) -> Vec<Span> {
        let mut spans: Vec<Span> = self.of(timeline).flat_map(|(_, runs)| runs).filter_map(|run| span(run, size)).collect();
        spans.sort_unstable_by_key(|span| (span.first, span.last));
        let mut merged: Vec<Span> = Vec::new();
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.first <= last.last.saturating_add(1) => {
                    if span.last > last.last {
                        last.last = span.last;
                        last.last_written = span.last_written;
                    }
                }
                _ => merged.push(span),
            }
        }
        merged
    }

    /// The compressions in which a segment lies there, the best first.
    pub(super) fn compressions(&self, name: SegmentName) -> Vec<Compression> {
        let at = position(name);
        let holds = |runs: &Vec<Run>| {
            let index = runs.partition_point(|run| run.end < at);
            runs.get(index).is_some_and(|run| run.start <= at)
        };
        if self.size.is_some_and(|size| name.number(size).is_none()) {
            return Vec::new();
        }
        self.of(name.timeline).filter(|(_, runs)| holds(runs)).map(|(compression, _)| compression).collect()
    }

    /// The last number up to which segments lie there in exactly the same compressions as this one.
    pub(super) fn same_until(&self, name: SegmentName, size: SegmentSize) -> u64 {
        let Some(number) = name.number(size) else { return 0 };
        let mut until = u64::MAX;
        for (_, runs) in self.of(name.timeline) {
            let from = runs.partition_point(|run| run.end < position(name));
            match runs.get(from..).into_iter().flatten().find_map(|run| span(run, size)) {
                Some(span) if span.first <= number => until = until.min(span.last),
                Some(span) => until = until.min(span.first - 1),
                None => {}
            }
        }
        until
    }

    /// First and last segment of a timeline.
    pub(super) fn ends(&self, timeline: u32) -> Option<(Seen, Seen)> {
        let seen = |at, compression, size, written| Seen { name: name_at(timeline, at), compression, size, written };
        let firsts = self.of(timeline).filter_map(|(compression, runs)| {
            runs.first().map(|run| seen(run.start, compression, run.first_size, run.first_written))
        });
        let lasts = self
            .of(timeline)
            .filter_map(|(compression, runs)| runs.last().map(|run| seen(run.end, compression, run.last_size, run.last_written)));
        Some((firsts.min_by_key(|seen| seen.name)?, lasts.max_by_key(|seen| seen.name)?))
    }

    /// Whether a later segment of the same timeline lies there.
    pub(super) fn any_after(&self, name: SegmentName) -> bool {
        self.ends(name.timeline).is_some_and(|(_, last)| last.name > name)
    }

    /// First segments of all runs but the first of each timeline, newest first: what follows after a hole.
    pub(super) fn after_holes(&self, size: SegmentSize, limit: usize) -> Vec<SegmentName> {
        let mut found = Vec::new();
        for timeline in self.timelines().into_iter().rev() {
            let spans = self.spans(timeline, size);
            let names = spans.iter().skip(1).rev().filter_map(|span| SegmentName::from_number(timeline, span.first, size));
            found.extend(names.take(limit.saturating_sub(found.len())));
        }
        found
    }

    /// Where LastModified ran backwards since the listing began.
    pub(super) fn turns(&self) -> &[(SegmentName, SegmentName)] {
        &self.turns
    }

    /// Whole segments, a segment that exists twice counted once.
    pub(super) fn count(&self) -> u64 {
        let size = self.size.unwrap_or(SegmentSize::DEFAULT);
        self.timelines().into_iter().flat_map(|timeline| self.spans(timeline, size)).map(|span| span.last - span.first + 1).sum()
    }
}

/// Whether `next` comes right after `end` on one timeline.
fn follows(timeline: u32, end: u64, next: u64, size: Option<SegmentSize>) -> bool {
    if next == end + 1 {
        return true;
    }
    size.is_some_and(|size| name_at(timeline, end).next(size).is_some_and(|name| position(name) == next))
}

fn join(into: &mut Run, next: &Run) {
    into.end = next.end;
    into.last_written = next.last_written;
    into.last_size = next.last_size;
}

/// Keeps the last few.
fn note_turn(turns: &mut Vec<(SegmentName, SegmentName)>, before: SegmentName, after: SegmentName) {
    if turns.len() == MAX_TURNS {
        turns.remove(0);
    }
    turns.push((before, after));
}

/// A run as numbers; names that a segment of this size cannot have are left out.
fn span(run: &Run, size: SegmentSize) -> Option<Span> {
    let last_seg = size.per_log() - 1;
    let (log, seg) = (run.start >> SEG_BITS, run.start & u64::from(MAX_SEG - 1));
    let first = if seg > last_seg { (log + 1) * size.per_log() } else { log * size.per_log() + seg };
    let (log, seg) = (run.end >> SEG_BITS, run.end & u64::from(MAX_SEG - 1));
    let last = log * size.per_log() + seg.min(last_seg);
    (first <= last).then_some(Span { first, last, first_written: run.first_written, last_written: run.last_written })
}
