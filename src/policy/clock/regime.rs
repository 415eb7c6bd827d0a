//! Why WAL stays: archiving fails, archiving is slower than WAL is made, a slot holds it, an outage is being drained; or it does not.
//!
//! All times are counted in `archive_timeout`, the beat at which a healthy archiver has something to do, so that the same rules hold
//! for a database that switches segments every five minutes and for one that does so every five seconds.

use super::drain;
use super::estimate::{Flow, HORIZON, Outlook, Volume, slope, too_little};
use super::tracks::{Point, Step, Track, Tracks};
use super::volume::Room;
use crate::domain::{Clock, CnpgFact, Held, NoNumber, Outage, Subject};
use crate::policy::ground::{DAY, Ground, plus};

/// A segment and a `.history` or `.backup` file may wait at any moment; more than this does not wait by chance.
pub(super) const FEW: f64 = 3.0;
/// One file may wait for ever: that of an idle database that is not switched.
const WAITS: f64 = 1.0;
/// Beats that a backlog must grow before it is called one: two hours at the default of five minutes. A nightly batch is over by then,
/// or is known from the nights before.
const LAG_BEATS: f64 = 24.0;
/// A backlog of fewer files is not told: a hiccup of the link.
const LAG_FILES: f64 = 16.0;
/// What drains within so many beats (a day at the default) by what the past shows is work, not trouble.
const DRAINS_BEATS: f64 = 288.0;

/// Numbers older than so many beats (two hours) say nothing of now.
const OLD_BEATS: f64 = 24.0;

/// What regimes are read from.
pub(super) struct Ask<'a> {
    pub(super) ground: &'a Ground<'a>,
    pub(super) subject: &'a Subject,
    pub(super) cluster: Option<&'a CnpgFact>,
    pub(super) tracks: &'a Tracks,
    pub(super) room: Room,
    /// `archive_timeout`, seconds.
    pub(super) beat: f64,
    /// How long a segment may be on its way.
    pub(super) grace: f64,
}

/// A trailing time in which nothing was archived although something waited.
fn stalled_since(gone: &[Step], backlog: &Track, segment: f64) -> Option<f64> {
    let waits = backlog.above_since(WAITS * segment)?;
    let moved = gone.iter().rev().find(|step| step.by.is_none_or(|by| by > 0.0)).map(|step| step.to);
    let known = gone.first().map(|step| step.from);
    Some(waits.max(moved.or(known)?))
}

impl Ask<'_> {
    pub(super) fn clock(&self) -> Clock {
        let tracks = self.tracks;
        let backlog = tracks.backlog();
        let gone = tracks.gone();
        let made = Flow::of(&tracks.made());
        let stalled = stalled_since(&gone, &backlog, tracks.segment).filter(|since| -since >= self.grace);
        let seen = Seen { backlog: &backlog, gone: &gone, made: made.as_ref() };
        // Numbers that stopped coming say nothing of now, in either direction.
        if tracks.newest().is_some_and(|newest| newest < -OLD_BEATS * self.beat) {
            return Clock { no_number: Some(NoNumber::NoMetrics), ..self.base(Held::NotKnown, &seen, 0.0) };
        }
        if let Some(since) = stalled.or_else(|| self.told_by_condition(&seen)) {
            return self.failing(&seen, since);
        }
        let outage = drain::outage(&gone, &backlog, tracks.segment, self.grace);
        if let Some(clock) = self.slot(&seen) {
            return clock;
        }
        if let Some(clock) = self.lagging(&seen, outage) {
            return clock;
        }
        if let Some((from, until)) = outage
            && let Some(clock) = self.draining(&seen, from, until)
        {
            return clock;
        }
        let known = !tracks.none();
        let held = if known { Held::Not } else { Held::NotKnown };
        let no_number = if known { NoNumber::Flat } else { NoNumber::NoMetrics };
        Clock { no_number: Some(no_number), ..self.base(held, &seen, 0.0) }
    }

    /// CNPG's word that archiving fails. It has no heartbeat, so it is not believed against numbers that say otherwise: segments that
    /// were archived since, or a backlog that is gone or going.
    fn told_by_condition(&self, seen: &Seen) -> Option<f64> {
        let condition = self.cluster?.condition("ContinuousArchiving").filter(|condition| condition.is_false())?;
        let since = -self.ground.age(condition.since?);
        if -since < self.grace {
            return None;
        }
        let late = seen.gone.iter().rev().take_while(|step| step.to >= -self.grace.max(2.0 * self.beat));
        let archived = late.filter_map(|step| step.by).any(|by| by > 0.0);
        let points = seen.backlog.points();
        let nothing_waits = points.last().is_some_and(|point| point.value < 2.0 * self.tracks.segment);
        let shrinks = points.len() > 1 && slope(recent(points)).is_some_and(|slope| slope < 0.0);
        (!archived && !nothing_waits && !shrinks).then_some(since)
    }

    /// What every clock says of the numbers.
    fn base(&self, held: Held, seen: &Seen, since: f64) -> Clock {
        let run = (-since).min(DAY);
        let points = seen.made.map_or_else(|| seen.backlog.points().len(), |made| made.points);
        Clock {
            held,
            since: (since < 0.0).then(|| plus(self.ground.now, since)),
            volume: self.room.volume,
            free_bytes: self.room.free,
            capacity_bytes: self.room.capacity,
            held_bytes: seen.backlog.points().last().map(|point| point.value),
            ready: self.tracks.ready.last(),
            made_per_second: seen.made.map(|made| made.mean(-run.max(self.grace), 0.0)),
            gone_per_second: rate(seen.gone, -run.max(self.grace)),
            lag_seconds: seen.backlog.points().last().and_then(|point| age_of(&self.tracks.made(), point.value)),
            samples: points,
            history_seconds: seen.made.map_or_else(|| seen.backlog.span(), |made| made.span),
            ..Clock::default()
        }
    }

    fn failing(&self, seen: &Seen, since: f64) -> Clock {
        let mut clock = self.base(Held::ArchivingFails, seen, since);
        clock.gone_per_second = Some(0.0);
        if let Some(made) = seen.made {
            let held = clock.held_bytes.unwrap_or_default();
            let volume = Volume { held, free: self.room.free_or_endless(), gone: 0.0, others: self.room.others };
            self.number(&mut clock, made, made.futures(-since).play(volume, self.room.slack(held)), -since);
            return clock;
        }
        // Nobody tells how much is made: the folder itself, as it grew since the outage began, is the next best.
        let folder = self.tracks.wal.since(since);
        let Some(flow) = Flow::of(&folder.steps(1.0)) else {
            clock.no_number = Some(if folder.points().len() > 2 { NoNumber::Shrinking } else { NoNumber::TwoSamples });
            return clock;
        };
        clock.made_per_second = Some(flow.mean(-flow.span, 0.0));
        clock.samples = flow.points;
        clock.history_seconds = flow.span;
        let volume = Volume { held: 0.0, free: self.room.free_or_endless(), gone: 0.0, others: self.room.others };
        self.number(&mut clock, &flow, flow.futures(-since).play(volume, 0.0), -since);
        clock
    }

    /// The number, or why there is none.
    fn number(&self, clock: &mut Clock, flow: &Flow, outlook: Outlook, run: f64) {
        if clock.free_bytes.is_none() {
            clock.no_number = Some(if flow.points <= 2 { NoNumber::TwoSamples } else { NoNumber::VolumeNotSeen });
            return;
        }
        match outlook.full {
            None => {
                let flat = if outlook.drained.is_some() { NoNumber::Drains } else { NoNumber::Flat };
                clock.no_number = Some(too_little(flow, 0.0).unwrap_or(flat));
            }
            Some(full) if full.middle >= HORIZON => clock.no_number = Some(NoNumber::Flat),
            Some(full) => match too_little(flow, full.middle) {
                Some(too_little) => {
                    let cut = self.tracks.cut_within(run.max(self.grace));
                    clock.no_number =
                        Some(if too_little == NoNumber::TwoSamples { too_little } else { cut.unwrap_or(too_little) });
                }
                None => clock.full_in = Some(full),
            },
        }
    }

    /// A backlog that grows although segments are archived.
    fn lagging(&self, seen: &Seen, outage: Option<(f64, f64)>) -> Option<Clock> {
        let points = seen.backlog.points();
        let began = seen.backlog.above_since(FEW * self.tracks.segment)?;
        // What an outage left behind is not the fault of a slow archiver: only what came since counts.
        let since = outage.map_or(began, |(_, until)| began.max(until));
        let part = seen.backlog.since(since);
        let growth = part.points().last()?.value - part.points().first()?.value;
        if -since < LAG_BEATS * self.beat || growth < LAG_FILES * self.tracks.segment || !grows(part.points()) {
            return None;
        }
        let mut clock = self.base(Held::ArchivingIsSlower, seen, since);
        let gone = rate(seen.gone, since.max(-DAY)).unwrap_or_default();
        clock.gone_per_second = Some(gone);
        let held = points.last()?.value;
        let made = seen.made?;
        let outlook = self.outlook(made, seen.gone, since, held, gone);
        if outlook.full.is_none() && outlook.drained.is_some_and(|within| within.middle < DRAINS_BEATS * self.beat) {
            return None;
        }
        self.number(&mut clock, made, outlook, -since);
        Some(clock)
    }

    /// The futures at the archiver's usual pace, and at its slowest and fastest of late for the range.
    fn outlook(&self, made: &Flow, steps: &[Step], since: f64, held: f64, gone: f64) -> Outlook {
        let slack = self.room.slack(held);
        let volume = |gone| Volume { held, free: self.room.free_or_endless(), gone, others: self.room.others };
        let futures = made.futures(-since);
        let mut outlook = futures.play(volume(gone), slack);
        for pace in paces(steps, since.max(-DAY)) {
            let other = futures.play(volume(pace), slack);
            for (whole, other) in [(&mut outlook.full, other.full), (&mut outlook.drained, other.drained)] {
                if let (Some(whole), Some(other)) = (whole.as_mut(), other) {
                    whole.low = whole.low.min(other.low);
                    whole.high = whole.high.max(other.high);
                }
            }
        }
        outlook
    }

    /// A slot that holds more than the archiver does, and more and more of it.
    fn slot(&self, seen: &Seen) -> Option<Clock> {
        let least = LAG_FILES * self.tracks.segment;
        let retained = &self.tracks.slot;
        let now = retained.last()?;
        let waits = seen.backlog.points().last().map_or(0.0, |point| point.value);
        let since = retained.above_since(least)?;
        let part = retained.since(since);
        if now < waits + least || -since < LAG_BEATS * self.beat || !grows(part.points()) {
            return None;
        }
        let made = seen.made.cloned().or_else(|| Flow::of(&retained.steps(1.0)))?;
        let mut clock = self.base(Held::Slot, seen, since);
        clock.held_bytes = Some(now);
        // What is made and does not add to what the slot holds was let go by its reader.
        let pace = slope(part.points()).unwrap_or_default();
        let gone = (made.mean(since.max(-DAY), 0.0) - pace).max(0.0);
        clock.gone_per_second = Some(gone);
        clock.lag_seconds = age_of(&self.tracks.made(), now);
        let volume = Volume { held: now, free: self.room.free_or_endless(), gone, others: self.room.others };
        let outlook = made.futures(-since).play(volume, self.room.slack(now));
        if outlook.full.is_none() && outlook.drained.is_some_and(|within| within.middle < DRAINS_BEATS * self.beat) {
            return None;
        }
        let limit = self.cluster.and_then(|cluster| super::volume::slot_limit(&cluster.parameters));
        if let (Some(limit), Some(free)) = (limit, self.room.free)
            && limit - now < free
        {
            clock.no_number = Some(NoNumber::Bounded);
        } else {
            self.number(&mut clock, &made, outlook, -since);
        }
        Some(clock)
    }

    /// After an outage: what is left of it, and when it will be gone.
    fn draining(&self, seen: &Seen, from: f64, until: f64) -> Option<Clock> {
        let held = seen.backlog.points().last()?.value;
        let outage = Outage { from: plus(self.ground.now, from), until: Some(plus(self.ground.now, until)) };
        if held <= FEW * self.tracks.segment && drain::closed(self.ground, self.subject, outage) {
            return None;
        }
        let mut clock = self.base(Held::Draining, seen, until);
        clock.outage = Some(outage);
        clock.no_number = Some(NoNumber::Shrinking);
        let gone = rate(seen.gone, until.max(-DAY)).unwrap_or_default();
        clock.gone_per_second = Some(gone);
        if held > FEW * self.tracks.segment
            && let Some(made) = seen.made
        {
            clock.drained_in = self.outlook(made, seen.gone, until, held, gone).drained;
        }
        Some(clock)
    }
}

struct Seen<'a> {
    backlog: &'a Track,
    gone: &'a [Step],
    made: Option<&'a Flow>,
}

/// The second half of the points: what goes on now.
fn recent(points: &[Point]) -> &[Point] {
    if points.len() < 4 { points } else { points.get(points.len() / 2..).unwrap_or_default() }
}

/// Grows as a whole, and still does in its second half.
fn grows(points: &[Point]) -> bool {
    let up = |points: &[Point]| slope(points).is_some_and(|slope| slope > 0.0);
    up(points) && up(recent(points))
}

/// Bytes per second from a moment until now.
fn rate(steps: &[Step], from: f64) -> Option<f64> {
    let inside: Vec<&Step> =
        steps.iter().filter(|step| step.by.is_some() && step.to > from && step.from >= from.min(step.to)).collect();
    let late: Vec<&Step> = if inside.is_empty() { steps.iter().rev().take(1).collect() } else { inside };
    let seconds: f64 = late.iter().map(|step| step.to - step.from).sum();
    (seconds > 0.0).then(|| late.iter().filter_map(|step| step.by).sum::<f64>() / seconds)
}

/// The slowest and the fastest quarter of a time.
fn paces(steps: &[Step], from: f64) -> Vec<f64> {
    const PARTS: usize = 4;
    let mut paces: Vec<f64> = (0..PARTS)
        .filter_map(|part| {
            let (left, right) = (from * (1.0 - part as f64 / PARTS as f64), from * (1.0 - (part + 1) as f64 / PARTS as f64));
            let inside: Vec<&Step> =
                steps.iter().filter(|step| step.by.is_some() && step.to > left && step.to <= right).collect();
            let seconds: f64 = inside.iter().map(|step| step.to - step.from).sum();
            (seconds > 0.0).then(|| inside.iter().filter_map(|step| step.by).sum::<f64>() / seconds)
        })
        .collect();
    paces.sort_by(f64::total_cmp);
    match (paces.first(), paces.last()) {
        (Some(slow), Some(fast)) => vec![*slow, *fast],
        _ => Vec::new(),
    }
}

/// How long ago the WAL was made that lies `held` bytes back.
fn age_of(made: &[Step], held: f64) -> Option<f64> {
    let mut left = held;
    for step in made.iter().rev() {
        let by = step.by.unwrap_or_default();
        if by > 0.0 && by >= left {
            let part = left / by;
            return Some(-(step.to - (step.to - step.from) * part));
        }
        left -= by;
    }
    // Older than what is known.
    made.first().map(|step| -step.from)
}
