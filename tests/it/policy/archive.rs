use dalsegno::domain::{EmptyObject, OrphanHistory, PartialInside, Severity, SystemId, SystemSeen, WalGap};

use super::scene::{DAY, HOUR, Scene, ago, backup, seen, segment, window};

fn hole(first: u64, last: u64) -> WalGap {
    WalGap {
        timeline: 1,
        first: segment(1, first),
        last: segment(1, last),
        count: last - first + 1,
        cuts_newest: true,
        later_written: Some(ago(6.0 * HOUR)),
        seen_before: false,
    }
}

#[test]
fn two_systems_in_one_prefix_are_named_and_a_promoted_timeline_of_one_is_not() {
    Scene::healthy()
        .archive(|a| {
            a.systems.push(SystemSeen { system_id: SystemId(42), seen_in: vec![segment(1, 107)], newest: Some(ago(60.0)) });
        })
        .only("wal-chain-mixed-system-id", Severity::Critical);
    Scene::healthy().archive(|a| a.newest_segment = Some(seen(2, 401, ago(60.0)))).silent();
}

#[test]
fn a_system_other_than_the_configured_one_is_named() {
    Scene::healthy().archive(|a| a.expected_system = Some(SystemId(42))).only("archive-system-unexpected", Severity::Critical);
    Scene::healthy().archive(|a| a.expected_system = Some(SystemId(7_713_982_968_056_631_495))).silent();
}

#[test]
fn framing_is_one_finding_and_swallows_what_it_explains() {
    use dalsegno::domain::BackupStatus;
    Scene::healthy()
        .archive(|a| {
            a.backups[2].status = BackupStatus::Unreadable { why: "line 1: 53b".into() };
            let info = format!("cnpg/app/base/{}/backup.info", a.backups[2].id);
            a.framed_objects = vec![info, "cnpg/app/wals/x".into()];
            a.malformed_objects = vec![("cnpg/app/wals/x".into(), "hex length line".into())];
            a.windows.pop();
        })
        .policy(|p| p.base_backup_every_seconds = None)
        .only("s3-objects-carry-chunk-framing", Severity::Critical);
}

#[test]
fn an_object_that_is_no_segment_is_named() {
    Scene::healthy()
        .archive(|a| a.malformed_objects = vec![("cnpg/app/wals/x".into(), "starts with <?xml".into())])
        .only("wal-object-malformed", Severity::Critical);
}

#[test]
fn an_empty_segment_is_named_once_and_one_that_no_backup_needs_is_not() {
    let empty = |number: u64| {
        Scene::healthy().archive(move |a| {
            let key = seen(1, number, ago(1.0)).key;
            a.empty_objects = vec![EmptyObject { key, written: Some(ago(HOUR)) }];
            a.gaps = vec![hole(number, number)];
        })
    };
    empty(350).only("wal-segment-empty", Severity::Critical);
    empty(50).silent();
}

#[test]
fn a_partial_inside_the_chain_is_named_once() {
    let partial = |number: u64| {
        Scene::healthy().archive(move |a| {
            a.partials_inside = vec![PartialInside { segment: segment(1, number), key: "k.partial.gz".into() }];
            a.gaps = vec![hole(number, number)];
        })
    };
    partial(350).only("wal-partial-inside-chain", Severity::Critical);
    partial(50).silent();
}

#[test]
fn a_hole_behind_a_base_backup_is_critical_and_one_that_may_still_fill_is_not_told() {
    let with = |gap: WalGap| Scene::healthy().archive(move |a| a.gaps = vec![gap]);
    let finding = with(hole(350, 352)).only("wal-gap", Severity::Critical);
    assert!(finding.summary.contains("3 segments missing"), "{}", finding.summary);
    with(WalGap { cuts_newest: false, ..hole(150, 150) }).only("wal-gap", Severity::Warning);
    let young = WalGap { later_written: Some(ago(60.0)), ..hole(399, 399) };
    with(young.clone()).silent();
    // What lay there at an earlier pass does not arrive late: it is gone.
    with(WalGap { seen_before: true, ..young }).only("wal-gap", Severity::Critical);
    with(hole(40, 60)).silent();
}

#[test]
fn an_orphan_history_is_told_by_time_or_by_descent_and_a_fresh_promotion_is_not() {
    let history = |parent, written: f64, older: f64| {
        Scene::healthy().archive(move |a| {
            a.newest_segment = Some(seen(2, 400, ago(older)));
            a.orphan_histories = vec![OrphanHistory {
                timeline: 3,
                key: "cnpg/app/wals/00000003.history.gz".into(),
                parent: Some(parent),
                written: Some(ago(written)),
                older_timeline_written: Some(ago(older)),
            }];
        })
    };
    // The cluster went on without it.
    history(2, 3.0 * DAY, 60.0).only("wal-orphan-timeline", Severity::Critical);
    // It does not descend from the newest timeline, however fresh it is.
    history(1, 60.0, 600.0).only("wal-orphan-timeline", Severity::Critical);
    // Right after a failover.
    history(2, 60.0, 120.0).silent();
}

#[test]
fn a_catalogue_that_shrank_is_told_and_retention_at_work_is_not() {
    let vanished = |ids: Vec<String>, known| {
        Scene::healthy().policy(|p| p.retention_seconds = Some(2.0 * DAY)).archive(move |a| {
            a.vanished_backups = ids;
            a.known_backups = known;
        })
    };
    vanished(vec![backup(90.0 * HOUR, 1, 1).id], 4).silent();
    vanished(vec![backup(14.0 * HOUR, 1, 1).id], 4).only("backup-catalog-shrank", Severity::Warning);
    let all: Vec<String> = (0..30).map(|n| backup(f64::from(n) * DAY, 1, 1).id).collect();
    vanished(all.clone(), 30)
        .archive(|a| {
            a.backups.clear();
            a.windows.clear();
        })
        .only("backup-catalog-shrank", Severity::Critical);
    // Without a promised retention one backup less is no news, most of them at once is.
    let unpromised = |ids: Vec<String>| vanished(ids, 30).policy(|p| p.retention_seconds = None);
    unpromised(all[29..].to_vec()).silent();
    unpromised(all[5..].to_vec()).only("backup-catalog-shrank", Severity::Critical);
}

#[test]
fn wal_without_a_base_backup_is_critical_once_the_first_one_is_overdue() {
    let bare = |oldest: f64| {
        Scene::healthy().archive(move |a| {
            a.backups.clear();
            a.windows.clear();
            a.known_backups = 0;
            a.oldest_segment = Some(seen(1, 100, ago(oldest)));
        })
    };
    bare(3.0 * DAY).only("wal-without-base-backup", Severity::Critical);
    bare(20.0 * 60.0).silent();
}

#[test]
fn an_empty_place_is_never_fine() {
    Scene::healthy()
        .archive(|a| {
            a.objects = 0;
            a.segments = 0;
            a.backups.clear();
            a.windows.clear();
            a.systems.clear();
            a.known_backups = 0;
            (a.oldest_segment, a.newest_segment, a.end) = (None, None, None);
        })
        .only("archive-empty", Severity::Critical);
}

#[test]
fn a_window_that_only_looks_long_is_told_instead_of_the_hole_in_it() {
    let scene = |broken: bool| {
        Scene::healthy().policy(|p| p.retention_seconds = Some(30.0 * DAY)).archive(move |a| {
            let old = backup(110.0 * DAY, 10, 11);
            let mut cut = window(&old, 20, ago(109.0 * DAY));
            if broken {
                cut.broken_at = Some(segment(1, 21));
                a.gaps = vec![WalGap { cuts_newest: false, ..hole(21, 99) }];
            }
            a.windows.insert(0, cut);
            a.backups.insert(0, old);
        })
    };
    scene(true).only("recovery-window-overstated", Severity::Warning);
    scene(false).silent();
    // A backup that is kept for its own moment alone promises nothing more.
    scene(true)
        .archive(|a| {
            a.backups[0].keep = Some(dalsegno::domain::Keep::Standalone);
            a.gaps.clear();
        })
        .silent();
}
