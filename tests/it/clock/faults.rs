//! Series with every fault: two samples, gaps, resets, duplicates, other orders, values that are no numbers, lying clocks, old numbers.

use dalsegno::domain::{Fact, Held, NoNumber, Policy, Series, Within};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::sim::{DAY, GIB, HOUR, MIB, SEGMENT, World, db, look, look_by, moment, office};

fn now() -> Timestamp {
    moment(20.0 * DAY)
}

fn ago(seconds: f64) -> Timestamp {
    now().checked_sub(SignedDuration::from_secs_f64(seconds)).unwrap()
}

fn series(metric: &str, points: &[(f64, f64)]) -> Fact {
    told("ledger", metric, points)
}

/// Points: seconds ago and value.
fn told(source: &str, metric: &str, points: &[(f64, f64)]) -> Fact {
    let points = points.iter().map(|(back, value)| (ago(*back), *value)).collect();
    Fact::Series(Series { subject: db("app"), metric: metric.into(), source: source.into(), points })
}

/// A failing archiver: one segment a minute for so many minutes, free bytes now.
fn failing(minutes: u32, free: f64) -> Vec<Fact> {
    let every = |value: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        (0..=minutes).map(|at| (f64::from(minutes - at) * 60.0, value(f64::from(at)))).collect()
    };
    vec![
        series("wal_ready_count", &every(&|at| 10.0 + at)),
        series("wal_archived_count", &every(&|_| 500.0)),
        series("wal_position_bytes", &every(&|at| (1_000.0 + at) * SEGMENT)),
        series("wal_volume_available_bytes", &[(0.0, free)]),
    ]
}

#[test]
fn there_is_never_a_number_from_two_samples() {
    let two = |metric: &str, before: f64, after: f64| series(metric, &[(7_200.0, before), (0.0, after)]);
    let facts = vec![
        two("wal_ready_count", 40.0, 610.0),
        two("wal_archived_count", 51_000.0, 53_100.0),
        series("wal_volume_available_bytes", &[(0.0, GIB)]),
    ];
    let (clock, findings) = look(now(), facts);
    assert_eq!((clock.held, clock.no_number, clock.full_in), (Held::ArchivingIsSlower, Some(NoNumber::TwoSamples), None));
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].code, "wal-archive-lag-growing");
    assert!(findings[0].summary.contains("only two samples"), "{}", findings[0].summary);
    let facts = vec![
        two("wal_ready_count", 431.0, 455.0),
        two("wal_archived_count", 9.0, 9.0),
        two("wal_bytes", 7.46e9, 7.86e9),
        series("wal_volume_capacity_bytes", &[(0.0, 1.07e10)]),
    ];
    let (clock, findings) = look(now(), facts);
    assert_eq!((clock.held, clock.no_number, clock.full_in), (Held::ArchivingFails, Some(NoNumber::TwoSamples), None));
    assert_eq!(findings[0].code, "wal-archiving-failing-disk-clock");
}

#[test]
fn the_number_waits_for_history_and_the_nearer_the_end_the_less_it_needs() {
    // A segment a minute into 1 GiB: an hour. Into 2 TiB: three months.
    let (clock, _) = look(now(), failing(30, GIB));
    let within = clock.full_in.unwrap();
    assert!((0.5..2.0).contains(&(within.middle / HOUR)) && within.low < within.middle && within.middle < within.high);
    assert_eq!(look(now(), failing(30, 2_048.0 * GIB)).0.no_number, Some(NoNumber::Flat));
    assert_eq!(look(now(), failing(30, 50.0 * GIB)).0.no_number, Some(NoNumber::HistoryTooShort));
    let mut short = failing(16, GIB);
    for fact in &mut short {
        if let Fact::Series(series) = fact {
            series.points = series.points.iter().copied().step_by(6).collect();
        }
    }
    assert_eq!(look(now(), short).0.no_number, Some(NoNumber::HistoryTooShort), "three points are too few for anything");
}

#[test]
fn the_ways_of_saying_nothing_have_each_their_reason() {
    let mut facts = failing(30, GIB);
    facts.pop();
    assert_eq!(look(now(), facts).0.no_number, Some(NoNumber::VolumeNotSeen));
    assert_eq!(look(now(), Vec::new()).0.held, Held::NotKnown);
    let (clock, findings) = look(now(), vec![series("wal_ready_count", &[(600.0, 0.0), (0.0, 1.0)])]);
    assert_eq!((clock.held, clock.no_number), (Held::Not, Some(NoNumber::Flat)));
    assert!(findings.is_empty());
}

#[test]
fn one_segment_that_waits_or_a_short_stall_is_no_failure() {
    let still = |ready: f64| {
        let flat = |value: f64| (0..=40).map(|at| (f64::from(40 - at) * 60.0, value)).collect::<Vec<_>>();
        vec![series("wal_ready_count", &flat(ready)), series("wal_archived_count", &flat(500.0))]
    };
    assert!(look(now(), still(1.0)).1.is_empty());
    assert_eq!(look(now(), still(2.0)).1.len(), 1, "two wait for forty minutes and none goes");
    assert!(look(now(), failing(10, GIB)).1.is_empty(), "ten minutes are a switchover, or an upload with retries");
    assert_eq!(look(now(), failing(16, GIB)).1.len(), 1);
}

#[test]
fn long_idle_then_a_burst_is_no_failure() {
    // Nothing for ten hours, and five segments since a minute ago: none of them has waited yet.
    let mut ready: Vec<(f64, f64)> = (1..=120).rev().map(|at| (f64::from(at) * 300.0, 0.0)).collect();
    ready.push((0.0, 5.0));
    let archived: Vec<(f64, f64)> = ready.iter().map(|(at, _)| (*at, 77.0)).collect();
    let facts = vec![series("wal_ready_count", &ready), series("wal_archived_count", &archived)];
    assert!(look(now(), facts).1.is_empty());
}

#[test]
fn prometheus_is_preferred_and_its_twins_do_not_count_twice() {
    let mut facts = failing(30, GIB);
    let honest = look(now(), facts.clone()).0;
    // A second replica of Prometheus with half of the points, and a scrape of ours that stands still.
    facts.push(told(
        "prometheus",
        "wal_position_bytes",
        &(0..=30).map(|at| (f64::from(30 - at) * 60.0, (1_000.0 + f64::from(at)) * SEGMENT)).collect::<Vec<_>>(),
    ));
    facts.push(told(
        "prometheus",
        "wal_position_bytes",
        &(0..=15).map(|at| (f64::from(30 - at) * 60.0, (1_000.0 + f64::from(at)) * SEGMENT)).collect::<Vec<_>>(),
    ));
    facts.push(told("exporter", "wal_position_bytes", &[(1_800.0, 1_000.0 * SEGMENT), (0.0, 1_000.0 * SEGMENT)]));
    let with = look(now(), facts).0;
    assert_eq!(honest.full_in, with.full_in);
}

#[test]
fn numbers_that_stopped_coming_say_nothing_of_now() {
    let mut facts = failing(60, GIB);
    for fact in &mut facts {
        if let Fact::Series(series) = fact {
            for (at, _) in &mut series.points {
                *at = at.checked_sub(SignedDuration::from_hours(3)).unwrap();
            }
        }
    }
    let (clock, findings) = look(now(), facts);
    assert_eq!((clock.held, clock.no_number), (Held::NotKnown, Some(NoNumber::NoMetrics)));
    assert!(findings.is_empty() && clock.to_string() == "-");
}

#[test]
fn a_policy_moves_the_borders_and_an_rpo_makes_a_lag_critical() {
    let mut world = World::new(5, office, 600.0 * GIB);
    world.until(9.0 * DAY + 7.0 * HOUR);
    world.link = 0.12 * MIB;
    world.go(6.0 * HOUR);
    let facts = world.facts("app", "prometheus", 14.0 * DAY);
    let severity = |policy| look_by(moment(world.now), facts.clone(), policy).1[0].severity.as_str();
    assert_eq!(severity(Policy::default()), "warning");
    assert_eq!(severity(Policy { rpo_seconds: Some(900.0), ..Policy::default() }), "critical");
    assert_eq!(severity(Policy { full_critical_seconds: Some(60.0 * DAY), ..Policy::default() }), "critical");
}

#[test]
fn a_database_that_switches_every_five_seconds_is_judged_in_its_own_beat() {
    let beat = Policy { archive_timeout_seconds: Some(5.0), ..Policy::default() };
    let every = |value: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        (0..=20).map(|at| (f64::from(20 - at) * 2.0, value(f64::from(at)))).collect()
    };
    let facts = vec![
        series("wal_ready_count", &every(&|at| 2.0 + at)),
        series("wal_archived_count", &every(&|_| 5.0)),
        series("wal_position_bytes", &every(&|at| (100.0 + at) * SEGMENT)),
        series("wal_volume_available_bytes", &[(0.0, 30.0 * SEGMENT)]),
    ];
    let (clock, findings) = look_by(now(), facts, beat);
    let within = clock.full_in.unwrap();
    assert!(within.low < 60.0 && within.high > 60.0 && within.high < 300.0, "{within:?}");
    assert_eq!(findings.len(), 1);
    assert!(clock.to_string().starts_with("full "), "{clock}");
}

#[test]
fn ranges_are_said_in_the_unit_of_their_middle() {
    let within = |low: f64, middle: f64, high: f64| Within { low, middle, high }.to_string();
    assert_eq!(within(7.2 * HOUR, 9.0 * HOUR, 11.5 * HOUR), "7–12 h");
    assert_eq!(within(40.0, 60.0, 80.0), "40–80 s");
    assert_eq!(within(1_800.0, 3_600.0, 4_500.0), "30–75 min");
    assert_eq!(within(3.0 * DAY, 5.0 * DAY, 9.0 * DAY), "3–9 d");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever a source tells, nothing panics, a range is in order, and no number comes from two points or fewer.
    #[test]
    fn whatever_is_told_the_range_is_in_order(
        ready in proptest::collection::vec((-4_000.0..2_000_000.0_f64, prop_oneof![Just(f64::NAN), Just(f64::INFINITY), -5.0..900.0_f64]), 0..40),
        archived in proptest::collection::vec((-4_000.0..2_000_000.0_f64, prop_oneof![Just(f64::NAN), Just(-1.0), 0.0..9_000.0_f64]), 0..40),
        position in proptest::collection::vec((-4_000.0..2_000_000.0_f64, 0.0..1e15_f64), 0..40),
        slot in proptest::collection::vec((-4_000.0..2_000_000.0_f64, 0.0..1e12_f64), 0..40),
        free in prop_oneof![Just(f64::NAN), -10.0..1e12_f64],
    ) {
        let facts = vec![
            series("wal_ready_count", &ready),
            series("wal_archived_count", &archived),
            series("wal_position_bytes", &position),
            series("wal_slot_retained_bytes", &slot),
            series("wal_volume_available_bytes", &[(0.0, free)]),
        ];
        let (clock, findings) = look(now(), facts);
        if let Some(within) = clock.full_in.or(clock.drained_in) {
            prop_assert!(within.low >= 0.0 && within.low <= within.middle && within.middle <= within.high && within.high.is_finite());
            prop_assert!(clock.samples > 2);
        }
        prop_assert!(findings.len() <= 1);
        prop_assert!(clock.full_in.is_none() || clock.no_number.is_none());
    }

    /// The order in which points come, and points that come twice, change nothing.
    #[test]
    fn order_and_repetition_change_nothing(seed in 0_u64..1_000) {
        let facts = failing(30, GIB);
        let honest = look(now(), facts.clone()).0;
        let mut dice = super::sim::Dice::new(seed);
        let mut shuffled = facts;
        for fact in &mut shuffled {
            if let Fact::Series(series) = fact {
                let again: Vec<_> = series.points.iter().copied().filter(|_| dice.roll() < 0.3).collect();
                series.points.extend(again);
                for index in (1..series.points.len()).rev() {
                    let other = (dice.roll() * (index + 1) as f64) as usize;
                    series.points.swap(index, other.min(index));
                }
            }
        }
        prop_assert_eq!(honest.full_in, look(now(), shuffled).0.full_in);
    }
}
