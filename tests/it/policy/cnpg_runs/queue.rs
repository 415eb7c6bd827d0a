use dalsegno::domain::{CnpgBackup, CnpgFact, Severity};

use super::super::scene::{DAY, HOUR, db};
use super::scene::{Scene, condition, event, object};

/// The bucket's newest base backup is 13 hours old; here the newest that came of the schedule is `nights` old.
fn old_by(nights: f64) -> Scene {
    Scene::healthy()
        .archive(move |a| {
            for backup in &mut a.backups {
                let back = |at: Option<jiff::Timestamp>| {
                    at.map(|at| at.checked_sub(jiff::SignedDuration::from_secs_f64(nights * DAY)).unwrap())
                };
                (backup.begin_time, backup.end_time) = (back(backup.begin_time), back(backup.end_time));
            }
        })
        .cluster(move |c| c.backups = Some(vec![object("app", (nights + 0.5) * DAY + HOUR, "completed")]))
}

fn with(scene: Scene, add: Vec<CnpgBackup>) -> Scene {
    scene.cluster(move |c| c.backups.as_mut().unwrap().extend(add))
}

#[test]
fn a_backup_that_archiving_left_behind_blocks_all_later_ones() {
    let stuck = || object("app", 18.0 * DAY, "walArchivingFailing");
    let behind = || vec![stuck(), object("app", 17.0 * DAY, "pending"), object("app", 16.0 * DAY, "pending")];
    let finding = with(old_by(19.0), behind()).only("backup-queue-blocked", Severity::Critical);
    let (names, newest) = (finding.remedy.clone(), behind()[2].name.clone());
    assert!(names.starts_with("kubectl delete backup -n prod app-nightly-"), "{names}");
    assert!(names.contains(&behind()[1].name) && !names.contains(&newest), "the newest of those that wait stays: {names}");
    with(old_by(19.0), vec![object("app", 18.0 * DAY, "invalid backup definition")])
        .only("backup-queue-blocked", Severity::Critical);
}

#[test]
fn a_backup_that_waits_while_archiving_fails_is_told_by_archiving() {
    let stuck = |age: f64| vec![object("app", age, "walArchivingFailing")];
    let failing = |c: &mut CnpgFact| c.conditions[1] = condition("ContinuousArchiving", "False", 600.0);
    with(Scene::healthy(), stuck(360.0)).cluster(failing).silent();
    with(Scene::healthy(), stuck(3.0 * HOUR)).cluster(failing).silent();
    // Archiving works again, and the operator may still be at it.
    with(Scene::healthy(), stuck(0.5 * HOUR)).silent();
    // A later one is done: nobody is held up.
    with(Scene::healthy(), stuck(40.0 * HOUR)).silent();
}

#[test]
fn a_backup_that_waits_for_longer_than_a_period_is_named() {
    let finding = with(old_by(5.0), vec![object("app", 5.0 * DAY, "pending")])
        .cluster(|c| {
            let about = format!("Backup {}", c.backups.as_ref().unwrap()[1].name);
            c.events = Some(vec![event(&about, "BackupPending", "Backup target pod not ready: app-2", 60.0)]);
        })
        .only("backup-pending-overdue", Severity::Critical);
    assert_eq!(finding.cause, "BackupPending: Backup target pod not ready: app-2");
    // Not yet seen by the operator at all.
    with(old_by(5.0), vec![object("app", 5.0 * DAY, "")]).only("backup-pending-overdue", Severity::Critical);
}

#[test]
fn a_backup_that_waits_behind_a_running_one_is_silent() {
    let running = || object("app", 300.0, "running");
    with(Scene::healthy(), vec![running(), object("app", 240.0, "pending")]).silent();
    with(Scene::healthy(), vec![object("app", 240.0, "pending")]).silent();
    with(Scene::healthy(), vec![object("app", 40.0 * HOUR, "pending")]).silent();
    with(old_by(21.0), vec![object("app", 20.0 * DAY, "pending")]).cluster(|c| c.hibernated = true).silent();
}

#[test]
fn a_backup_for_a_misspelt_cluster_is_told_at_the_one_that_was_meant() {
    let lost =
        |age: f64| Scene::healthy().site(move |site| site.orphan_backups.push(("prod".into(), object("apq", age, "pending"))));
    let finding = lost(5.0 * DAY).only("backup-pending-overdue", Severity::Critical);
    assert_eq!(finding.subject, db("app"));
    assert_eq!(finding.cause, "Cluster prod/apq does not exist");
    lost(HOUR).silent();
}

#[test]
fn a_backup_whose_pod_was_replaced_is_stale() {
    let run = |change: fn(&mut CnpgBackup)| {
        let mut backup = object("app", 3.0 * DAY, "running");
        change(&mut backup);
        with(old_by(3.5), vec![backup])
    };
    let finding = run(|b| b.container = Some("containerd://old".into())).only("backup-running-stale", Severity::Critical);
    assert!(finding.cause.contains("containerd://old") && finding.cause.contains("containerd://one"), "{}", finding.cause);
    assert!(finding.remedy.contains("base/20261127T"), "{}", finding.remedy);
    run(|b| b.pod = Some("app-7".into())).only("backup-running-stale", Severity::Critical);
    // The same container, and three days where the longest took a minute.
    run(|_| {}).only("backup-running-stale", Severity::Critical);
}

#[test]
fn a_long_backup_whose_container_lives_is_silent() {
    let long = |hours: f64| {
        with(Scene::healthy(), vec![object("app", hours * HOUR, "running")]).cluster(|c| {
            for backup in c.backups.as_mut().unwrap().iter_mut().filter(|backup| backup.stopped.is_some()) {
                backup.stopped = Some(backup.started.unwrap().checked_add(jiff::SignedDuration::from_mins(330)).unwrap());
            }
        })
    };
    long(5.0).silent();
    // Pods were not looked at: nobody can say that it died.
    with(Scene::healthy(), vec![object("app", 5.0 * HOUR, "running")]).cluster(|c| c.pods = None).silent();
    // It began a moment ago, its pod is being replaced just now.
    let mut fresh = object("app", 600.0, "started");
    fresh.container = Some("containerd://old".into());
    with(Scene::healthy(), vec![fresh]).silent();
}

fn flood(failed: usize, completed: usize) -> Scene {
    with(
        Scene::healthy(),
        (0..failed)
            .map(|n| object("app", 20.0 * DAY + n as f64 * 600.0, "failed"))
            .chain((0..completed).map(|n| object("app", 20.0 * DAY + n as f64 * 600.0, "completed")))
            .collect(),
    )
}

#[test]
fn thousands_of_backup_objects_for_a_few_backups_are_named() {
    let finding = flood(7_411, 0).only("backup-objects-unbounded", Severity::Warning);
    assert!(finding.evidence[0].contains("3 completed, 7411 failed"), "{:?}", finding.evidence);
    flood(120, 0).only("backup-objects-unbounded", Severity::Warning);
    flood(30, 0).silent();
    flood(0, 60).no_archive().silent();
    flood(30, 60).no_archive().silent();
    // As many objects as base backups, however many.
    flood(0, 600).no_archive().silent();
    flood(7_411, 0).cluster(|c| c.backups = None).silent();
}

#[test]
fn a_base_backup_that_missed_two_runs_is_too_old_whatever_the_condition_says() {
    let finding = old_by(10.0).only("base-backup-too-old", Severity::Critical);
    assert!(finding.summary.contains("due 10 times since"), "{}", finding.summary);
    assert!(finding.evidence.iter().any(|line| line.contains("LastBackupSucceeded is True")), "{:?}", finding.evidence);
    old_by(1.0).only("base-backup-too-old", Severity::Warning);
    old_by(10.0).no_archive().only("base-backup-too-old", Severity::Critical);
    // The condition turned months ago and the bucket has last night's.
    old_by(0.0).silent();
}

#[test]
fn a_missed_run_has_its_grace() {
    // Due at 14:30, half an hour ago.
    let due = |expression: &'static str| {
        Scene::healthy().cluster(move |c| c.schedules.as_mut().unwrap()[0].expression = expression.into())
    };
    due("0 30 14 * * *").silent();
    due("0 30 13 * * *").only("base-backup-too-old", Severity::Warning);
    // It runs just now.
    with(due("0 30 13 * * *"), vec![object("app", 1.5 * HOUR, "running")]).silent();
    // Who says why it failed is heard.
    let mut failed = object("app", 1.5 * HOUR, "failed");
    failed.error = Some("exit status 4".into());
    let finding = with(due("0 30 13 * * *"), vec![failed]).only("base-backup-too-old", Severity::Warning);
    assert!(finding.cause.ends_with("failed: exit status 4"), "{}", finding.cause);
    // Snapshots are no base backup, and their schedule promises none.
    due("0 30 13 * * *").cluster(|c| c.schedules.as_mut().unwrap()[0].method = "volumeSnapshot".into()).silent();
}
