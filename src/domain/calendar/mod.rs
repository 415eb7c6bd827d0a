//! When a job of somebody else is due: the text of its schedule, read as its own scheduler reads it.
//!
//! Kubernetes CronJobs and Velero use robfig/cron v3, CNPG's ScheduledBackups robfig/cron v1 with the seconds first. Both step through
//! instants and compare the wall clock: a run whose wall time does not exist on a day is skipped, one whose wall time exists twice
//! happens twice. So the runs are exactly the instants at which the wall clock of the zone matches, and that is what is computed here.
//! <https://github.com/robfig/cron/blob/v1.2.0/parser.go> <https://github.com/robfig/cron/blob/v3.0.1/spec.go>

mod error;
mod every;
mod field;
mod text;
mod wall;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

pub use error::CalendarError;
use wall::Wall;

/// robfig gives up when nothing matches within so many years; so does Kubernetes with it.
const YEARS: i16 = 5;
/// Neighbouring runs that are measured for the longest pause: more than a month of a nightly schedule, so that weekends and the days
/// of a month that is written out are among them.
const MEASURED: usize = 40;

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// Kubernetes `CronJob.spec.schedule`: five fields, a word, `@every`; the zone beside it ([`Calendar::in_zone`]).
    CronJob,
    /// Velero `Schedule.spec.schedule`: five fields, a word, `@every`, `CRON_TZ=Zone` in front.
    Velero,
    /// CNPG `ScheduledBackup.spec.schedule`: six fields, the seconds first; of five the last is taken to be missing. No zone in front.
    Cnpg,
}

impl Dialect {
    /// For people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CronJob => "a Kubernetes CronJob",
            Self::Velero => "a Velero Schedule",
            Self::Cnpg => "a CNPG ScheduledBackup",
        }
    }

    /// Whether `*/2` in a field of days is a restriction (v3) or still a star (v1): with a star both fields of days must match, with two
    /// restrictions one is enough.
    const fn stepped_star_restricts(self) -> bool {
        matches!(self, Self::CronJob | Self::Velero)
    }
}

/// A schedule that was understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Calendar {
    zone: TimeZone,
    due: Due,
}

#[derive(Clone, Debug, PartialEq)]
enum Due {
    /// So long after the last run.
    Every(SignedDuration),
    /// Whenever the wall clock matches.
    At(Wall),
}

impl Calendar {
    /// Reads a text as that scheduler does. Without a zone in the text it is UTC: the zone that the pods of all three run in.
    pub fn parse(dialect: Dialect, written: &str) -> Result<Self, CalendarError> {
        text::parse(dialect, written)
    }

    /// The same in a zone that stands elsewhere: `CronJob.spec.timeZone`.
    pub fn in_zone(self, name: &str) -> Result<Self, CalendarError> {
        Ok(Self { zone: text::zone(name)?, ..self })
    }

    /// The first run after a moment. `None` = none within five years: a 30 February. Runs of `@every` are counted from the last one, so
    /// the moment should be that.
    pub fn next_after(&self, moment: Timestamp) -> Option<Timestamp> {
        match &self.due {
            Due::Every(pause) => whole_second(moment).checked_add(*pause).ok(),
            Due::At(wall) => self.following(wall, moment),
        }
    }

    /// The last run before a moment. `None` = none within five years. For `@every` it is the last moment at which a run must have been.
    pub fn previous_before(&self, moment: Timestamp) -> Option<Timestamp> {
        match &self.due {
            Due::Every(pause) => moment.checked_sub(*pause).ok(),
            Due::At(wall) => self.preceding(wall, moment),
        }
    }

    /// The next runs, at most so many.
    pub fn upcoming(&self, after: Timestamp, most: usize) -> Vec<Timestamp> {
        std::iter::successors(self.next_after(after), |last| self.next_after(*last)).take(most).collect()
    }

    /// How many runs were due after one moment and before another; no more than `most` are counted.
    pub fn runs_between(&self, after: Timestamp, before: Timestamp, most: usize) -> usize {
        self.upcoming(after, most).into_iter().take_while(|run| *run < before).count()
    }

    /// The longest time between two neighbours of the next runs: a schedule of working days pauses over the weekend.
    pub fn longest_pause(&self, from: Timestamp) -> Option<SignedDuration> {
        if let Due::Every(pause) = &self.due {
            return Some(*pause);
        }
        let runs = self.upcoming(from, MEASURED);
        runs.iter().zip(runs.iter().skip(1)).map(|(one, next)| next.duration_since(*one)).max()
    }

    /// Between two changes of the zone's offset the wall clock runs evenly: look there for the first match, and go on behind the next
    /// change when it lies beyond it.
    fn following(&self, wall: &Wall, moment: Timestamp) -> Option<Timestamp> {
        let mut at = whole_second(moment);
        let mut above = self.zone.to_datetime(at);
        let last_year = above.year().saturating_add(YEARS);
        loop {
            let found = wall.after(above).filter(|found| found.year() <= last_year)?;
            let instant = self.zone.to_offset(at).to_timestamp(found).ok()?;
            match self.zone.following(at).next() {
                Some(change) if change.timestamp() <= instant => {
                    at = change.timestamp();
                    above = self.zone.to_datetime(at).checked_sub(SignedDuration::from_secs(1)).ok()?;
                }
                _ => return Some(instant),
            }
        }
    }

    fn preceding(&self, wall: &Wall, moment: Timestamp) -> Option<Timestamp> {
        let second = SignedDuration::from_secs(1);
        let floor = whole_second(moment);
        let mut at = if floor < moment { floor } else { floor.checked_sub(second).ok()? };
        let first_year = self.zone.to_datetime(at).year().saturating_sub(YEARS);
        loop {
            let below = self.zone.to_datetime(at).checked_add(second).ok()?;
            let found = wall.before(below).filter(|found| found.year() >= first_year)?;
            let instant = self.zone.to_offset(at).to_timestamp(found).ok()?;
            match self.zone.preceding(at.checked_add(second).ok()?).next() {
                Some(change) if change.timestamp() > instant => at = change.timestamp().checked_sub(second).ok()?,
                _ => return Some(instant),
            }
        }
    }
}

fn whole_second(moment: Timestamp) -> Timestamp {
    Timestamp::from_second(moment.as_second()).map_or(moment, |second| {
        // `as_second` cuts towards zero: before 1970 that is upwards.
        if second <= moment { second } else { second.checked_sub(SignedDuration::from_secs(1)).unwrap_or(second) }
    })
}
