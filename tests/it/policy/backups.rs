use dalsegno::domain::{BackupStatus, Setting, Severity};

use super::scene::{DAY, HOUR, Scene, ago, at, backup, segment};

#[test]
fn an_unreadable_record_warns_and_a_folder_without_a_record_does_not() {
    let with = |status: BackupStatus| {
        Scene::healthy().archive(move |a| {
            let mut bad = backup(90.0 * HOUR, 80, 80);
            bad.status = status;
            a.backups.insert(0, bad);
        })
    };
    with(BackupStatus::Unreadable { why: "line 3 has no \"=\"".into() })
        .only("base-backup-metadata-unreadable", Severity::Warning);
    with(BackupStatus::NoRecord).silent();
}

#[test]
fn a_started_record_beside_complete_data_in_a_locking_bucket_is_named_and_a_running_backup_is_not() {
    let started = |age: f64, locks: bool| {
        Scene::healthy()
            .store(move |s| {
                if locks {
                    s.object_lock = Setting::Set(Some(("COMPLIANCE".into(), 30)));
                }
            })
            .archive(move |a| {
                let mut open = backup(age, 390, 391);
                (open.status, open.end_time, open.end_wal) = (BackupStatus::Started, None, None);
                a.backups.push(open);
            })
    };
    started(12.0 * HOUR, true).only("base-backup-metadata-locked", Severity::Critical);
    started(10.0 * 60.0, true).silent();
    started(12.0 * HOUR, false).silent();
    started(12.0 * HOUR, true).archive(|a| a.backups[3].missing = vec!["data.tar*".into()]).silent();
}

#[test]
fn a_killed_base_backup_is_told_after_a_day_or_when_a_later_one_began() {
    let started = |age: f64| {
        Scene::healthy().policy(|p| p.base_backup_every_seconds = None).archive(move |a| {
            let mut open = backup(age, 390, 391);
            (open.status, open.end_time, open.stored_bytes) = (BackupStatus::Started, None, 0);
            a.backups = vec![a.backups[0].clone(), open];
        })
    };
    started(30.0 * HOUR).only("base-backup-interrupted", Severity::Warning);
    started(3.0 * HOUR).silent();
}

#[test]
fn missing_objects_of_the_newest_base_backup_are_critical_and_of_an_older_one_a_warning() {
    let missing = |at: usize| Scene::healthy().archive(move |a| a.backups[at].missing = vec!["data_0001.tar".into()]);
    missing(2).only("base-backup-incomplete", Severity::Critical);
    missing(0).only("base-backup-incomplete", Severity::Warning);
}

#[test]
fn a_base_backup_from_next_year_is_named_and_one_from_seoul_is_not() {
    Scene::healthy()
        .archive(|a| {
            let mut future = backup(100.0 * HOUR, 90, 90);
            (future.id, future.end_time) = ("20271130T020000".into(), Some(at("2027-11-30T02:04:11Z")));
            a.backups.insert(0, future);
        })
        .only("base-backup-timestamp-in-future", Severity::Critical);
    // The id is local time nine hours ahead of UTC; the end carries its offset.
    Scene::healthy().archive(|a| a.backups[2].id = "20261130T235900".into()).silent();
}

#[test]
fn an_end_time_that_falls_while_the_wal_position_rises_is_named() {
    Scene::healthy()
        .archive(|a| a.backups[0].end_time = Some(ago(30.0 * HOUR)))
        .only("base-backup-timestamp-in-future", Severity::Critical);
}

#[test]
fn an_end_segment_that_never_arrived_is_critical_and_one_that_may_still_come_is_not() {
    let ended = |age: f64| {
        Scene::healthy().policy(|p| p.rpo_seconds = None).archive(move |a| {
            let mut newest = backup(age, 401, 401);
            newest.missing_wal = vec![segment(1, 401)];
            a.backups.push(newest);
        })
    };
    ended(12.0 * HOUR).only("base-backup-wal-not-archived", Severity::Critical);
    ended(90.0).silent();
    ended(12.0 * HOUR).policy(|p| p.archive_timeout_seconds = Some(DAY)).silent();
}
