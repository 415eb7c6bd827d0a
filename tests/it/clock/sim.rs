//! A database as a simulation: WAL that is made, segments that are archived or not, a volume that fills. Steps of half a minute, and
//! every number as its exporter would tell it.

use std::collections::BTreeMap;

use dalsegno::domain::{
    ArchiveFact, Clock, Expected, Fact, FactKind, Finding, Observation, Policy, ProviderId, Sample, Series, Subject,
};
use dalsegno::policy::{clocks, judge};
use jiff::{SignedDuration, Timestamp};

pub(crate) use crate::policy::scene::{DAY, HOUR, db};

pub(crate) const MIB: f64 = 1_048_576.0;
pub(crate) const GIB: f64 = 1_024.0 * MIB;
pub(crate) const SEGMENT: f64 = 16.0 * MIB;
const STEP: f64 = 30.0;
/// How often numbers are taken.
const SAMPLED: f64 = 300.0;

/// A Monday, midnight.
pub(crate) fn start() -> Timestamp {
    "2026-12-07T00:00:00Z".parse().unwrap()
}

pub(crate) fn moment(seconds: f64) -> Timestamp {
    start().checked_add(SignedDuration::from_secs_f64(seconds)).unwrap()
}

/// Numbers that look random and are the same each time.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    /// Between 0 and 1.
    pub(crate) fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// How WAL is made, bytes per second, by seconds since the start.
pub(crate) type Load = fn(f64, &mut Dice) -> f64;

/// The hour of the day.
pub(crate) fn hour(seconds: f64) -> f64 {
    seconds.rem_euclid(DAY) / HOUR
}

/// Saturday or Sunday.
pub(crate) fn weekend(seconds: f64) -> bool {
    (seconds / DAY).rem_euclid(7.0) >= 5.0
}

/// Nobody does anything, except that autovacuum writes a page now and then.
pub(crate) fn idle(_: f64, dice: &mut Dice) -> f64 {
    if dice.roll() < 0.002 { 8_192.0 / STEP } else { 0.0 }
}

/// People at work: quiet nights, half at weekends, noise.
pub(crate) fn office(seconds: f64, dice: &mut Dice) -> f64 {
    let day = (std::f64::consts::PI * ((hour(seconds) - 6.0) / 14.0)).sin().max(0.0);
    let all = 0.03 + day * if weekend(seconds) { 0.4 } else { 1.0 };
    all * 0.6 * MIB * (0.5 + dice.roll())
}

/// The office, with bursts of some minutes at any time.
pub(crate) fn bursts(seconds: f64, dice: &mut Dice) -> f64 {
    let burst = if (seconds / 900.0).floor() as u64 % 37 == 11 { 15.0 * MIB } else { 0.0 };
    office(seconds, dice) + burst
}

/// The office, and a vacuum from two to five every Sunday.
pub(crate) fn vacuum_nights(seconds: f64, dice: &mut Dice) -> f64 {
    let vacuum = (seconds / DAY).rem_euclid(7.0) >= 6.0 && (2.0..5.0).contains(&hour(seconds));
    office(seconds, dice) + if vacuum { 9.0 * MIB } else { 0.0 }
}

/// The office, and a load from one to two every night that the archiver needs an hour more for.
pub(crate) fn nightly_batch(seconds: f64, dice: &mut Dice) -> f64 {
    office(seconds, dice) + if (1.0..2.0).contains(&hour(seconds)) { 14.0 * MIB } else { 0.0 }
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) now: f64,
    load: Load,
    dice: Dice,
    /// The volume of WAL.
    pub(crate) capacity: f64,
    /// What pg_wal keeps in any case: segments to be used again.
    pool: f64,
    position: f64,
    archived: f64,
    pub(crate) archived_count: f64,
    pub(crate) failed_count: f64,
    /// Bytes per second that the archiver moves; 0 = it fails.
    pub(crate) link: f64,
    /// Where a slot stands; `None` = there is none, or its reader keeps up.
    pub(crate) slot: Option<f64>,
    switched: f64,
    pub(crate) seen: BTreeMap<&'static str, Vec<(f64, f64)>>,
    /// Numbers are not taken.
    pub(crate) blind: bool,
}

impl World {
    pub(crate) fn new(seed: u64, load: Load, capacity: f64) -> Self {
        Self {
            now: 0.0,
            load,
            dice: Dice::new(seed),
            capacity,
            pool: GIB,
            position: 40.0 * GIB,
            archived: 40.0 * GIB,
            archived_count: 2_560.0,
            failed_count: 3.0,
            link: 10.0 * MIB,
            slot: None,
            switched: 0.0,
            seen: BTreeMap::new(),
            blind: false,
        }
    }

    /// Whole segments that wait.
    pub(crate) fn ready(&self) -> f64 {
        ((self.position / SEGMENT).floor() - (self.archived / SEGMENT).floor()).max(0.0)
    }

    pub(crate) fn held(&self) -> f64 {
        self.position - self.archived.min(self.slot.unwrap_or(f64::INFINITY))
    }

    fn folder(&self) -> f64 {
        // Two segments are written into, the rest of the pool is used up first.
        (self.held() + 2.0 * SEGMENT).max(self.pool)
    }

    pub(crate) fn free(&self) -> f64 {
        (self.capacity - self.folder()).max(0.0)
    }

    pub(crate) fn set_load(&mut self, load: Load) {
        self.load = load;
    }

    fn step(&mut self) {
        let made = (self.load)(self.now, &mut self.dice) * STEP;
        self.position += made;
        // archive_timeout: a segment with anything in it is switched after five minutes.
        if self.now - self.switched >= 300.0 {
            let inside = self.position.rem_euclid(SEGMENT);
            if inside > 1.0 {
                self.position += SEGMENT - inside;
            }
            self.switched = self.now;
        }
        if self.link > 0.0 {
            let whole = (self.position / SEGMENT).floor() * SEGMENT;
            let before = (self.archived / SEGMENT).floor();
            self.archived = (self.archived + self.link * STEP).min(whole).max(self.archived);
            self.archived_count += (self.archived / SEGMENT).floor() - before;
        } else if self.ready() > 0.0 {
            self.failed_count += 1.0;
        }
        self.now += STEP;
        if self.now.rem_euclid(SAMPLED) < STEP / 2.0 && !self.blind {
            for (name, value) in self.numbers() {
                self.seen.entry(name).or_default().push((self.now, value));
            }
        }
    }

    pub(crate) fn numbers(&self) -> Vec<(&'static str, f64)> {
        let mut numbers = vec![
            ("wal_ready_count", self.ready()),
            ("wal_bytes", self.folder()),
            ("wal_volume_capacity_bytes", self.capacity),
            ("wal_volume_available_bytes", self.free()),
            ("wal_position_bytes", self.position),
            ("wal_archived_count", self.archived_count),
            ("wal_failed_count", self.failed_count),
            ("exporter_up", 1.0),
        ];
        numbers.push(("wal_slot_retained_bytes", self.slot.map_or(0.0, |slot| self.position - slot)));
        numbers
    }

    pub(crate) fn until(&mut self, seconds: f64) {
        while self.now < seconds {
            self.step();
        }
    }

    pub(crate) fn go(&mut self, seconds: f64) {
        self.until(self.now + seconds);
    }

    /// A reader of a slot stops now.
    pub(crate) fn slot_stops(&mut self) {
        self.slot = Some(self.position);
    }

    /// Seconds until the volume is full, by letting a copy live on; `None` when it is not within 60 days.
    pub(crate) fn full_in(&self) -> Option<f64> {
        let mut copy = self.clone();
        copy.blind = true;
        while copy.free() > 0.0 {
            copy.step();
            if copy.now - self.now > 60.0 * DAY {
                return None;
            }
        }
        Some(copy.now - self.now)
    }

    /// Seconds until nothing waits.
    pub(crate) fn drained_in(&self) -> f64 {
        let mut copy = self.clone();
        copy.blind = true;
        while copy.ready() > 1.0 && copy.now - self.now < 60.0 * DAY {
            copy.step();
        }
        copy.now - self.now
    }

    /// What is known of the last `back` seconds, as series of one source.
    pub(crate) fn facts(&self, name: &str, source: &str, back: f64) -> Vec<Fact> {
        let series = |(metric, points): (&&'static str, &Vec<(f64, f64)>)| {
            let begin = points.partition_point(|(at, _)| *at < self.now - back);
            Fact::Series(Series {
                subject: db(name),
                metric: (*metric).to_owned(),
                source: source.to_owned(),
                points: points[begin..].iter().map(|(at, value)| (moment(*at), *value)).collect(),
            })
        };
        self.seen.iter().map(series).collect()
    }

    pub(crate) fn samples(&self, name: &str) -> Vec<Fact> {
        let sample = |(metric, value): (&'static str, f64)| {
            Fact::Sample(Sample { subject: db(name), metric: metric.to_owned(), value, at: moment(self.now) })
        };
        self.numbers().into_iter().map(sample).collect()
    }

    pub(crate) fn judged(&self) -> (Clock, Vec<Finding>) {
        self.judged_with(14.0 * DAY, None)
    }

    /// The clock and the findings of a pass now.
    pub(crate) fn judged_with(&self, back: f64, archive: Option<&ArchiveFact>) -> (Clock, Vec<Finding>) {
        let mut facts = self.facts("app", "prometheus", back);
        facts.extend(archive.map(|archive| Fact::Archive(Box::new(archive.clone()))));
        look(moment(self.now), facts)
    }
}

/// The clock and the clock's findings of facts about `app`.
pub(crate) fn look(now: Timestamp, facts: Vec<Fact>) -> (Clock, Vec<Finding>) {
    look_by(now, facts, Policy::default())
}

pub(crate) fn look_by(now: Timestamp, facts: Vec<Fact>, policy: Policy) -> (Clock, Vec<Finding>) {
    let mut expected = Expected { covers: vec![(db("app"), FactKind::Series)], ..Expected::default() };
    expected.policies.insert(db("app"), policy);
    let observations = vec![(ProviderId("sim".into()), Observation { facts, ..Observation::default() })];
    let clock = of(clocks(now, &expected, &observations), &db("app"));
    let mut findings = judge(now, &expected, &observations, &[]).findings;
    findings.retain(|finding| finding.code.starts_with("wal-") && finding.code != "wal-archive-silent");
    (clock, findings)
}

pub(crate) fn of(clocks: Vec<(Subject, Clock)>, subject: &Subject) -> Clock {
    clocks.into_iter().find(|(of, _)| of == subject).map(|(_, clock)| clock).unwrap_or_default()
}
