//! The way of recovery: along a timeline's history from the first segment that a backup needs to the newest one.

use std::collections::HashSet;

use jiff::Timestamp;

use super::catalogue::Catalogue;
use super::history::History;
use super::name::{SegmentName, SegmentSize};
use super::plan::Stretch;
use super::wals::{Span, moment};

/// More holes than anybody reads.
const MAX_HOLES: usize = 1_000;

/// Segments that are missing although later ones of the path are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hole {
    pub(super) timeline: u32,
    /// First and last missing, by number.
    pub(super) first: u64,
    pub(super) last: u64,
    /// The timeline that owns the last one: a hole can lie across a switch.
    pub(super) last_timeline: u32,
    /// When the segment after it was written.
    pub(super) later_written: Option<Timestamp>,
}

impl Hole {
    pub(super) const fn count(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// A path, and how far it is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// The timeline it ends on.
    pub(super) timeline: u32,
    /// The unbroken part.
    pub(super) stretches: Vec<Stretch>,
    /// The last segment of the unbroken part, by number, and when it was written.
    pub(super) end: Option<(u32, u64)>,
    pub(super) end_written: Option<Timestamp>,
    /// All holes, in order; the first one ends the unbroken part.
    pub(super) holes: Vec<Hole>,
}

impl Chain {
    /// Whether recovery gets as far as the segment of this number.
    pub(super) fn reaches(&self, number: u64) -> bool {
        self.end.is_some_and(|(_, end)| end >= number)
    }
}

/// Where to go next from a number on the path.
struct Walk<'a> {
    timeline: u32,
    history: Option<&'a History>,
    size: SegmentSize,
    spans: Vec<(u32, Vec<Span>)>,
}

impl Walk<'_> {
    /// The timeline that owns this number, and the last number it owns.
    fn owner(&self, number: u64) -> (u32, u64) {
        let owner = self.history.map_or(self.timeline, |history| history.owner_of(number, self.size));
        let switch = self.history.and_then(|history| history.left(owner)).map(|switch| self.size.number_of(switch));
        match switch {
            Some(switch) if owner != self.timeline => (owner, switch.saturating_sub(1).max(number)),
            _ => (owner, u64::MAX),
        }
    }

    fn spans(&self, timeline: u32) -> &[Span] {
        self.spans.iter().find(|(of, _)| *of == timeline).map_or(&[], |(_, spans)| spans.as_slice())
    }

    /// The first span of the timeline that ends at or after this number.
    fn span_from(&self, timeline: u32, number: u64) -> Option<Span> {
        let spans = self.spans(timeline);
        spans.get(spans.partition_point(|span| span.last < number)).copied()
    }
}

impl Catalogue {
    /// Follows the path that ends on `timeline`, from the segment of this number.
    pub(super) fn follow(&self, timeline: u32, from: u64, size: SegmentSize) -> Chain {
        let history = self.history(timeline);
        let mut owners: Vec<u32> =
            history.map(|history| history.entries.iter().map(|entry| entry.timeline).collect()).unwrap_or_default();
        owners.push(timeline);
        let spans = owners.into_iter().map(|owner| (owner, self.wals.spans(owner, size))).collect();
        let walk = Walk { timeline, history, size, spans };
        let mut chain = Chain { timeline, stretches: Vec::new(), end: None, end_written: None, holes: Vec::new() };
        let mut number = from;
        let mut missing_from: Option<(u32, u64)> = None;
        loop {
            let (owner, last_owned) = walk.owner(number);
            let Some(span) = walk.span_from(owner, number).filter(|span| span.first <= last_owned) else {
                missing_from = missing_from.or(Some((owner, number)));
                if owner == timeline {
                    break; // nothing follows: not a hole, the end
                }
                number = last_owned + 1;
                continue;
            };
            if span.first > number {
                missing_from = missing_from.or(Some((owner, number)));
            }
            let first = span.first.max(number);
            if let Some((lost_on, lost)) = missing_from.take() {
                let later_written = if first == span.first { moment(span.first_written) } else { None };
                let last = first - 1;
                chain.holes.push(Hole { timeline: lost_on, first: lost, last, last_timeline: walk.owner(last).0, later_written });
                if chain.holes.len() >= MAX_HOLES {
                    break;
                }
            }
            let last = span.last.min(last_owned);
            if chain.holes.is_empty() {
                chain.extend(owner, first, last, &span, size);
            }
            let Some(next) = last.checked_add(1) else { break };
            number = next;
        }
        chain
    }

    /// Whether recovery from a backup on `from`, consistent at `lsn`, can go to `timeline`.
    pub(super) fn reachable(&self, from: u32, lsn: u64, timeline: u32) -> bool {
        timeline == from || self.history(timeline).and_then(|history| history.left(from)).is_some_and(|switch| switch.0 >= lsn)
    }

    /// Names of a hole that lie there as something that does not count: empty objects and partials.
    pub(super) fn odd_names(&self) -> HashSet<SegmentName> {
        self.empty_segments.iter().chain(&self.partials).map(|odd| odd.name()).collect()
    }
}

impl Chain {
    fn extend(&mut self, timeline: u32, first: u64, last: u64, span: &Span, size: SegmentSize) {
        let name = |number| SegmentName::from_number(timeline, number, size);
        let (Some(first_name), Some(last_name)) = (name(first), name(last)) else { return };
        self.stretches.push(Stretch { timeline, first: first_name, last: last_name });
        self.end = Some((timeline, last));
        // Inside a span the exact time is not kept; its first one is early, and early is safe for "covered until".
        self.end_written = moment(if last == span.last { span.last_written } else { span.first_written });
    }
}
