//! Simulated weeks: what must not be called trouble, what must be called early, and whether the range held the true hour.

use dalsegno::domain::{Clock, Finding, Held, NoNumber, Severity};

use super::sim::{DAY, GIB, HOUR, Load, MIB, World, bursts, db, idle, moment, nightly_batch, office, vacuum_nights, weekend};
use crate::policy::scene::archive;

const LOADS: [(&str, Load); 5] =
    [("idle", idle), ("office", office), ("bursts", bursts), ("vacuum nights", vacuum_nights), ("nightly batch", nightly_batch)];

fn told(findings: &[Finding]) -> Vec<(&str, Severity)> {
    findings.iter().map(|finding| (finding.code.as_str(), finding.severity)).collect()
}

/// How a range did against the truth over a time.
#[derive(Default, Debug)]
struct Held24 {
    said: usize,
    held: usize,
    worst: f64,
}

impl Held24 {
    fn take(&mut self, clock: &Clock, truth: f64) {
        let Some(within) = clock.full_in else { return };
        self.said += 1;
        // A step of the simulation and a segment of the file system are not the clock's fault.
        let (low, high) = (within.low - 120.0, within.high + 120.0);
        if (low..=high).contains(&truth) {
            self.held += 1;
        } else {
            self.worst = self.worst.max((truth / within.middle).max(within.middle / truth));
        }
    }
}

#[test]
fn weeks_without_trouble_say_nothing() {
    for (name, load) in LOADS {
        let mut world = World::new(7, load, 40.0 * GIB);
        for hours in 1..=(15 * 24) {
            world.until(f64::from(hours) * HOUR);
            let (clock, findings) = world.judged();
            assert!(findings.is_empty(), "{name}, hour {hours}: {:?} {clock:?}", told(&findings));
            assert_eq!(clock.full_in, None, "{name}, hour {hours}");
            assert!(matches!(clock.held, Held::Not), "{name}, hour {hours}: {clock:?}");
        }
        assert_eq!(world.judged().0.to_string(), "no growth");
    }
}

#[test]
fn an_archiver_that_fails_over_a_weekend_is_told_a_day_before_the_end_and_the_range_holds_the_true_hour() {
    for (name, load, room) in [
        ("office", office as Load, 70.0),
        ("bursts", bursts, 90.0),
        ("vacuum nights", vacuum_nights, 160.0),
        ("nightly batch", nightly_batch, 260.0),
    ] {
        let mut world = World::new(11, load, room * GIB);
        // Friday evening of the second week.
        world.until(11.0 * DAY + 18.0 * HOUR);
        world.link = 0.0;
        let outage = world.now;
        let full = world.full_in().unwrap();
        assert!(full > 30.0 * HOUR, "{name}: the case is too easy, full in {:.1} h", full / HOUR);
        let (mut range, mut warned, mut critical) = (Held24::default(), None, None);
        while world.free() > 0.0 {
            world.go(0.5 * HOUR);
            let truth = outage + full - world.now;
            if truth <= 600.0 {
                break;
            }
            let (clock, findings) = world.judged();
            range.take(&clock, truth);
            for (code, severity) in told(&findings) {
                assert_eq!(code, "wal-archiving-failing-disk-clock", "{name}");
                warned.get_or_insert(truth);
                if severity == Severity::Critical {
                    critical.get_or_insert(truth);
                }
            }
            assert!(world.now - outage < HOUR || clock.full_in.is_some(), "{name}: {clock:?}");
        }
        let (warned, critical) = (warned.unwrap(), critical.unwrap());
        assert!(warned >= full - HOUR, "{name}: warned {:.1} h before, possible were {:.1}", warned / HOUR, full / HOUR);
        assert!(critical >= 12.0 * HOUR, "{name}: critical only {:.1} h before", critical / HOUR);
        assert!(range.held * 100 >= range.said * 98, "{name}: {range:?}");
    }
}

#[test]
fn with_a_ledger_that_began_shortly_before_the_range_is_wide_and_still_holds() {
    for hours in [1.0, 3.0, 8.0, 20.0] {
        let mut world = World::new(3, office, 40.0 * GIB);
        world.until(10.0 * DAY + (24.0 - hours + 14.0) * HOUR);
        world.seen.clear();
        world.go(hours * HOUR);
        world.link = 0.0;
        let mut range = Held24::default();
        let end = world.now + world.full_in().unwrap();
        while world.now < end - 600.0 {
            world.go(0.25 * HOUR);
            range.take(&world.judged().0, end - world.now);
        }
        assert!(range.said > 10 && range.held * 100 >= range.said * 95, "{hours} h of history: {range:?}");
    }
}

#[test]
fn a_slow_link_is_told_though_nothing_fails_and_a_day_before_the_volume_is_full() {
    let mut world = World::new(5, office, 60.0 * GIB);
    world.until(9.0 * DAY + 7.0 * HOUR);
    // A third of what a working day makes.
    world.link = 0.12 * MIB;
    let (since, full) = (world.now, world.full_in().unwrap());
    let (mut range, mut warned) = (Held24::default(), None);
    while world.now < since + full - HOUR {
        world.go(0.5 * HOUR);
        let (clock, findings) = world.judged();
        let truth = since + full - world.now;
        range.take(&clock, truth);
        for (code, _) in told(&findings) {
            assert_eq!(code, "wal-archive-lag-growing");
            warned.get_or_insert(truth);
        }
    }
    assert!(warned.is_some_and(|ahead| ahead >= 24.0 * HOUR), "warned {warned:?} of {full}");
    assert!(range.said > 20 && range.held * 100 >= range.said * 90, "{range:?}");
}

#[test]
fn after_the_repair_it_drains_is_critical_while_little_is_free_and_ends_with_a_base_backup() {
    let mut world = World::new(13, office, 26.0 * GIB);
    world.until(8.0 * DAY + 8.0 * HOUR);
    world.link = 0.0;
    while world.free() > 6.0 * GIB {
        world.go(HOUR);
    }
    world.link = 4.0 * MIB;
    world.go(0.4 * HOUR);
    let repaired = world.now;
    let mut seen = archive("app");
    let mut severities = Vec::new();
    let (mut said, mut held) = (0, 0);
    while world.ready() > 3.0 {
        let (clock, findings) = world.judged_with(14.0 * DAY, Some(&seen));
        assert_eq!(clock.held, Held::Draining, "{clock:?}");
        let [finding] = findings.as_slice() else { panic!("{findings:?}") };
        assert_eq!(finding.code, "wal-archive-draining");
        severities.push(finding.severity);
        if let Some(within) = clock.drained_in {
            said += 1;
            let truth = world.drained_in();
            held += usize::from(truth >= within.low - 900.0 && truth <= within.high + 900.0);
        }
        world.go(0.25 * HOUR);
    }
    assert_eq!(severities.first(), Some(&Severity::Critical), "6 GiB are free and far more waits");
    assert_eq!(severities.last(), Some(&Severity::Warning), "what waits has become less than what is free");
    assert!(severities.is_sorted_by(|a, b| a >= b), "{severities:?}");
    assert!(said > 2 && held * 10 >= said * 9, "{held} of {said}");
    world.go(HOUR);
    let (clock, findings) = world.judged_with(14.0 * DAY, Some(&seen));
    assert_eq!(told(&findings), [("wal-archive-draining", Severity::Warning)], "no base backup followed");
    assert_eq!(clock.to_string(), "drained");
    // A base backup that began before the end of the outage closes nothing; one that began after it does.
    for (begin, closes) in [(repaired - 2.0 * HOUR, false), (world.now - 0.5 * HOUR, true)] {
        let newest = seen.backups.last_mut().unwrap();
        newest.begin_time = Some(moment(begin));
        newest.end_time = Some(moment(begin + 60.0));
        assert_eq!(world.judged_with(14.0 * DAY, Some(&seen)).1.is_empty(), closes, "begun {begin}");
    }
    seen.windows.last_mut().unwrap().broken_at = Some("000000010000000000000150".into());
    assert_eq!(world.judged_with(14.0 * DAY, Some(&seen)).1.len(), 1, "a broken chain closes nothing");
}

#[test]
fn a_slot_without_reader_is_told_apart_from_the_archiver() {
    let mut world = World::new(17, office, 40.0 * GIB);
    world.until(9.0 * DAY + 9.0 * HOUR);
    world.slot_stops();
    let (since, full) = (world.now, world.full_in().unwrap());
    let (mut range, mut warned) = (Held24::default(), None);
    while world.now < since + full - HOUR {
        world.go(0.5 * HOUR);
        let (clock, findings) = world.judged();
        range.take(&clock, since + full - world.now);
        for (code, _) in told(&findings) {
            assert_eq!(code, "wal-held-by-slot");
            warned.get_or_insert(since + full - world.now);
        }
    }
    assert!(warned.is_some_and(|ahead| ahead >= 24.0 * HOUR), "{warned:?} of {full}");
    assert!(range.said > 20 && range.held * 100 >= range.said * 95, "{range:?}");
    // Its twin: a reader that comes back within the hour.
    let mut twin = World::new(17, office, 40.0 * GIB);
    twin.until(9.0 * DAY + 9.0 * HOUR);
    twin.slot_stops();
    twin.go(HOUR);
    assert!(twin.judged().1.is_empty());
    twin.slot = None;
    twin.go(3.0 * HOUR);
    assert!(twin.judged().1.is_empty());
}

#[test]
fn failovers_resizes_and_restarted_counters_are_no_trouble_and_spoil_no_range() {
    let mut world = World::new(19, office, 60.0 * GIB);
    world.until(6.0 * DAY);
    // A failover: the other server has counters of its own.
    world.archived_count = 97_000.0;
    world.failed_count = 0.0;
    world.go(2.0 * DAY);
    assert!(world.judged().1.is_empty());
    world.archived_count = 0.0;
    world.go(HOUR);
    assert!(world.judged().1.is_empty());
    world.until(11.0 * DAY + 9.0 * HOUR);
    world.link = 0.0;
    world.go(5.0 * HOUR);
    world.capacity += 30.0 * GIB;
    world.failed_count = 0.0;
    let mut range = Held24::default();
    let end = world.now + world.full_in().unwrap();
    while world.now < end - 600.0 {
        world.go(0.5 * HOUR);
        range.take(&world.judged().0, end - world.now);
    }
    assert!(range.said > 40 && range.held * 100 >= range.said * 98, "{range:?}");
}

#[test]
fn an_idle_database_is_not_accused_whatever_its_last_archival_was() {
    let mut world = World::new(23, |_, _| 0.0, 10.0 * GIB);
    world.until(5.0 * DAY);
    let (clock, findings) = world.judged();
    assert!(findings.is_empty());
    assert_eq!((clock.held, clock.no_number), (Held::Not, Some(NoNumber::Flat)));
    assert!(!weekend(0.0) && db("app").name() == "app");
}
