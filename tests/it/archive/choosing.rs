use std::cmp::Ordering;

use dalsegno::archive::{Compression, RecoveryTarget, Refusal, WalHeader, segment_key};
use dalsegno::domain::{Explained, SystemId};
use jiff::SignedDuration;
use proptest::prelude::*;

use super::builder::{Archive, SIZE, name, segment};

fn refused(archive: &Archive) -> Refusal {
    archive.catalogue.choose(RecoveryTarget::End, None).expect_err("must not be planned")
}

fn healthy() -> Archive {
    Archive::new().wal(1, 1..=5).backup("20261130T091120", 1, 5, 6).wal(1, 6..=9)
}

#[test]
fn a_whole_archive_is_planned_to_its_end() {
    let archive = healthy();
    let plan = archive.catalogue.choose(RecoveryTarget::End, None).unwrap();
    assert_eq!((plan.backup.as_str(), plan.timeline), ("20261130T091120", 1));
    assert_eq!(plan.end.segment, segment(1, 9).to_string());
    assert_eq!(plan.covered_until, Some(archive.clock));
    assert_eq!(plan.segment_count(), 5);
    let names: Vec<_> = plan.segments().map(|planned| planned.name).collect();
    assert_eq!(names, (5..=9).map(|number| segment(1, number)).collect::<Vec<_>>());
    assert_eq!(plan.segment(segment(1, 7)).unwrap().key, segment_key(segment(1, 7), Compression::Gzip));
    assert_eq!(plan.segment(segment(1, 4)), None);
    assert_eq!(plan.segment(segment(1, 10)), None);
    assert_eq!(plan.base.iter().map(|object| object.key.as_str()).collect::<Vec<_>>(), ["base/20261130T091120/data.tar.gz"]);
    assert!(plan.histories.is_empty());
}

#[test]
fn a_hole_between_the_newest_backup_and_the_newest_segment_is_refused() {
    let archive = healthy().wal(1, 12..=13);
    let refusal = refused(&archive);
    assert!(matches!(&refusal, Refusal::Hole { count: 2, first, last, later_written: Some(_), .. }
        if *first == segment(1, 10).to_string() && *last == segment(1, 11).to_string()));
    assert_eq!(refusal.code(), "wal-gap");
    assert!(refusal.is_damage());
    // Twin: a hole before everything that a backup needs.
    let twin = Archive::new().wal(1, 1..=2).wal(1, 4..=5).backup("20261130T091120", 1, 5, 5).wal(1, 6..=7);
    assert!(twin.catalogue.choose(RecoveryTarget::End, None).is_ok());
}

#[test]
fn a_hole_at_the_end_of_a_log_is_seen() {
    let archive = Archive::new().wal(1, 250..=254).backup("20261130T091120", 1, 250, 251).wal(1, 256..=260);
    assert!(matches!(refused(&archive), Refusal::Hole { count: 1, first, .. } if first == "0000000100000000000000FF"));
    let twin = Archive::new().wal(1, 250..=254).backup("20261130T091120", 1, 250, 251).wal(1, 255..=260);
    assert!(twin.catalogue.choose(RecoveryTarget::End, None).is_ok());
}

#[test]
fn without_a_backup_that_is_done_nothing_is_planned() {
    assert_eq!(refused(&Archive::new()), Refusal::Empty);
    assert_eq!(refused(&Archive::new().wal(1, 1..=3)).code(), "wal-without-base-backup");
    let failed = Archive::new().wal(1, 1..=3).record("20261130T091120", 1, 2, 2, "status=FAILED\n");
    assert_eq!(refused(&failed).code(), "wal-without-base-backup");
    assert!(refused(&failed).to_string().contains("20261130T091120 FAILED"));
}

#[test]
fn a_backup_that_lacks_an_object_is_refused() {
    let no_data = Archive::new().wal(1, 1..=5).record("20261130T091120", 1, 5, 5, "");
    assert_eq!(refused(&no_data).code(), "base-backup-incomplete");
    let lost_part = healthy().object("base/20261130T091120/data_0002.tar.gz", 10);
    assert!(matches!(refused(&lost_part), Refusal::BaseIncomplete { missing, .. } if missing == ["data_0001.tar.gz"]));
    let twin = healthy().object("base/20261130T091120/data_0001.tar.gz", 10).object("base/20261130T091120/data_0002.tar.gz", 10);
    assert_eq!(twin.catalogue.choose(RecoveryTarget::End, None).unwrap().base.len(), 3);
    let tablespace = "tablespaces=[('ts1', 16384, '/path')]\n";
    let with = |key: &str| {
        let archive = Archive::new().wal(1, 1..=5).object("base/20261130T091120/data.tar", 10).object(key, 10);
        archive.record("20261130T091120", 1, 5, 5, tablespace)
    };
    assert_eq!(refused(&with("base/20261130T091120/16385.tar")).code(), "base-backup-tablespace-missing");
    assert_eq!(with("base/20261130T091120/16384.tar").catalogue.choose(RecoveryTarget::End, None).unwrap().base.len(), 2);
    let empty = Archive::new().wal(1, 1..=5).object("base/20261130T091120/data.tar", 0).record("20261130T091120", 1, 5, 5, "");
    assert_eq!(refused(&empty).code(), "base-backup-incomplete");
}

#[test]
fn a_backup_whose_last_segment_never_came_is_refused() {
    let archive = Archive::new().wal(1, 1..=5).backup("20261130T091120", 1, 5, 6);
    assert!(matches!(refused(&archive), Refusal::BackupWalMissing { first, .. } if first == segment(1, 6).to_string()));
    let begin = Archive::new().wal(1, 1..=4).backup("20261130T091120", 1, 5, 6).wal(1, 6..=7);
    assert_eq!(refused(&begin).code(), "base-backup-wal-not-archived");
    assert!(archive.wal(1, [6]).catalogue.choose(RecoveryTarget::End, None).is_ok());
}

#[test]
fn an_empty_and_a_partial_segment_in_the_chain_have_codes_of_their_own() {
    let key = segment_key(segment(1, 10), Compression::Gzip);
    let empty = healthy().object(&key, 0).wal(1, [11]);
    assert_eq!(refused(&empty).code(), "wal-segment-empty");
    let twin = empty.object(&segment_key(segment(1, 10), Compression::Zstd), 40_000);
    assert!(twin.catalogue.choose(RecoveryTarget::End, None).is_ok());
    let partial = healthy().object(&key.replace(".gz", ".partial.gz"), 400).wal(1, [11]);
    assert_eq!(refused(&partial).code(), "wal-partial-inside-chain");
}

/// Timeline 1 left in segment 0x2F, as after a promotion.
fn promoted() -> Archive {
    let partial = segment_key(segment(1, 0x2F), Compression::None) + ".partial.gz";
    Archive::new()
        .wal(1, 0x20..=0x2E)
        .backup("20261130T091120", 1, 0x21, 0x22)
        .object(&partial, 400)
        .history(2, "1\t0/2F013288\tno recovery target specified\n")
        .wal(2, 0x2F..=0x35)
}

#[test]
fn the_way_leads_along_the_history() {
    let plan = promoted().catalogue.choose(RecoveryTarget::End, None).unwrap();
    assert_eq!((plan.timeline, plan.end.segment.clone()), (2, segment(2, 0x35).to_string()));
    let names: Vec<_> = plan.segments().map(|planned| planned.name).collect();
    let expected: Vec<_> =
        (0x21..=0x2E).map(|number| segment(1, number)).chain((0x2F..=0x35).map(|number| segment(2, number))).collect();
    assert_eq!(names, expected);
    assert_eq!(plan.histories.iter().map(|file| file.key.as_str()).collect::<Vec<_>>(), ["wals/00000002.history.gz"]);
    let old = promoted().catalogue.choose(RecoveryTarget::End, Some(1)).unwrap();
    assert_eq!((old.timeline, old.end.segment), (1, segment(1, 0x2E).to_string()));
}

#[test]
fn a_hole_at_the_switch_is_seen() {
    let archive = Archive::new()
        .wal(1, 0x20..=0x2E)
        .backup("20261130T091120", 1, 0x21, 0x22)
        .history(2, "1\t0/2F013288\tx\n")
        .wal(2, 0x30..=0x35);
    assert!(matches!(refused(&archive), Refusal::Hole { count: 1, first, .. } if first == segment(2, 0x2F).to_string()));
    let parent = Archive::new()
        .wal(1, 0x20..=0x2D)
        .backup("20261130T091120", 1, 0x21, 0x22)
        .history(2, "1\t0/2F013288\tx\n")
        .wal(2, 0x2F..=0x35);
    assert!(matches!(refused(&parent), Refusal::Hole { count: 1, first, .. } if first == segment(1, 0x2E).to_string()));
}

#[test]
fn an_orphan_history_is_never_followed_unless_the_timeline_is_named() {
    let archive = promoted().history(3, "1\t0/16000000\tno recovery target specified\n");
    let refusal = refused(&archive);
    assert!(matches!(refusal, Refusal::OrphanTimeline { orphan: 3, chosen: 2, .. }));
    assert!(refusal.hint().unwrap().contains("--timeline 2"));
    let plan = archive.catalogue.choose(RecoveryTarget::End, Some(2)).unwrap();
    assert_eq!((plan.timeline, plan.histories.len()), (2, 1));
    // Twin: histories that retention left behind, older than the newest timeline.
    let twin = Archive::new()
        .history(2, "1\t0/2F013288\tx\n")
        .history(3, "1\t0/2F013288\tx\n2\t0/40000000\tx\n")
        .wal(3, 0x50..=0x52)
        .backup("20261130T091120", 3, 0x52, 0x52);
    assert_eq!(twin.catalogue.choose(RecoveryTarget::End, None).unwrap().timeline, 3);
}

#[test]
fn a_dead_branch_with_segments_is_not_taken_for_the_living_timeline() {
    let archive = Archive::new()
        .wal(1, 0x20..=0x25)
        .backup("20261130T091120", 1, 0x21, 0x22)
        .history(2, "1\t0/24000100\tx\n")
        .wal(2, 0x24..=0x26)
        .wal(1, 0x26..=0x40);
    assert!(matches!(refused(&archive), Refusal::OrphanTimeline { orphan: 2, chosen: 1, .. }));
    assert_eq!(archive.catalogue.choose(RecoveryTarget::End, Some(1)).unwrap().end.segment, segment(1, 0x40).to_string());
    // Twin: the parent archived one more segment before it died.
    let twin = Archive::new()
        .wal(1, 0x20..=0x25)
        .backup("20261130T091120", 1, 0x21, 0x22)
        .history(2, "1\t0/24000100\tx\n")
        .wal(2, 0x24..=0x26);
    assert_eq!(twin.catalogue.choose(RecoveryTarget::End, None).unwrap().timeline, 2);
}

#[test]
fn segments_on_a_timeline_without_history_are_not_passed_over_in_silence() {
    let archive = healthy().wal(2, 9..=12);
    assert!(matches!(refused(&archive), Refusal::HistoryMissing { timeline: 2, .. }));
    assert!(archive.catalogue.choose(RecoveryTarget::End, Some(1)).is_ok());
    assert!(matches!(
        archive.catalogue.choose(RecoveryTarget::End, Some(2)),
        Err(Refusal::TimelineUnreachable { timeline: 2, .. })
    ));
    assert!(matches!(
        archive.catalogue.choose(RecoveryTarget::End, Some(7)),
        Err(Refusal::TimelineUnreachable { timeline: 7, .. })
    ));
}

#[test]
fn two_systems_in_one_archive_are_refused() {
    let mut archive = healthy();
    let header = |system| WalHeader {
        magic: 0xD110,
        timeline: 1,
        page_address: segment(1, 7).start(SIZE).unwrap(),
        system_id: SystemId(system),
        segment_size: SIZE,
        block_size: 8192,
    };
    archive.catalogue.note_header(segment(1, 7), Compression::Gzip, None, Ok(header(super::builder::SYSTEM.parse().unwrap())));
    assert!(archive.catalogue.choose(RecoveryTarget::End, None).is_ok());
    archive.catalogue.note_header(segment(1, 8), Compression::Gzip, None, Ok(header(7)));
    assert!(matches!(refused(&archive), Refusal::MixedSystems { found: SystemId(7), .. }));
}

#[test]
fn a_moment_outside_of_the_windows_is_refused_from_the_catalogue() {
    let archive = Archive::new()
        .wal(1, 1..=5)
        .backup("20261129T020000", 1, 5, 5)
        .wal(1, 6..=9)
        .backup("20261130T020000", 1, 9, 9)
        .wal(1, 10..=12);
    let ended = |id: &str| archive.catalogue.backups()[id].done().unwrap().end_time.unwrap();
    let (first, second) = (ended("20261129T020000"), ended("20261130T020000"));
    let ask = |moment| archive.catalogue.choose(RecoveryTarget::Time(moment), None);
    let second_long = SignedDuration::from_secs(1);
    assert_eq!(ask(first - SignedDuration::from_hours(1)).unwrap_err().code(), "restore-target-unreachable");
    assert_eq!(ask(first - second_long).unwrap_err().code(), "restore-target-inside-backup");
    assert_eq!(ask(first + second_long).unwrap().backup, "20261129T020000");
    assert_eq!(ask(second - second_long).unwrap().backup, "20261129T020000");
    assert_eq!(ask(second).unwrap().backup, "20261130T020000");
    assert_eq!(ask(archive.clock).unwrap().backup, "20261130T020000");
    let late = ask(archive.clock + second_long).unwrap_err();
    assert!(matches!(late, Refusal::TargetTooLate { broken_at: None, .. }));
    assert!(!late.is_damage());
}

#[test]
fn a_moment_before_a_hole_can_be_reached_and_one_behind_it_cannot() {
    let before = Archive::new().wal(1, 1..=5).backup("20261129T020000", 1, 5, 5).wal(1, 6..=9);
    let whole_until = before.clock;
    let archive = before.wal(1, 11..=14);
    let plan = archive.catalogue.choose(RecoveryTarget::Time(whole_until), None).unwrap();
    assert_eq!((plan.end.segment, plan.broken_at), (segment(1, 9).to_string(), Some(segment(1, 10))));
    let refusal = archive.catalogue.choose(RecoveryTarget::Time(archive.clock), None).unwrap_err();
    assert!(matches!(refusal, Refusal::TargetTooLate { broken_at: Some(at), .. } if at == segment(1, 10).to_string()));
}

#[test]
fn one_archive_may_mix_all_suffixes() {
    let mut archive = Archive::new().wal(1, 1..=3).backup("20261130T091120", 1, 2, 2);
    for (index, compression) in Compression::ALL.into_iter().enumerate() {
        archive = archive.object(&segment_key(segment(1, 4 + index as u64), compression), 1000);
    }
    archive = archive.object(&segment_key(segment(1, 3), Compression::Zstd), 1000);
    let plan = archive.catalogue.choose(RecoveryTarget::End, None).unwrap();
    assert_eq!(plan.segments().count(), 9);
    let third = plan.segment(segment(1, 3)).unwrap();
    assert_eq!((third.compression, third.others), (Compression::Zstd, vec![Compression::Gzip]));
    let keys: Vec<String> = plan.segments().skip(2).map(|planned| planned.key).collect();
    assert_eq!(keys[0], "wals/0000000100000000/000000010000000000000004");
    assert_eq!(keys[6], "wals/0000000100000000/00000001000000000000000A.bz2");
    assert_eq!(name("00000001000000000000000A"), segment(1, 10));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever single segment is lost: before begin_wal it does not matter, from there to the newest it is refused, and the order in
    /// which objects are listed and what else lies there change nothing.
    #[test]
    fn exactly_the_needed_segments_are_needed(start in 200_u64..300, length in 5_u64..400, begin in 0_u64..400, lost in 0_u64..400, seed: u64, noise in proptest::collection::vec("[a-z/._]{1,30}", 0..5)) {
        let (begin, lost) = (start + begin % length, start + lost % (length - 1));
        let mut numbers: Vec<u64> = (start..start + length).filter(|number| *number != lost).collect();
        shuffle(&mut numbers, seed);
        let mut archive = Archive::new();
        for key in noise {
            archive = archive.object(&key, 5);
        }
        let archive = archive.wal(1, numbers).backup("20261130T091120", 1, begin, begin);
        let outcome = archive.catalogue.choose(RecoveryTarget::End, None);
        match lost.cmp(&begin) {
            Ordering::Less => prop_assert_eq!(outcome.unwrap().segment_count(), start + length - begin),
            Ordering::Equal => prop_assert_eq!(outcome.unwrap_err().code(), "base-backup-wal-not-archived"),
            Ordering::Greater => prop_assert_eq!(outcome.unwrap_err().code(), "wal-gap"),
        }
    }

    #[test]
    fn no_listing_makes_it_panic(keys in proptest::collection::vec(hostile_key(), 0..60), sizes in proptest::collection::vec(0_u64..3, 60), begin in 0_u64..600) {
        let mut archive = Archive::new();
        for (key, size) in keys.iter().zip(sizes) {
            archive = archive.object(key, size);
        }
        let archive = archive.backup("20261130T091120", 1, begin, begin + 1).history(2, "1\t0/30000000\tx\n").history(3, "2\t0/10000000\tx\n");
        for timeline in [None, Some(1), Some(2), Some(3), Some(u32::MAX)] {
            if let Ok(plan) = archive.catalogue.choose(RecoveryTarget::End, timeline) {
                prop_assert_eq!(plan.segments().count() as u64, plan.segment_count());
            }
        }
        archive.catalogue.headers_wanted();
        let text = serde_json::to_string(&archive.catalogue).unwrap();
        let back: dalsegno::archive::Catalogue = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(back.counts(), archive.catalogue.counts());
    }
}

fn hostile_key() -> impl Strategy<Value = String> {
    let segment =
        (0_u32..4, prop_oneof![0_u32..3, Just(u32::MAX)], prop_oneof![0_u32..300, 4000_u32..5000, Just(u32::MAX)], 0_usize..7);
    let wal = segment.prop_map(|(timeline, log, seg, which)| {
        segment_key(dalsegno::archive::SegmentName { timeline, log, seg }, Compression::ALL[which])
    });
    prop_oneof![
        4 => wal.clone(),
        1 => wal.prop_map(|key| key + ".partial"),
        1 => "base/2026113[0-9]T091120/(data|[0-9]{1,10})(_[0-9]{4})?\\.tar(\\.gz)?",
        1 => "wals/0000000[0-9]\\.history",
        1 => "\\PC{0,40}",
    ]
}

fn shuffle(numbers: &mut [u64], mut seed: u64) {
    for index in (1..numbers.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        numbers.swap(index, usize::try_from(seed >> 33).unwrap() % (index + 1));
    }
}
