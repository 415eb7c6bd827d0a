//! The kind, not the example: names, sizes, order, time zones and unrelated objects change nothing.

use dalsegno::domain::{ArchiveFact, Fact, Observation, ProviderId, Severity, WalGap};
use dalsegno::policy::judge;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::scene::{HOUR, Scene, ago, archive, backup, now, seen, segment, store, window};

/// A healthy archive of any name, size and age of its objects.
fn healthy(name: &str, first: u64, per_day: u64, nights: u64, foreign: u64) -> ArchiveFact {
    let mut fact = archive(name);
    let age_of = |number: u64| ((nights - number) as f64) * 24.0 * HOUR + 2.0 * HOUR;
    fact.backups =
        (1..=nights).map(|night| backup(age_of(night), first + night * per_day, first + night * per_day + 1)).collect();
    let last = first + (nights + 1) * per_day + 2;
    fact.windows = fact.backups.iter().map(|b| window(b, last, ago(100.0))).collect();
    fact.oldest_segment = Some(seen(1, first + per_day, ago(age_of(1) + HOUR)));
    fact.newest_segment = Some(seen(1, last, ago(100.0)));
    fact.known_backups = nights;
    fact.foreign_keys = foreign;
    fact
}

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9-]{0,20}"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn healthy_archives_of_any_shape_are_silent(
        name in name(), first in 0u64..100_000, per_day in 3u64..5_000, nights in 1u64..40, foreign in 0u64..1_000_000,
    ) {
        Scene::of(Some(store()), vec![healthy(&name, first, per_day, nights, foreign)]).silent();
    }

    #[test]
    fn a_hole_is_found_wherever_it_is_and_whoever_else_is_there(
        name in name(), other in name(), first in 0u64..100_000, nights in 2u64..20, at in 5u64..90, count in 1u64..4,
    ) {
        prop_assume!(name != other);
        let mut bad = healthy(&name, first, 100, nights, 0);
        let begin = first + nights * 100 + at;
        bad.gaps.push(WalGap {
            timeline: 1,
            first: segment(1, begin),
            last: segment(1, begin + count - 1),
            count,
            cuts_newest: true,
            later_written: Some(ago(HOUR)),
            seen_before: false,
        });
        let scene = Scene::of(Some(store()), vec![healthy(&other, first, 50, nights, 3), bad.clone()]);
        let finding = scene.only("wal-gap", Severity::Critical);
        prop_assert_eq!(finding.subject, bad.subject);
    }

    #[test]
    fn the_order_of_facts_changes_nothing(order in Just((0..4usize).collect::<Vec<_>>()).prop_shuffle(), skew in 61.0f64..5_000.0) {
        let mut ill = store();
        ill.clock_skew_seconds = Some(skew);
        let mut gone = archive("gone");
        gone.backups.clear();
        gone.windows.clear();
        let scene = Scene::of(Some(ill), vec![archive("app"), gone, archive("zed")]);
        let plain = scene.judge();
        let facts: Vec<Fact> = order.iter().map(|at| scene.observation.facts[*at].clone()).collect();
        // Spread over providers as well.
        let observations: Vec<_> = facts
            .into_iter()
            .enumerate()
            .map(|(n, fact)| (ProviderId(format!("p{n}")), Observation { facts: vec![fact], ..Observation::default() }))
            .collect();
        prop_assert_eq!(judge(now(), &scene.expected, &observations, &[]), plain);
    }

    /// Judging is by instants: the zone in which a person or a machine writes them cannot matter. All shifted alike, nothing changes.
    #[test]
    fn the_day_of_the_pass_changes_nothing(days in -3_000i64..3_000) {
        let shift = |at: Timestamp| at.checked_add(SignedDuration::from_hours(days * 24)).unwrap();
        let mut fact = archive("app");
        for backup in &mut fact.backups {
            (backup.begin_time, backup.end_time) = (backup.begin_time.map(shift), backup.end_time.map(shift));
            backup.record_written = backup.record_written.map(shift);
        }
        for window in &mut fact.windows {
            (window.from, window.covered_until) = (shift(window.from), window.covered_until.map(shift));
        }
        let (mut scene, mut bucket) = (Scene::of(None, vec![fact]), store());
        let certificate = bucket.certificate.as_mut().unwrap();
        (certificate.not_before, certificate.not_after) = (shift(certificate.not_before), shift(certificate.not_after));
        scene.observation.facts.push(Fact::Store(Box::new(bucket)));
        let judged = judge(shift(now()), &scene.expected, &[(ProviderId("p".into()), scene.observation)], &[]);
        prop_assert_eq!(judged.findings, vec![]);
    }
}
