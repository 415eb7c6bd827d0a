//! Thirty days of passes each five minutes: how often people are called.

use dalsegno::domain::{Finding, Notice, Severity};

use super::{Site, at, blind, db, finding};

const PASSES: i64 = 30 * 24 * 12;

/// Seeded, so that the noise is the same at every run.
struct Dice(u64);

impl Dice {
    fn one_in(&mut self, sides: u64) -> bool {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.is_multiple_of(sides)
    }
}

fn pages(site: &mut Site, mut found: impl FnMut(i64) -> Vec<Finding>) -> Vec<(i64, Notice)> {
    let mut all = Vec::new();
    for pass in 0..PASSES {
        let notices = site.pass(at(pass * 5), &found(pass));
        all.extend(notices.into_iter().filter(|notice| notice.told.pages()).map(|notice| (pass, notice)));
    }
    all
}

#[test]
fn a_healthy_platform_whose_looks_are_lost_now_and_then_calls_nobody() {
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    let looks: Vec<Finding> = (0..40).map(|n| blind("look-timed-out", &db(&format!("db-{n}")))).collect();
    let mut lost = 0;
    let called = pages(&mut Site::default(), |_| {
        let found: Vec<_> = looks.iter().filter(|_| dice.one_in(200)).cloned().collect();
        lost += found.len();
        found
    });
    assert!(lost > 1_000, "{lost} lost looks are no noise");
    assert!(called.is_empty(), "{called:?}");
}

#[test]
fn trouble_that_flaps_for_a_month_calls_a_handful_of_times() {
    let ill = finding("wal-archive-silent", &db("app"), Severity::Critical);
    for (on, off) in [(1, 1), (1, 5), (5, 1), (12, 3), (2, 30)] {
        let called = pages(&mut Site::default(), |pass| if pass % (on + off) < on { vec![ill.clone()] } else { Vec::new() });
        assert!(!called.is_empty() && called.len() <= 2, "{on} passes on, {off} off: {} pages", called.len());
    }
}

#[test]
fn real_outages_far_apart_are_each_said() {
    let ill = finding("wal-archive-silent", &db("app"), Severity::Critical);
    // Two hours each second day.
    let called = pages(&mut Site::default(), |pass| if pass % 576 < 24 { vec![ill.clone()] } else { Vec::new() });
    assert_eq!(called.len(), 15);
}

#[test]
fn what_is_forgotten_leaves_nothing_behind() {
    let mut site = Site::default();
    let mut dice = Dice(7);
    pages(&mut site, |pass| {
        if pass > PASSES - 100 {
            return Vec::new();
        }
        let subjects = (0..20).filter(|_| dice.one_in(50)).map(|n| db(&format!("db-{n}")));
        subjects.map(|subject| finding("wal-gap", &subject, Severity::Warning)).collect()
    });
    assert!(site.heard.alerts.is_empty(), "{} alerts are kept for ever", site.heard.alerts.len());
}
