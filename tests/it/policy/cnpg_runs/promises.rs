use dalsegno::domain::{ArchiveRef, BackupStatus, Keep, LiveLocation, Severity};

use super::super::scene::{DAY, HOUR, ago, db, segment};
use super::scene::{Scene, cluster, condition, event, job_pod, object, pod, schedule};

fn window(first: f64) -> Scene {
    Scene::healthy().cluster(move |c| c.object_stores[0].windows.get_mut("app").unwrap().first = Some(ago(first)))
}

#[test]
fn a_window_that_stands_still_behind_its_retention_is_named() {
    let finding = window(90.0 * DAY)
        .cluster(|c| c.events = Some(vec![event("Cluster app", "RetentionPolicyFailed", "exit status 4", HOUR)]))
        .only("recovery-window-unreliable", Severity::Warning);
    assert!(finding.cause.contains("90 d old under a retention of 30d"), "{}", finding.cause);
    assert!(finding.evidence.iter().any(|line| line.contains("exit status 4")), "{:?}", finding.evidence);
}

#[test]
fn a_window_up_to_retention_and_an_interval_is_as_it_should_be() {
    window(30.9 * DAY).silent();
    // Nothing is promised, so nothing is removed.
    window(900.0 * DAY)
        .cluster(|c| {
            let ArchiveRef::Plugin { location: Some(location), .. } = &mut c.archivers[0] else { panic!() };
            location.retention = None;
        })
        .silent();
    // Somebody asked to keep an old one.
    window(90.0 * DAY).archive(|a| a.backups[0].keep = Some(Keep::Full)).silent();
    window(90.0 * DAY).cluster(|c| c.object_stores.clear()).silent();
}

#[test]
fn a_store_without_a_window_for_a_server_that_has_backups_is_named() {
    let nothing = || {
        Scene::healthy().cluster(|c| {
            let window = c.object_stores[0].windows.remove("app").unwrap();
            c.object_stores[0].windows.insert("old".into(), window);
        })
    };
    let finding = nothing().only("recovery-window-unreliable", Severity::Warning);
    assert!(finding.evidence.contains(&"servers that it knows beside: old".to_owned()), "{:?}", finding.evidence);
    nothing().cluster(|c| c.backups = Some(Vec::new())).silent();
    nothing().cluster(|c| c.backups = None).silent();
    // The first one ended minutes ago.
    nothing().cluster(|c| c.backups = Some(vec![object("app", 600.0, "completed")])).silent();
}

/// Archiving fails since six days; the plugin went on making base backups whose end is not there.
fn without_wal(missing: bool) -> Scene {
    Scene::healthy()
        .archive(move |a| {
            if missing {
                for backup in &mut a.backups {
                    backup.missing_wal = vec![segment(1, 450)];
                    backup.end_wal = Some(segment(1, 450));
                }
            }
        })
        .cluster(|c| {
            c.conditions[1] = condition("ContinuousArchiving", "False", 6.0 * DAY);
            for backup in c.backups.as_mut().unwrap() {
                backup.end_wal = Some(segment(1, 450));
            }
        })
}

#[test]
fn base_backups_that_complete_while_archiving_fails_are_named_once() {
    let finding = without_wal(true).only("base-backup-completed-without-wal", Severity::Critical);
    assert!(finding.summary.starts_with("3 completed base backup(s)"), "{}", finding.summary);
    assert!(
        finding.evidence.iter().any(|line| line.contains("newest segment in the bucket: 00000001000000010000009")),
        "{:?}",
        finding.evidence
    );
    // Without the bucket the condition is all there is.
    without_wal(true).no_archive().only("base-backup-completed-without-wal", Severity::Critical);
    // Without the Cluster the bucket says it alone.
    let codes: Vec<String> =
        without_wal(true).cluster(|c| c.conditions.clear()).findings().into_iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["base-backup-wal-not-archived"]);
}

#[test]
fn base_backups_whose_end_arrived_are_fine_whatever_the_condition_says() {
    without_wal(false).silent();
    // Before archiving broke.
    without_wal(true)
        .archive(|a| a.backups.iter_mut().for_each(|backup| backup.missing_wal.clear()))
        .cluster(|c| c.conditions[1] = condition("ContinuousArchiving", "False", HOUR))
        .silent();
    // The in-tree way waits for archiving by itself.
    without_wal(false)
        .cluster(|c| c.backups.as_mut().unwrap().iter_mut().for_each(|b| b.method = "barmanObjectStore".into()))
        .silent();
}

fn two_sites(other: impl FnOnce(&mut LiveLocation)) -> Scene {
    let mut copy = cluster("copy");
    copy.replica_of = Some("app".into());
    // Written by the same name: the path with a slash at its end is the same path.
    let ArchiveRef::Plugin { location: Some(location), .. } = &mut copy.archivers[0] else { panic!() };
    location.server = "app".into();
    other(location);
    copy.object_stores.clear();
    Scene::of(vec![cluster("app"), copy])
}

#[test]
fn two_retentions_on_one_prefix_are_told_at_the_longer_one() {
    let finding =
        two_sites(|location| location.retention = Some("7d".into())).only("retention-policy-conflict", Severity::Critical);
    assert_eq!(finding.subject, db("app"));
    assert!(finding.evidence.iter().any(|line| line.contains("30d")) && finding.evidence.iter().any(|line| line.contains("7d")));
    let finding =
        two_sites(|location| location.retention = Some("12w".into())).only("retention-policy-conflict", Severity::Critical);
    assert_eq!(finding.subject, db("copy"), "the longer promise is the one that is broken");
}

#[test]
fn retentions_that_do_not_meet_are_silent() {
    two_sites(|location| location.retention = None).silent();
    two_sites(|location| location.retention = Some("30d".into())).silent();
    two_sites(|location| (location.retention, location.server) = (Some("7d".into()), "copy".into())).silent();
    two_sites(|location| (location.retention, location.bucket) = (Some("7d".into()), Some("other".into()))).silent();
    two_sites(|location| (location.retention, location.path) = (Some("7d".into()), Some("cnpg/app".into()))).silent();
}

fn snapshots_only() -> Scene {
    Scene::healthy()
        .archive(|a| {
            a.backups.clear();
            a.windows.clear();
            a.known_backups = 0;
            a.oldest_segment.as_mut().unwrap().written = Some(ago(540.0 * DAY));
        })
        .cluster(|c| {
            c.volume_snapshots = true;
            c.schedules.as_mut().unwrap()[0].method = "volumeSnapshot".into();
            c.backups.as_mut().unwrap().iter_mut().for_each(|backup| backup.method = "volumeSnapshot".into());
        })
}

#[test]
fn wal_in_the_bucket_with_bases_in_snapshots_only_is_named_once() {
    let finding = snapshots_only().only("base-backup-not-offsite", Severity::Critical);
    assert!(finding.evidence[0].contains("540 d ago"), "{:?}", finding.evidence);
    // A base backup in the bucket, by any schedule or none.
    Scene::healthy().cluster(|c| c.schedules.as_mut().unwrap()[0].method = "volumeSnapshot".into()).silent();
    snapshots_only().no_archive().silent();
    // A schedule for the bucket is there and did not run yet: an archive without a base, told as that.
    let codes: Vec<String> = snapshots_only()
        .cluster(|c| c.schedules.as_mut().unwrap().push(schedule("app", "offsite", "0 0 4 * * 0")))
        .findings()
        .into_iter()
        .map(|finding| finding.code)
        .collect();
    assert!(
        codes.contains(&"wal-without-base-backup".to_owned()) && !codes.contains(&"base-backup-not-offsite".to_owned()),
        "{codes:?}"
    );
}

#[test]
fn a_tablespace_that_is_in_no_base_backup_is_named() {
    let with = |held: &'static [(&'static str, u32)], missing: &'static [&'static str], spec: &'static [&'static str]| {
        Scene::healthy()
            .archive(|a| {
                for backup in &mut a.backups {
                    backup.tablespaces = Some(held.iter().map(|(name, oid)| ((*name).to_owned(), *oid)).collect());
                }
                a.backups[2].missing = missing.iter().map(|name| (*name).to_owned()).collect();
            })
            .cluster(|c| c.tablespaces = spec.iter().map(|name| (*name).to_owned()).collect())
    };
    let finding = with(&[("tbs1", 16400)], &["16400.tar*"], &["tbs1", "archive2"])
        .only("base-backup-tablespace-missing", Severity::Critical);
    assert!(
        finding.cause.contains("16400.tar* (tbs1)") && finding.cause.contains("archive2 was added after"),
        "{}",
        finding.cause
    );
    with(&[("tbs1", 16400)], &[], &["tbs1", "archive2"]).only("base-backup-tablespace-missing", Severity::Critical);
    with(&[("tbs1", 16400)], &["16400.tar*"], &["tbs1"]).only("base-backup-tablespace-missing", Severity::Critical);
    with(&[("tbs1", 16400)], &[], &["tbs1"]).silent();
    with(&[], &[], &[]).silent();
    // The main tar is missing: that is more than a tablespace.
    with(&[("tbs1", 16400)], &["data.tar*"], &["tbs1"]).only("base-backup-incomplete", Severity::Critical);
    // The record was not read.
    with(&[], &[], &["tbs1"]).archive(|a| a.backups[2].tablespaces = None).silent();
    with(&[], &[], &["tbs1"])
        .archive(|a| {
            a.backups.iter_mut().for_each(|backup| backup.status = BackupStatus::Started);
            a.backups.clear();
        })
        .cluster(|c| c.backups = None)
        .cluster(|c| c.schedules = None)
        .findings()
        .iter()
        .for_each(|finding| assert_ne!(finding.code, "base-backup-tablespace-missing"));
}

#[test]
fn a_backup_that_fills_the_pods_temporary_space_is_named() {
    let evicted = |name: &'static str, message: &'static str| {
        Scene::healthy().cluster(move |c| {
            let mut pod = pod(name, "replica");
            (pod.phase, pod.reason, pod.message) = (Some("Failed".into()), Some("Evicted".into()), Some(message.into()));
            c.pods.as_mut().unwrap().push(pod);
        })
    };
    let limit = "Usage of EmptyDir volume \"scratch-data\" exceeds the limit \"1Gi\". ";
    let finding = evicted("app-2", limit).only("backup-temp-space-exhausted", Severity::Warning);
    assert!(finding.summary.contains("scratch-data"), "{}", finding.summary);
    evicted("app-2", "The node was low on resource: memory.").silent();

    let failed = |error: &'static str, age: f64| {
        Scene::healthy().cluster(move |c| {
            let mut backup = object("app", age, "failed");
            backup.error = Some(error.into());
            c.backups.as_mut().unwrap().push(backup);
        })
    };
    failed("Barman cloud backup exception: [Errno 28] No space left on device", HOUR)
        .only("backup-temp-space-exhausted", Severity::Warning);
    failed("exit status 4", HOUR).silent();
    // A later one went through.
    failed("Barman cloud backup exception: [Errno 28] No space left on device", 30.0 * HOUR).silent();

    let logged = |line: &'static str, job: bool| {
        Scene::healthy().cluster(move |c| {
            let mut pod = if job { job_pod("app-1-full-recovery", 0, &[]) } else { pod("app-2", "replica") };
            pod.log = Some(vec![line.into()]);
            c.pods.as_mut().unwrap().push(pod);
        })
    };
    logged("ERROR: Barman cloud backup exception: [Errno 28] No space left on device", false)
        .only("backup-temp-space-exhausted", Severity::Warning);
    logged("FATAL: could not write to file \"pg_wal/xlogtemp\": No space left on device", false).silent();
    logged("ERROR: Barman cloud restore exception: [Errno 28] No space left on device", true).silent();
}
