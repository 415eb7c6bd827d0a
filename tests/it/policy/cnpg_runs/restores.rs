use dalsegno::domain::{ArchiveRef, CnpgFact, Severity};

use super::super::scene::{DAY, HOUR, ago, db, segment};
use super::scene::{Scene, cluster, condition, job, job_pod, object, plugin, recover, recovery};

const JOB: &str = "again-1-full-recovery";

/// The healthy Cluster `app`, and `again`, which is being recovered from its archive.
fn again(change: impl FnOnce(&mut CnpgFact)) -> Scene {
    let mut restored = recovery("again", "app");
    change(&mut restored);
    Scene::of(vec![restored, cluster("app")])
}

#[test]
fn a_recovery_that_is_under_way_is_silent() {
    again(|_| {}).silent();
    again(|c| {
        c.jobs = Some(vec![job(JOB, 1, 1)]);
        c.pods = Some(vec![job_pod(JOB, 0, &["FATAL: could not connect to the endpoint"])]);
    })
    .silent();
}

#[test]
fn a_named_base_backup_without_a_target_is_named() {
    let target = |target: &'static [(&'static str, &'static str)]| again(move |c| c.bootstrap = recover(|r| r.target = target));
    let finding = target(&[("backupID", "20261130T015900")]).only("restore-target-implicit-latest", Severity::Warning);
    assert_eq!(finding.subject, db("again"));
    assert!(finding.evidence[1].contains(&segment(1, 400)), "{:?}", finding.evidence);
    target(&[("backupID", "20261130T015900"), ("targetTLI", "latest")]).only("restore-target-implicit-latest", Severity::Warning);
    target(&[("backupID", "20261130T015900"), ("targetImmediate", "true")]).silent();
    target(&[("targetTime", "2026-11-30T12:00:00Z")]).silent();
    target(&[]).silent();
    again(|c| {
        c.bootstrap = recover(|r| (r.source, r.backup, r.backup_exists) = (None, Some("app-nightly"), Some(true)));
    })
    .only("restore-target-implicit-latest", Severity::Warning);
    // In use for months: what the manifest asked for then is over.
    again(|c| {
        c.bootstrap = recover(|r| r.target = &[("backupID", "20261130T015900")]);
        c.created = Some(ago(200.0 * DAY));
    })
    .silent();
}

/// The recovery of `again` from a snapshot of `app` that was taken at the age of that base backup.
fn from_snapshot(end: u64, stopped: f64, source: Option<&'static str>) -> Scene {
    let mut origin = cluster("app");
    let mut taken = object("app", stopped + 60.0, "completed");
    (taken.name, taken.method) = ("app-snap".into(), "volumeSnapshot".into());
    (taken.end_wal, taken.stopped) = (Some(segment(1, end)), Some(ago(stopped)));
    origin.backups.as_mut().unwrap().push(taken);
    let mut restored = recovery("again", "app");
    restored.cluster.namespace = "prod".into();
    restored.bootstrap = recover(|r| (r.source, r.snapshots) = (source, &[("storage", "app-snap")]));
    Scene::of(vec![restored, origin])
}

#[test]
fn a_recovery_from_a_snapshot_alone_ignores_the_archive() {
    let finding = from_snapshot(350, 30.0 * 60.0, None).only("restore-ignores-wal-archive", Severity::Warning);
    assert!(finding.evidence.iter().any(|line| line.contains(&segment(1, 400))), "{:?}", finding.evidence);
    from_snapshot(350, 30.0 * 60.0, Some("origin")).silent();
    // A cold one, taken after the last segment.
    from_snapshot(400, 60.0, None).silent();
    from_snapshot(350, 60.0, None).silent();
    from_snapshot(350, 30.0 * 60.0, None).no_archive().only("restore-ignores-wal-archive", Severity::Warning);
}

#[test]
fn a_recovery_without_database_and_owner_is_named() {
    let bare = |change: fn(&mut CnpgFact)| {
        again(move |c| {
            c.bootstrap = recover(|r| (r.database, r.secret) = (None, None));
            c.app_secret = Some(false);
            change(c);
        })
    };
    let finding = bare(|_| {}).only("restore-app-credentials-missing", Severity::Warning);
    assert!(finding.remedy.contains("{database: shop, owner: shop"), "{}", finding.remedy);
    bare(|c| c.managed_roles = vec!["shop".into()]).silent();
    bare(|c| c.app_secret = Some(true)).silent();
    bare(|c| c.created = Some(ago(30.0 * DAY))).silent();
    again(|c| c.app_secret = Some(false)).silent();
    // The source is app/app, as CNPG makes it by itself.
    let mut origin = cluster("app");
    origin.bootstrap = dalsegno::domain::Bootstrap::Initdb { database: None, owner: None, wal_segment_mb: None };
    let mut restored = recovery("again", "app");
    restored.bootstrap = recover(|r| (r.database, r.secret) = (None, None));
    restored.app_secret = Some(false);
    Scene::of(vec![restored.clone(), origin]).silent();
    // The source is gone: no Secret is all that can be seen; whether there is one was not looked at.
    Scene::of(vec![restored.clone()]).only("restore-app-credentials-missing", Severity::Warning);
    restored.app_secret = None;
    Scene::of(vec![restored]).silent();
}

#[test]
fn another_major_version_than_the_backup_is_named() {
    let finding = again(|c| c.major = Some(18)).only("restore-version-mismatch", Severity::Critical);
    assert!(finding.evidence[0].contains("150020") && finding.evidence[1].contains("PostgreSQL 18"), "{:?}", finding.evidence);
    again(|c| c.major = Some(15)).silent();
    again(|c| c.major = None).silent();
    // Restored long ago and upgraded in place since.
    again(|c| {
        c.major = Some(18);
        c.system_id = Some(dalsegno::domain::SystemId(1));
        c.ready_instances = Some(2);
    })
    .silent();
    // The bucket was not read, the Backup object tells.
    let mut origin = cluster("app");
    origin.backups.as_mut().unwrap()[2].name = "app-last".into();
    let mut restored = recovery("again", "app");
    restored.cluster.namespace = "prod".into();
    restored.major = Some(16);
    restored.bootstrap = recover(|r| {
        (r.source, r.backup, r.backup_exists) = (None, Some("app-last"), Some(true));
        r.target = &[("targetImmediate", "true")];
    });
    Scene::of(vec![restored, origin]).no_archive().only("restore-version-mismatch", Severity::Critical);
}

/// `again` with a data volume of so many GiB; the base backup has 42 GiB, 3,900 segments lie behind it.
fn volume(gib: u64, change: fn(&mut CnpgFact)) -> Scene {
    again(move |c| {
        c.storage = Some(gib << 30);
        change(c);
    })
    .archive(|a| {
        for backup in &mut a.backups {
            backup.cluster_size = Some(42 << 30);
        }
        a.newest_segment.as_mut().unwrap().name = segment(1, 300 + 3_899);
    })
}

#[test]
fn a_volume_that_cannot_hold_data_and_wal_is_named_before_it_is_full() {
    let apart = |c: &mut CnpgFact| c.wal_storage = Some(100 << 30);
    let finding = volume(50, apart).only("restore-volume-too-small", Severity::Warning);
    assert!(finding.cause.contains("42.0 GiB of data and up to 60.9 GiB of WAL"), "{}", finding.cause);
    volume(50, |_| {}).only("restore-volume-too-small", Severity::Warning);
    volume(104, apart).silent();
    volume(104, |_| {}).silent();
    // In-tree, WAL goes to the volume that is made for it.
    volume(50, |c| {
        c.wal_storage = Some(100 << 30);
        let Some(ArchiveRef::Plugin { location: Some(location), .. }) = c.externals[0].archive.clone() else { panic!() };
        c.externals[0].archive = Some(ArchiveRef::InTree { location });
    })
    .silent();
    volume(50, |c| c.storage = None).silent();
    volume(50, |c| (c.system_id, c.ready_instances) = (Some(dalsegno::domain::SystemId(1)), Some(1))).silent();
}

#[test]
fn a_bootstrap_source_that_is_gone_is_named() {
    let made = |change: fn(&mut super::scene::Recover)| {
        Scene::healthy().cluster(move |c| {
            c.bootstrap = recover(|r| {
                r.source = None;
                change(r);
            });
        })
    };
    let finding = made(|r| {
        r.snapshots = &[("storage", "old-snap")];
        r.snapshots_missing = Some(&["old-snap"]);
    })
    .only("bootstrap-source-missing", Severity::Warning);
    assert!(finding.cause.contains("VolumeSnapshot prod/old-snap is not there"), "{}", finding.cause);
    made(|r| {
        r.snapshots = &[("storage", "old-snap")];
        r.snapshots_missing = Some(&[]);
    })
    .silent();
    made(|r| (r.snapshots, r.snapshots_missing) = (&[("storage", "old-snap")], None)).silent();
    made(|r| (r.backup, r.backup_exists) = (Some("old"), Some(false))).only("bootstrap-source-missing", Severity::Warning);
    made(|r| (r.backup, r.backup_exists) = (Some("old"), Some(true))).silent();
    made(|r| (r.backup, r.backup_exists) = (Some("old"), None)).silent();
    made(|r| r.source = Some("nobody")).only("bootstrap-source-missing", Severity::Warning);
    // The prefix is there, and nothing in it can be restored.
    again(|_| {})
        .archive(|a| a.backups.iter_mut().for_each(|backup| backup.status = dalsegno::domain::BackupStatus::NoRecord))
        .findings()
        .iter()
        .find(|finding| finding.code == "bootstrap-source-missing")
        .unwrap();
}

/// A recovery whose job failed, with what its pods said.
fn failed(times: u32, given_up: bool, pods: &'static [&'static str]) -> Scene {
    again(move |c| {
        let mut failed = job(JOB, times, u32::from(!given_up));
        if given_up {
            let mut condition = condition("Failed", "True", 16.0 * HOUR);
            condition.reason = "BackoffLimitExceeded".into();
            failed.conditions.push(condition);
        }
        c.jobs = Some(vec![failed]);
        c.pods = Some((0..).zip(pods).map(|(number, line)| job_pod(JOB, number, &[line])).collect());
    })
}

#[test]
fn a_recovery_that_failed_for_good_is_named_with_what_its_first_pod_said() {
    let finding =
        failed(7, true, &["FATAL: something else", "ERROR: a consequence"]).only("restore-job-failed", Severity::Critical);
    assert!(finding.cause.contains("FATAL: something else"), "{}", finding.cause);
    assert!(finding.summary.contains("\"Setting up primary\""), "{}", finding.summary);
    failed(7, true, &[]).only("restore-job-failed", Severity::Critical);
    failed(1, false, &["FATAL: something else"]).silent();
    // It came up after all.
    failed(7, true, &[]).cluster(|c| c.ready_instances = Some(1)).silent();
    // Jobs were not looked at.
    failed(7, true, &[]).cluster(|c| c.jobs = None).silent();
}

#[test]
fn a_job_that_tries_the_same_bad_backup_again_is_told_with_its_first_failure() {
    let pods: &[&str] = &[
        "FATAL:  WAL ends before end of online backup",
        "FATAL:  WAL ends before end of online backup",
        "ERROR: Barman cloud restore exception: [Errno 28] No space left on device",
    ];
    let finding = failed(7, true, pods)
        .archive(|a| a.backups[2].missing_wal = vec![segment(1, 301)])
        .findings()
        .into_iter()
        .find(|finding| finding.code == "restore-retrying-bad-backup")
        .unwrap();
    assert!(
        finding.cause.contains("first failure was \"FATAL:  WAL ends") && finding.cause.contains("Errno 28"),
        "{}",
        finding.cause
    );
    assert!(finding.remedy.contains("pin recoveryTarget.backupID to 20261129T015900"), "{}", finding.remedy);
    failed(7, true, pods).only("restore-retrying-bad-backup", Severity::Critical);
    // The second pod runs; whether it goes better this time is not known yet.
    failed(1, false, &pods[..1]).silent();
}

#[test]
fn a_checkpoint_that_lies_whole_in_the_bucket_fails_by_a_race() {
    let race = |parallel: Option<u32>| {
        again(move |c| {
            let mut from = plugin("app");
            let ArchiveRef::Plugin { location: Some(location), .. } = &mut from else { panic!() };
            location.wal_parallel = parallel;
            c.externals[0].archive = Some(from);
            c.jobs = Some(vec![job(JOB, 2, 1)]);
            c.pods = Some(vec![job_pod(JOB, 0, &["FATAL:  could not locate required checkpoint record at 54/B8011F98"])]);
        })
    };
    let finding = race(Some(8)).only("restore-parallel-race", Severity::Warning);
    assert!(finding.summary.contains("maxParallel 8"), "{}", finding.summary);
    race(Some(1)).silent();
    race(None).silent();
    // The archive is not whole: that is the cause then, and told elsewhere.
    race(Some(8)).archive(|a| a.malformed_objects.push(("wals/x".into(), "zeros".into()))).silent();
    // It was not looked at.
    race(Some(8)).no_archive().silent();
}
