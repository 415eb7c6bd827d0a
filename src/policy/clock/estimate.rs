//! Futures from the past: how WAL was made before says, with its range, how it will be made from now on.
//!
//! With more than a day of history each earlier day is a future: the same hours, the same nightly batch. How the present run differs
//! from those hours is believed for as long again as it has lasted. With less, the rates of windows of what is known are the futures,
//! and the range is widened by how far ahead is looked. So a burst or a vacuum widens the range, and does not move its middle.

use super::tracks::Step;
use crate::domain::Within;
use crate::policy::ground::{DAY, HOUR};

/// Further ahead nobody plans by a clock.
pub(super) const HORIZON: f64 = 60.0 * DAY;
/// History that holds at least one whole day and the hours after it, so that days can be laid beside the present.
const DAYS_FROM: f64 = 1.5 * DAY;
/// Bins that history is laid into: two weeks at ten minutes.
const BINS: f64 = 2_016.0;
/// What is known must be at least this part of what is said: an hour of history for a day ahead.
const SHARE: f64 = 1.0 / 24.0;
/// Never a number from fewer points; two make a line of anything.
pub(super) const LEAST_POINTS: usize = 5;
/// By so much the hours of an earlier day are moved for the range.
const SHIFTS: [f64; 4] = [-2.0 * HOUR, -HOUR, HOUR, 2.0 * HOUR];
/// While the rhythm of the day is not known, a rate may turn out four times as high or low; it matters as far ahead as a working day.
const DAY_UNKNOWN: (f64, f64) = (3.0, 8.0 * HOUR);
/// While the rhythm of the week is not known: weekends are quiet, or busy.
const WEEK_UNKNOWN: (f64, f64) = (1.5, 12.0 * HOUR);
/// How much a run may differ from the same hours of earlier days.
const SCALE: (f64, f64) = (0.1, 10.0);
/// What the best estimate is off by: the next segment, the file system's own blocks.
const MARGIN: f64 = 0.07;

/// WAL made over time, in bins of one width, the last of which ends now.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flow {
    width: f64,
    /// Bytes per second, oldest first.
    rates: Vec<f64>,
    /// Points that were seen.
    pub(super) points: usize,
    /// Seconds from the first to the last of them.
    pub(super) span: f64,
    /// The moment of the last one.
    end: f64,
}

impl Flow {
    /// `None` when nothing is known that could be laid out.
    pub(super) fn of(steps: &[Step]) -> Option<Self> {
        let known: Vec<&Step> = steps.iter().filter(|step| step.by.is_some() && step.to > step.from).collect();
        let (first, last) = (*known.first()?, *known.last()?);
        let span = last.to - first.from;
        let mut gaps: Vec<f64> = known.iter().map(|step| step.to - step.from).collect();
        gaps.sort_by(f64::total_cmp);
        let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(span);
        let width = usual.max(span / BINS);
        let count = index((span / width).ceil()).max(1);
        let mut bytes = vec![0.0; count];
        let mut covered = vec![0.0; count];
        let begin = last.to - width * count as f64;
        for step in known {
            let rate = step.by.unwrap_or_default() / (step.to - step.from);
            let from = index(((step.from - begin) / width).floor());
            for bin in from..count {
                let (left, right) = (begin + width * bin as f64, begin + width * (bin + 1) as f64);
                let inside = right.min(step.to) - left.max(step.from);
                if inside <= 0.0 && left >= step.to {
                    break;
                }
                if let (Some(bytes), Some(covered)) = (bytes.get_mut(bin), covered.get_mut(bin)) {
                    *bytes += rate * inside.max(0.0);
                    *covered += inside.max(0.0);
                }
            }
        }
        let (all, time): (f64, f64) = (bytes.iter().sum(), covered.iter().sum());
        let mean = if time > 0.0 { all / time } else { 0.0 };
        // Where nothing is known the usual is taken.
        let rates =
            bytes.iter().zip(&covered).map(|(bytes, time)| if *time > width / 10.0 { bytes / time } else { mean }).collect();
        Some(Self { width, rates, points: steps.len() + 1, span, end: last.to })
    }

    /// Mean rate from a moment until another, as far as known.
    pub(super) fn mean(&self, from: f64, to: f64) -> f64 {
        let begin = self.end - self.width * self.rates.len() as f64;
        let last = self.rates.len().saturating_sub(1);
        let first = index(((from - begin) / self.width).round()).min(last);
        let after = index(((to - begin) / self.width).round()).clamp(first + 1, last + 1);
        let part = self.rates.get(first..after).unwrap_or_default();
        part.iter().sum::<f64>() / part.len().max(1) as f64
    }

    fn at(&self, moment: f64) -> f64 {
        let begin = self.end - self.width * self.rates.len() as f64;
        let bin = index(((moment - begin) / self.width).floor()).min(self.rates.len().saturating_sub(1));
        self.rates.get(bin).copied().unwrap_or_default()
    }

    /// The futures that the past shows, when the present run began `run` seconds ago.
    pub(super) fn futures(&self, run: f64) -> Futures<'_> {
        // Sparse history has bins that are wider than a day.
        let run = run.min(DAY).max(self.width).min(self.span);
        let recent = self.mean(-run, 0.0);
        if self.span < DAYS_FROM {
            return Futures { likely: self.windows(recent), edges: Vec::new(), days: 0, span: self.span };
        }
        let days = index((self.span / DAY).floor()).clamp(1, 14);
        let (mut likely, mut edges) = (Vec::new(), Vec::new());
        for back in 1..=days {
            let back = back as f64 * DAY;
            let same_hours = self.mean(-back - run, -back);
            let scale = if same_hours > 0.0 { (recent / same_hours).clamp(SCALE.0, SCALE.1) } else { SCALE.1 };
            let future = |scale, lasts| Future { flow: Some(self), back, scale, lasts, rate: recent };
            likely.push(future(scale, run));
            edges.push(future(1.0, 0.0));
            edges.push(future(scale, HORIZON));
            // What does not keep to the clock of the day may come an hour or two sooner or later.
            let shifted = SHIFTS.iter().map(|by| (back + by).min(self.span)).filter(|back| *back >= self.width);
            edges.extend(shifted.map(|back| Future { flow: Some(self), back, scale: 1.0, lasts: 0.0, rate: recent }));
        }
        Futures { likely, edges, days, span: self.span }
    }

    /// Rates of windows of a quarter of what is known, and of the present run.
    fn windows(&self, recent: f64) -> Vec<Future<'_>> {
        const OF_SPAN: f64 = 0.25;
        const STEPS: usize = 12;
        let wide = self.span * OF_SPAN;
        let first = self.end - self.span;
        let rate = |number: usize| {
            let from = first + (self.span - wide) * number as f64 / STEPS as f64;
            self.mean(from, from + wide)
        };
        let constant = |rate| Future { flow: None, back: 0.0, scale: 1.0, lasts: 0.0, rate };
        (0..=STEPS).map(rate).chain([recent]).map(constant).collect()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of bins; below zero is none")]
fn index(value: f64) -> usize {
    value.max(0.0) as usize
}

/// One way that it may go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Future<'a> {
    /// An earlier time that repeats itself; `None` = one rate.
    flow: Option<&'a Flow>,
    /// It began so many seconds ago.
    back: f64,
    /// For the first `lasts` seconds it is this many times as much.
    scale: f64,
    lasts: f64,
    rate: f64,
}

/// What became of a volume in one future.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    /// Full after so many seconds.
    Full(f64),
    /// Nothing is held any more after so many seconds.
    Drained(f64),
    /// Neither, as far as one looks.
    Neither,
}

/// What is held, and how it changes besides by WAL that is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Volume {
    /// Bytes held.
    pub(super) held: f64,
    /// Bytes that may still be added; infinite when not known.
    pub(super) free: f64,
    /// Bytes per second that are archived while something waits.
    pub(super) gone: f64,
    /// Bytes per second that others write to the same volume.
    pub(super) others: f64,
}

impl Future<'_> {
    fn rate_at(&self, ahead: f64) -> f64 {
        let Some(flow) = self.flow else { return self.rate };
        let scale = if ahead < self.lasts { self.scale } else { 1.0 };
        flow.at(-self.back + ahead.rem_euclid(self.back)) * scale
    }

    /// Lets time pass until the volume is full or nothing is held.
    pub(super) fn play(&self, volume: Volume) -> End {
        let width = self.flow.map_or(HORIZON, |flow| flow.width);
        let (mut held, mut free, mut ahead) = (volume.held, volume.free, 0.0);
        while ahead < HORIZON {
            let net = self.rate_at(ahead + width.min(1.0) / 2.0) - volume.gone;
            let eaten = net + volume.others;
            if eaten > 0.0 && free <= eaten * width {
                return End::Full(ahead + free / eaten);
            }
            if net < 0.0 && held <= -net * width {
                return End::Drained(ahead + held / -net);
            }
            held += net * width;
            free -= eaten * width;
            ahead += width;
        }
        End::Neither
    }
}

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct Futures<'a> {
    /// Those that the middle is taken from.
    likely: Vec<Future<'a>>,
    /// Those that only widen the range.
    edges: Vec<Future<'a>>,
    /// How many whole days were laid beside the present.
    days: usize,
    /// Seconds of history.
    span: f64,
}

/// What the futures come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outlook {
    /// When the volume is full, if half of the likely futures fill it.
    pub(super) full: Option<Within>,
    /// When nothing is held any more, if half of the likely futures come to that.
    pub(super) drained: Option<Within>,
}

impl Futures<'_> {
    /// `slack` is what may be added beyond the free bytes before the volume is full: segments that were kept to be used again.
    pub(super) fn play(&self, volume: Volume, slack: f64) -> Outlook {
        let with = |free: f64| Volume { free, ..volume };
        let ends = |futures: &[Future], free: f64| futures.iter().map(|future| future.play(with(free))).collect::<Vec<_>>();
        let likely = ends(&self.likely, volume.free + slack / 2.0);
        let wide: Vec<End> = [&self.likely, &self.edges]
            .into_iter()
            .flat_map(|futures| ends(futures, volume.free).into_iter().chain(ends(futures, volume.free + slack)))
            .collect();
        let full = |end: &End| if let End::Full(seconds) = end { Some(*seconds) } else { None };
        let drained = |end: &End| if let End::Drained(seconds) = end { Some(*seconds) } else { None };
        Outlook { full: self.range(&likely, &wide, full), drained: self.range(&likely, &wide, drained) }
    }

    fn range(&self, likely: &[End], wide: &[End], of: impl Fn(&End) -> Option<f64>) -> Option<Within> {
        let mut seconds: Vec<f64> = likely.iter().map(|end| of(end).unwrap_or(f64::INFINITY)).collect();
        seconds.sort_by(f64::total_cmp);
        let middle = *seconds.get(seconds.len().checked_sub(1)? / 2)?;
        if !middle.is_finite() {
            return None;
        }
        let all = || likely.iter().chain(wide).filter_map(&of);
        let low = all().fold(middle, f64::min);
        // A future in which it never comes to that says "later than all others": four times the middle stands for it.
        let never = wide.iter().any(|end| of(end).is_none());
        let high = all().fold(middle, f64::max).max(if never { 4.0 * middle } else { 0.0 });
        let widen = (1.0 + MARGIN) * (1.0 + self.blindness(middle));
        Some(Within { low: low / widen, middle, high: high.min(8.0 * middle) * widen })
    }
}

impl Futures<'_> {
    /// By how much the range must be wider because of rhythms that nobody has seen yet; 0 = the week is known.
    fn blindness(&self, ahead: f64) -> f64 {
        let matters = |(much, from): (f64, f64)| much * (ahead / from).min(1.0);
        match self.days {
            0 => {
                let short = (ahead / self.span.max(1.0)).min(6.0) / 2.0;
                let rhythm = matters(DAY_UNKNOWN) * (1.0 - self.span / DAYS_FROM);
                short.max(rhythm).max(matters(WEEK_UNKNOWN))
            }
            1..7 => matters(WEEK_UNKNOWN),
            _ => 0.0,
        }
    }
}

/// Why nothing is said although futures come to an end: too few points, or too little history for so far ahead.
pub(super) fn too_little(flow: &Flow, middle: f64) -> Option<crate::domain::NoNumber> {
    use crate::domain::NoNumber;
    if flow.points <= 2 {
        Some(NoNumber::TwoSamples)
    } else if flow.points < LEAST_POINTS || flow.span < middle * SHARE {
        Some(NoNumber::HistoryTooShort)
    } else {
        None
    }
}

/// The median of the slopes between all pairs of points (Theil and Sen): up to 29 of 100 wild points do not move it.
/// <https://en.wikipedia.org/wiki/Theil%E2%80%93Sen_estimator>
pub(super) fn slope(points: &[super::tracks::Point]) -> Option<f64> {
    // Pairs grow with the square: a hundred points are enough to be robust.
    const MOST: usize = 100;
    let every = points.len().div_ceil(MOST).max(1);
    let some: Vec<_> = points.iter().rev().step_by(every).collect();
    let mut slopes = Vec::with_capacity(some.len() * some.len() / 2);
    for (index, later) in some.iter().enumerate() {
        for earlier in some.iter().skip(index + 1) {
            if later.at > earlier.at {
                slopes.push((later.value - earlier.value) / (later.at - earlier.at));
            }
        }
    }
    slopes.sort_by(f64::total_cmp);
    slopes.get(slopes.len() / 2).copied()
}
