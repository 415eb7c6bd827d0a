use dalsegno::domain::{BackupStatus, Dialect, Immutability, LifecycleRule, Right, Setting, Severity, StoreFact, UploadSeen};
use dalsegno::policy::{archive_clears, store_clears};

use super::scene::{DAY, HOUR, Scene, ago, at, backup};

fn rule() -> LifecycleRule {
    LifecycleRule {
        id: "all".into(),
        enabled: true,
        prefix: String::new(),
        expire_days: None,
        noncurrent_days: None,
        abort_multipart_days: None,
        transition: None,
        narrowed: false,
    }
}

fn upload(key: &str, age: f64) -> UploadSeen {
    UploadSeen { key: key.into(), initiated: Some(ago(age)) }
}

#[test]
fn a_healthy_store_is_silent() {
    Scene::healthy().silent();
}

#[test]
fn a_region_with_a_newline_is_named_and_us_east_1_on_minio_is_not() {
    Scene::healthy().store(|s| s.region = "auto\n".into()).only("s3-region-invalid", Severity::Critical);
    Scene::healthy().store(|s| s.region = String::new()).silent();
}

#[test]
fn r2_takes_auto_and_refuses_a_foreign_region() {
    let r2 = |region: &str| Scene::healthy().store(|s| (s.dialect, s.region) = (Dialect::R2, region.into()));
    for wrong in ["eu-central-1", "WNAM", "weur"] {
        r2(wrong).only("s3-region-invalid", Severity::Critical);
    }
    for fine in ["auto", "us-east-1", ""] {
        r2(fine).silent();
    }
}

#[test]
fn the_place_that_r2_names_is_no_signing_region_to_compare_with() {
    Scene::healthy()
        .store(|s| (s.dialect, s.region, s.bucket_region) = (Dialect::R2, "auto".into(), Some("WNAM".into())))
        .silent();
    Scene::healthy()
        .store(|s| (s.dialect, s.region, s.bucket_region) = (Dialect::Aws, "us-east-1".into(), Some("eu-west-1".into())))
        .only("s3-region-invalid", Severity::Critical);
}

#[test]
fn an_endpoint_with_a_path_and_nothing_behind_it_is_named_and_a_proxy_path_that_answers_is_not() {
    let path =
        |objects| Scene::healthy().store(|s| s.endpoint = "https://acct.example.net/dr".into()).archive(|a| a.objects = objects);
    path(310).silent();
    let empty = Scene::healthy().store(|s| s.endpoint = "https://acct.example.net/dr/".into()).archive(|a| {
        a.objects = 0;
        a.backups.clear();
        a.windows.clear();
        a.segments = 0;
        a.systems.clear();
    });
    let codes = empty.codes();
    assert!(codes.contains(&("s3-endpoint-has-path".into(), Severity::Critical)), "{codes:?}");
    let slash = Scene::healthy().store(|s| s.endpoint = "https://minio.lan:9000/".into());
    slash.silent();
}

#[test]
fn clock_skew_warns_from_a_minute_and_is_critical_beyond_fifteen() {
    for sign in [1.0, -1.0] {
        Scene::healthy().store(|s| s.clock_skew_seconds = Some(sign * 2.0)).silent();
        Scene::healthy().store(|s| s.clock_skew_seconds = Some(sign * 240.0)).only("s3-clock-skew", Severity::Warning);
        Scene::healthy().store(|s| s.clock_skew_seconds = Some(sign * 1370.0)).only("s3-clock-skew", Severity::Critical);
    }
    let ahead = Scene::healthy().store(|s| s.clock_skew_seconds = Some(-1370.0)).only("s3-clock-skew", Severity::Critical);
    assert!(ahead.summary.contains("ahead of"), "{}", ahead.summary);
}

#[test]
fn a_certificate_that_ends_in_four_days_warns_and_a_renewed_seven_day_one_does_not() {
    let certificate = |from: &str, until: &str| {
        let (from, until) = (at(from), at(until));
        Scene::healthy().store(move |s| {
            let certificate = s.certificate.as_mut().unwrap();
            (certificate.not_before, certificate.not_after) = (from, until);
        })
    };
    certificate("2026-09-05T00:00:00Z", "2026-12-04T00:00:00Z").only("s3-certificate-expiring", Severity::Warning);
    certificate("2026-09-05T00:00:00Z", "2026-12-01T00:00:00Z").only("s3-certificate-expiring", Severity::Critical);
    certificate("2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z").silent();
    certificate("2026-11-24T00:00:00Z", "2026-12-01T00:00:00Z").only("s3-certificate-expiring", Severity::Warning);
}

#[test]
fn a_key_that_may_not_list_is_named_and_one_that_may_not_write_is_as_it_should_be() {
    Scene::healthy().store(|s| s.rights.list = Right::No).only("s3-permissions-incomplete", Severity::Critical);
    Scene::healthy().store(|s| s.rights.read = Right::No).only("s3-permissions-incomplete", Severity::Critical);
    Scene::healthy().store(|s| (s.rights.write, s.rights.list_uploads) = (Right::No, Right::No)).silent();
}

#[test]
fn an_upload_from_last_week_is_told_and_one_of_a_running_backup_is_not() {
    let with = |age| {
        Scene::healthy().store(move |s| s.uploads = Setting::Set(vec![upload("cnpg/app/base/20261130T144000/data.tar.gz", age)]))
    };
    with(7.0 * DAY).only("s3-stale-multipart-uploads", Severity::Info);
    with(20.0 * 60.0).silent();
}

#[test]
fn r2_names_uneven_parts_by_the_failed_backup_or_by_an_upload_that_nothing_followed() {
    let r2 = || Scene::healthy().store(|s| (s.dialect, s.region) = (Dialect::R2, "auto".into()));
    let failed = |error: &'static str| {
        r2().archive(move |a| {
            let mut failed = backup(2.0 * HOUR, 390, 390);
            failed.status = BackupStatus::Failed { error: error.into() };
            a.backups.push(failed);
        })
    };
    failed("InvalidPart when calling CompleteMultipartUpload").only("r2-multipart-nonuniform", Severity::Critical);
    failed("connection reset by peer").only("base-backup-failed", Severity::Warning);
    let open = |age| r2().store(move |s| s.uploads = Setting::Set(vec![upload("cnpg/app/base/20261130T120000/data.tar", age)]));
    open(3.0 * HOUR).only("r2-multipart-nonuniform", Severity::Critical);
    open(0.5 * HOUR).silent();
    // A later base backup is done: the open upload is only a left-over.
    open(40.0 * HOUR).only("s3-stale-multipart-uploads", Severity::Info);
}

#[test]
fn old_versions_that_outweigh_the_current_ones_are_told_unless_a_rule_ends_them() {
    let versions =
        |bytes| Scene::healthy().store(move |s| (s.versioning, s.version_bytes) = (Setting::Set("Enabled".into()), Some(bytes)));
    versions((41_200_000_000, 1_980_000_000_000)).only("s3-noncurrent-versions-unbounded", Severity::Info);
    versions((41_200_000_000, 2_000_000_000)).silent();
    versions((41_200_000_000, 1_980_000_000_000))
        .store(|s| s.lifecycle = Setting::Set(vec![LifecycleRule { noncurrent_days: Some(7), ..rule() }]))
        .silent();
    versions((41_200_000_000, 1_980_000_000_000))
        .store(|s| s.object_lock = Setting::Set(Some(("COMPLIANCE".into(), 30))))
        .silent();
}

#[test]
fn claimed_immutability_must_be_shown() {
    let claim = |lock: Setting<Option<(String, i32)>>| {
        Scene::healthy().store(move |s| (s.claimed_immutability, s.object_lock) = (Some(Immutability::ObjectLock), lock))
    };
    for lock in [Setting::NotImplemented, Setting::Absent, Setting::Set(None)] {
        let finding = claim(lock).only("store-immutability-not-proven", Severity::Warning);
        assert!(!finding.could_not_look);
    }
    assert!(claim(Setting::Denied).only("store-immutability-not-proven", Severity::Warning).could_not_look);
    claim(Setting::Set(Some(("GOVERNANCE".into(), 7)))).silent();
    Scene::healthy().store(|s| s.claimed_immutability = Some(Immutability::None)).silent();
}

#[test]
fn a_lifecycle_rule_shorter_than_window_plus_interval_is_named_and_its_harmless_kin_are_not() {
    let with = |rule: LifecycleRule| {
        Scene::healthy()
            .policy(|p| (p.retention_seconds, p.base_backup_every_seconds) = (Some(2.0 * DAY), Some(7.0 * DAY)))
            .store(move |s| s.lifecycle = Setting::Set(vec![rule]))
    };
    let code = "lifecycle-conflicts-with-retention";
    with(LifecycleRule { expire_days: Some(9), ..rule() }).only(code, Severity::Critical);
    with(LifecycleRule { expire_days: Some(9), prefix: "cnpg/ap".into(), ..rule() }).only(code, Severity::Critical);
    with(LifecycleRule { expire_days: Some(9), prefix: "cnpg/app/wals/".into(), ..rule() }).only(code, Severity::Critical);
    with(LifecycleRule { transition: Some((3, "GLACIER".into())), ..rule() }).only(code, Severity::Critical);
    with(LifecycleRule { expire_days: Some(9), narrowed: true, ..rule() }).only(code, Severity::Warning);
    for harmless in [
        LifecycleRule { expire_days: Some(10), ..rule() },
        LifecycleRule { expire_days: Some(1), enabled: false, ..rule() },
        LifecycleRule { expire_days: Some(1), prefix: "velero/".into(), ..rule() },
        LifecycleRule { noncurrent_days: Some(1), abort_multipart_days: Some(1), ..rule() },
        LifecycleRule { transition: Some((1, "STANDARD_IA".into())), ..rule() },
    ] {
        with(harmless).silent();
    }
}

#[test]
fn settings_that_the_key_may_not_ask_for_are_told_once_as_worth_knowing() {
    let finding = Scene::healthy()
        .store(|s| (s.lifecycle, s.uploads) = (Setting::Denied, Setting::Denied))
        .only("store-settings-not-readable", Severity::Info);
    assert!(!finding.could_not_look, "a key with the least rights must not stop the heartbeat");
    for right in ["s3:GetLifecycleConfiguration", "s3:ListBucketMultipartUploads"] {
        assert!(finding.summary.contains(right), "{}", finding.summary);
    }
    Scene::healthy().store(|s| (s.lifecycle, s.object_lock) = (Setting::NotImplemented, Setting::NotImplemented)).silent();
}

#[test]
fn a_finding_is_cleared_only_by_what_its_rule_reads() {
    let clears = |code: &str, change: fn(&mut StoreFact), parts: bool| {
        let mut fact = super::scene::store();
        change(&mut fact);
        store_clears(code, &fact, parts)
    };
    for (code, blind) in [
        ("lifecycle-conflicts-with-retention", (|s| s.lifecycle = Setting::Denied) as fn(&mut StoreFact)),
        ("s3-stale-multipart-uploads", |s| s.uploads = Setting::NotAsked),
        ("r2-multipart-nonuniform", |s| s.uploads = Setting::Denied),
        ("s3-certificate-expiring", |s| s.certificate = None),
        ("s3-noncurrent-versions-unbounded", |s| s.versioning = Setting::Denied),
        ("store-immutability-not-proven", |s| {
            (s.object_lock, s.claimed_immutability) = (Setting::NotAsked, Some(Immutability::ObjectLock));
        }),
    ] {
        assert!(clears(code, |_| {}, false), "{code}");
        assert!(!clears(code, blind, false), "{code}");
        assert!(!clears(code, |_| {}, true), "{code}");
    }
    assert!(clears("object-store-outage", |s| s.lifecycle = Setting::NotAsked, true));
    assert!(clears("s3-certificate-expiring", |s| (s.certificate, s.endpoint) = (None, "http://minio.lan:9000".into()), false));
    let locked = |change: fn(&mut StoreFact), parts: bool| {
        let mut fact = super::scene::store();
        change(&mut fact);
        archive_clears("base-backup-metadata-locked", Some(&fact), parts)
    };
    assert!(locked(|_| {}, false));
    assert!(!locked(|s| s.object_lock = Setting::Denied, false) && !locked(|_| {}, true));
    assert!(!archive_clears("base-backup-metadata-locked", None, false) && archive_clears("wal-gap", None, false));
}
