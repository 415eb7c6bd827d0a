//! The kind, not the example: names, sizes, times, order and unrelated objects change nothing.

use dalsegno::domain::{CnpgFact, CnpgSchedule, Severity};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::super::scene::{DAY, HOUR, ago};
use super::scene::{NIGHTLY, Scene, cluster, object, schedule};

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9-]{0,30}[a-z0-9]"
}

/// A Cluster of any name whose archive was not looked at, with a good Backup per night.
fn healthy(name: &str, nights: u32) -> CnpgFact {
    let mut fact = cluster(name);
    fact.backups =
        Some((0..nights).map(|night| object(name, 13.0 * HOUR + 60.0 + f64::from(night) * DAY, "completed")).collect());
    fact
}

fn alone(fact: CnpgFact) -> Scene {
    Scene::of(vec![fact]).no_archive()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn healthy_clusters_of_any_name_and_history_are_silent(name in name(), nights in 1u32..90) {
        alone(healthy(&name, nights)).silent();
    }

    #[test]
    fn a_blocked_queue_is_found_whatever_lies_around_it(
        name in name(), nights in 1u32..40, days in 2.0f64..60.0, order in any::<u64>(), waiting in 0usize..6,
    ) {
        let mut fact = healthy(&name, nights);
        let backups = fact.backups.as_mut().unwrap();
        let shift = SignedDuration::from_secs_f64((days + 1.0) * DAY);
        for backup in backups.iter_mut() {
            let back = |at: Option<Timestamp>| at.map(|at| at.checked_sub(shift).unwrap());
            (backup.created, backup.started, backup.stopped) = (back(backup.created), back(backup.started), back(backup.stopped));
        }
        backups.push(object(&name, days * DAY, "walArchivingFailing"));
        backups.extend((0..waiting).map(|n| object(&name, days * DAY - 60.0 * (n + 1) as f64, "pending")));
        let at = usize::try_from(order % backups.len() as u64).unwrap();
        backups.rotate_left(at);
        let mut other = healthy("other", 3);
        other.cluster.namespace = "elsewhere".into();
        let finding = Scene::of(vec![other, fact.clone()]).no_archive().only("backup-queue-blocked", Severity::Critical);
        prop_assert_eq!(finding.subject, fact.subject);
    }

    #[test]
    fn a_suspended_schedule_is_forgotten_after_two_of_its_runs_and_not_before(name in name(), hours in 2u32..12, runs in 0u32..9) {
        // Twice a day or less often; the last Backup lies so many runs back.
        let mut fact = healthy(&name, 0);
        let pause = 24 * hours;
        let mut suspended: CnpgSchedule = schedule(&name, "rare", &format!("@every {pause}h"));
        suspended.suspended = true;
        let old = (f64::from(runs) * f64::from(pause) + 3.0) * HOUR;
        suspended.last_run = Some(ago(old));
        fact.schedules = Some(vec![suspended]);
        fact.backups = Some(vec![object(&name, old, "completed")]);
        let found = alone(fact).findings();
        prop_assert_eq!(found.iter().any(|finding| finding.code == "schedule-suspended-overdue"), runs >= 2);
        prop_assert!(found.len() <= 1, "{:?}", found);
    }

    #[test]
    fn five_fields_are_found_among_any_number_of_good_ones(name in name(), minute in 0u32..24, good in 0usize..9, at in 0usize..9) {
        let mut fact = healthy(&name, 3);
        let mut all: Vec<CnpgSchedule> = (0..=good).map(|n| schedule(&name, &format!("good-{n}"), NIGHTLY)).collect();
        all.insert(at.min(all.len()), schedule(&name, "short", &format!("0 {minute} * * *")));
        fact.schedules = Some(all);
        let found = alone(fact).findings();
        let ours: Vec<_> = found.iter().filter(|finding| finding.code == "schedule-cron-field-count").collect();
        prop_assert_eq!(ours.len(), 1);
        prop_assert!(ours[0].summary.contains("short"));
    }
}
