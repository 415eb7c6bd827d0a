//! What is known of a database's numbers over time: sources laid together, put in order, and cut where they do not go on.

use jiff::Timestamp;

use crate::domain::{NoNumber, Series, Subject, metric};
use crate::policy::ground::{Ground, MINUTE};

const PROMETHEUS: &str = "prometheus";
/// Sources of series, the preferred first. Prometheus asks every few seconds and remembers; a scrape of ours happens once a pass.
const SOURCES: [&str; 5] = [PROMETHEUS, "exporter", "kubelet", "sql", "ledger"];
/// Clocks of healthy machines differ by seconds; what lies further ahead than this was not measured yet.
const AHEAD: f64 = MINUTE;
/// No single server writes WAL this fast (bytes per second): such a step is another counter, not work.
const IMPOSSIBLE: f64 = 4.0 * 1_073_741_824.0;

/// A number at a moment: seconds from now, never above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) at: f64,
    pub(super) value: f64,
}

/// How much a counter grew between two moments; `by` is `None` where it was restarted and nobody knows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) by: Option<f64>,
}

/// A metric over time, oldest first, each moment once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Track(Vec<Point>);

impl Track {
    pub(super) fn of(ground: &Ground, subject: &Subject, name: &str) -> Self {
        let chosen = preferred(&ground.all_series(subject, name));
        let mut points: Vec<Point> = chosen
            .map(|series| series.points.iter().filter_map(|(at, value)| point(ground.now, *at, *value)).collect())
            .unwrap_or_default();
        // Prometheus keeps no order for us, and two replicas of it may tell one moment twice.
        points.sort_by(|a, b| a.at.total_cmp(&b.at));
        // A counter of several pods laid together by one source is not gone on with by another's count of one pod.
        let joined = chosen.is_some_and(|series| series.source == PROMETHEUS) && counts_up(name);
        if let Some(point) = ground.sample(subject, name).and_then(|sample| point(ground.now, sample.at, sample.value))
            && !joined
            && points.last().is_none_or(|last| last.at < point.at)
        {
            points.push(point);
        }
        Self::new(points)
    }

    pub(super) fn new(mut points: Vec<Point>) -> Self {
        points.dedup_by(|later, kept| {
            let same = (later.at - kept.at).abs() < 1e-3;
            if same {
                kept.value = later.value;
            }
            same
        });
        Self(points)
    }

    pub(super) fn points(&self) -> &[Point] {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn last(&self) -> Option<f64> {
        self.0.last().map(|point| point.value)
    }

    pub(super) fn span(&self) -> f64 {
        match (self.0.first(), self.0.last()) {
            (Some(first), Some(last)) => last.at - first.at,
            _ => 0.0,
        }
    }

    /// The part from a moment on, and the point before it.
    pub(super) fn since(&self, from: f64) -> Self {
        let begin = self.0.partition_point(|point| point.at < from);
        Self(self.0.get(begin..).unwrap_or_default().to_vec())
    }

    /// The same numbers times a factor.
    pub(super) fn times(&self, factor: f64) -> Self {
        Self(self.0.iter().map(|point| Point { at: point.at, value: point.value * factor }).collect())
    }

    /// The value that stood at a moment: that of the last point not after it.
    pub(super) fn at(&self, moment: f64) -> Option<f64> {
        let after = self.0.partition_point(|point| point.at <= moment);
        self.0.get(after.checked_sub(1)?).map(|point| point.value)
    }

    /// Since when the value has been above `least` without a break; `None` = it is not above it now.
    pub(super) fn above_since(&self, least: f64) -> Option<f64> {
        let run = self.0.iter().rev().take_while(|point| point.value > least).last()?;
        Some(run.at)
    }

    /// The steps of a counter, `size` bytes for each one of it.
    pub(super) fn steps(&self, size: f64) -> Vec<Step> {
        let pairs = self.0.iter().zip(self.0.iter().skip(1));
        pairs
            .map(|(before, after)| {
                let by = (after.value - before.value) * size;
                let seconds = after.at - before.at;
                let by = (by >= 0.0 && by <= IMPOSSIBLE * seconds.max(1.0)).then_some(by);
                Step { from: before.at, to: after.at, by }
            })
            .collect()
    }
}

fn counts_up(name: &str) -> bool {
    metric::metric(name).is_some_and(|row| row.moves == metric::Moves::Up)
}

fn point(now: Timestamp, at: Timestamp, value: f64) -> Option<Point> {
    let at = at.duration_since(now).as_secs_f64();
    (value.is_finite() && value >= 0.0 && at <= AHEAD).then_some(Point { at: at.min(0.0), value })
}

/// By source first; of one source the one that reaches furthest towards now, then the longest.
fn preferred<'a>(all: &[&'a Series]) -> Option<&'a Series> {
    let rank = |series: &Series| SOURCES.iter().position(|source| *source == series.source).unwrap_or(SOURCES.len());
    let newest = |series: &Series| series.points.iter().map(|(at, _)| *at).max();
    all.iter()
        .copied()
        .filter(|series| !series.points.is_empty())
        .min_by_key(|series| (rank(series), std::cmp::Reverse((newest(series), series.points.len()))))
}

/// The numbers that the clock of one database is read from.
pub(super) struct Tracks {
    pub(super) ready: Track,
    pub(super) archived: Track,
    pub(super) wal: Track,
    pub(super) slot: Track,
    pub(super) available: Track,
    pub(super) capacity: Track,
    pub(super) data_available: Track,
    pub(super) data_capacity: Track,
    position: Track,
    generated: Track,
    archived_position: Track,
    /// Bytes of a segment.
    pub(super) segment: f64,
}

impl Tracks {
    pub(super) fn of(ground: &Ground, subject: &Subject, segment: f64) -> Self {
        let track = |name: &str| Track::of(ground, subject, name);
        Self {
            ready: track(metric::WAL_READY),
            archived: track(metric::WAL_ARCHIVED),
            wal: track(metric::WAL_BYTES),
            slot: track(metric::WAL_SLOT_RETAINED),
            available: track(metric::WAL_VOLUME_AVAILABLE),
            capacity: track(metric::WAL_VOLUME_CAPACITY),
            data_available: track(metric::DATA_VOLUME_AVAILABLE),
            data_capacity: track(metric::DATA_VOLUME_CAPACITY),
            position: track(metric::WAL_POSITION),
            generated: track(metric::WAL_GENERATED),
            archived_position: track(metric::WAL_ARCHIVED_POSITION),
            segment,
        }
    }

    pub(super) fn none(&self) -> bool {
        [&self.ready, &self.archived, &self.wal, &self.slot, &self.position, &self.archived_position]
            .iter()
            .all(|track| track.is_empty())
    }

    /// The newest moment that anything is known of.
    pub(super) fn newest(&self) -> Option<f64> {
        let last = |track: &Track| track.0.last().map(|point| point.at);
        [&self.ready, &self.archived, &self.wal, &self.slot, &self.position, &self.available, &self.data_available]
            .into_iter()
            .filter_map(last)
            .max_by(f64::total_cmp)
    }

    /// Bytes that wait for the archiver.
    pub(super) fn backlog(&self) -> Track {
        if !self.ready.is_empty() {
            return self.ready.times(self.segment);
        }
        let behind = |point: &Point| {
            let archived = self.archived_position.at(point.at)?;
            Some(Point { at: point.at, value: (point.value - archived - self.segment).max(0.0) })
        };
        Track::new(self.position.points().iter().filter_map(behind).collect())
    }

    /// WAL that was archived, in bytes: by counting segments, else by position.
    pub(super) fn gone(&self) -> Vec<Step> {
        if self.archived.is_empty() { self.archived_position.steps(1.0) } else { self.archived.steps(self.segment) }
    }

    /// WAL that was made, in bytes of disk: by position, else by the segments that were archived and those that wait, else by
    /// PostgreSQL's own count (which leaves out the empty rest of switched segments). The longest of the first two.
    pub(super) fn made(&self) -> Vec<Step> {
        let segments = Track::new(
            self.ready
                .points()
                .iter()
                .filter_map(|ready| {
                    let archived = self.archived.at(ready.at)?;
                    Some(Point { at: ready.at, value: ready.value + archived })
                })
                .collect(),
        );
        // A tenth of the time more is not worth leaving the exact count for.
        let exact = !self.position.is_empty() && self.position.span() * 1.1 >= segments.span();
        if exact && self.position.points().len() > 1 {
            return self.position.steps(1.0);
        }
        if segments.points().len() > 1 {
            return segments.steps(self.segment);
        }
        self.generated.steps(1.0)
    }

    /// Why what is known begins where it does, when it was cut within `back` seconds.
    pub(super) fn cut_within(&self, back: f64) -> Option<NoNumber> {
        let restarted = |track: &Track| track.steps(1.0).iter().any(|step| step.by.is_none() && step.to >= -back);
        let resized = |track: &Track| {
            let pairs = track.points().iter().zip(track.points().iter().skip(1));
            // A file system's own rounding is far below a hundredth.
            pairs.into_iter().any(|(a, b)| b.at >= -back && (b.value - a.value).abs() > a.value * 0.01)
        };
        if resized(&self.capacity) || (self.capacity.is_empty() && resized(&self.data_capacity)) {
            Some(NoNumber::VolumeResized)
        } else if restarted(&self.archived) || restarted(&self.position) {
            Some(NoNumber::CountersRestarted)
        } else {
            None
        }
    }
}
