use dalsegno::archive::{ArchiveKey, Catalogue, Compression, SegmentFault, SegmentName, SegmentSize, WalHeader, segment_key};
use dalsegno::domain::{ArchiveFact, ArchivePlace, BackupStatus, Prefix, StoreId, Subject, SubjectKind};

use super::builder::{Archive, SIZE, at, segment};

fn fact_of(archive: &Archive, known: &[&str]) -> ArchiveFact {
    let place = ArchivePlace {
        store: StoreId("minio".into()),
        bucket: "b".into(),
        prefix: Prefix::new("cnpg"),
        server: "pg-main".into(),
    };
    let known: Vec<String> = known.iter().map(|id| (*id).to_owned()).collect();
    archive.catalogue.fact(&Subject::new(SubjectKind::Pg, &["home", "prod", "db"]), &place, archive.clock, None, &known)
}

#[test]
fn a_healthy_archive_has_one_window_and_no_complaint() {
    let archive = Archive::new().wal(1, 1..=5).backup("20261130T091120", 1, 5, 5).wal(1, 6..=9);
    let fact = fact_of(&archive, &["20261130T091120"]);
    assert_eq!((fact.objects, fact.segments, fact.segment_size), (11, 9, Some(16 << 20)));
    assert_eq!(fact.backups.len(), 1);
    assert_eq!(fact.backups[0].status, BackupStatus::Done);
    assert_eq!(fact.windows.len(), 1);
    assert_eq!(fact.windows[0].covered_until, Some(archive.clock));
    assert_eq!(fact.windows[0].broken_at, None);
    assert_eq!(fact.newest_segment.unwrap().name, segment(1, 9).to_string());
    assert_eq!(fact.oldest_segment.unwrap().name, segment(1, 1).to_string());
    assert_eq!(fact.end.unwrap().segment, segment(1, 9).to_string());
    assert!(
        fact.gaps.is_empty()
            && fact.orphan_histories.is_empty()
            && fact.empty_objects.is_empty()
            && fact.vanished_backups.is_empty()
    );
}

#[test]
fn holes_are_told_from_the_oldest_needed_segment_on() {
    let archive = Archive::new()
        .wal(1, [1, 3])
        .wal(1, 5..=6)
        .backup("20261129T020000", 1, 5, 5)
        .wal(1, 8..=9)
        .backup("20261130T020000", 1, 9, 9)
        .wal(1, 12..=13);
    let fact = fact_of(&archive, &[]);
    let told: Vec<_> = fact.gaps.iter().map(|gap| (gap.first.clone(), gap.count, gap.cuts_newest)).collect();
    assert_eq!(told, [(segment(1, 7).to_string(), 1, false), (segment(1, 10).to_string(), 2, true)]);
    assert!(fact.gaps.iter().all(|gap| gap.later_written.is_some()));
    let broken: Vec<_> = fact.windows.iter().map(|window| window.broken_at.clone().unwrap()).collect();
    assert_eq!(broken, [segment(1, 7).to_string(), segment(1, 10).to_string()]);
}

#[test]
fn an_empty_segment_is_told_once_and_not_as_a_hole() {
    let key = segment_key(segment(1, 7), Compression::Gzip);
    let archive = Archive::new().wal(1, 5..=6).backup("20261130T020000", 1, 5, 5).object(&key, 0).wal(1, 8..=9);
    let fact = fact_of(&archive, &[]);
    assert_eq!(fact.empty_objects.iter().map(|object| object.key.as_str()).collect::<Vec<_>>(), [key.as_str()]);
    assert!(fact.gaps.is_empty());
    assert_eq!(fact.windows[0].broken_at, Some(segment(1, 7).to_string()));
    // Twins: a folder marker, and an empty object that is no WAL.
    let twin = Archive::new().object("wals/0000000100000000/", 0).object("wals/readme", 0);
    assert!(fact_of(&twin, &[]).empty_objects.is_empty());
}

#[test]
fn a_partial_is_told_only_inside_the_chain() {
    let partial = segment_key(segment(1, 7), Compression::None) + ".partial.gz";
    let inside = Archive::new().wal(1, 5..=6).backup("20261130T020000", 1, 5, 5).object(&partial, 9).wal(1, 8..=9);
    let fact = fact_of(&inside, &[]);
    assert_eq!(fact.partials_inside.len(), 1);
    assert_eq!(fact.partials_inside[0].key, partial);
    assert!(fact.gaps.is_empty());
    let last = Archive::new().wal(1, 5..=6).backup("20261130T020000", 1, 5, 5).object(&partial, 9);
    assert!(fact_of(&last, &[]).partials_inside.is_empty());
    let both = Archive::new().wal(1, 5..=9).backup("20261130T020000", 1, 5, 5).object(&partial, 9);
    assert!(fact_of(&both, &[]).partials_inside.is_empty());
    let left = inside.history(2, "1\t0/7000100\tx\n").wal(2, 7..=9);
    assert!(fact_of(&left, &[]).partials_inside.is_empty());
}

#[test]
fn orphans_vanished_backups_and_damaged_records_are_told() {
    let mut archive =
        Archive::new().wal(1, 5..=6).backup("20261130T020000", 1, 5, 5).history(2, "1\t0/7000100\tx\n").wal(1, 7..=8);
    archive = archive.object("base/20261101T000000/backup.info", 900).object("base/20261101T000000/data.tar.gz", 9);
    archive.catalogue.set_backup_info("20261101T000000", Err("the file carries aws-chunked framing".to_owned()));
    archive = archive.object("base/20261102T000000/data.tar.gz", 9);
    let fact = fact_of(&archive, &["20261030T020000", "20261130T020000"]);
    assert_eq!(fact.vanished_backups, ["20261030T020000"]);
    assert_eq!(fact.known_backups, 2);
    let orphan = &fact.orphan_histories[0];
    assert_eq!((orphan.timeline, orphan.parent), (2, Some(1)));
    assert!(orphan.older_timeline_written > orphan.written);
    let status = |id: &str| fact.backups.iter().find(|backup| backup.id == id).unwrap().status.clone();
    assert!(matches!(status("20261101T000000"), BackupStatus::Unreadable { .. }));
    assert_eq!(status("20261102T000000"), BackupStatus::NoRecord);
    assert_eq!(fact.framed_objects, ["base/20261101T000000/backup.info"]);
}

#[test]
fn the_segments_whose_headers_prove_most_are_asked_for() {
    let mut archive = Archive::new()
        .wal(1, 1..=6)
        .backup("20261130T020000", 1, 5, 5)
        .wal(1, 9..=12)
        .history(2, "1\t0/D000100\tx\n")
        .wal(2, 13..=20);
    // An older object behind a younger one: somebody wrote over what was there.
    let young = at("2026-11-30T14:52:11Z");
    archive.catalogue.add(&segment_key(segment(2, 21), Compression::Gzip), 9, "", Some(young));
    archive.catalogue.add(&segment_key(segment(2, 22), Compression::Gzip), 9, "", Some(at("2026-11-30T09:12:47Z")));
    archive.catalogue.add(&segment_key(segment(2, 23), Compression::Gzip), 9, "", Some(young));
    let wanted: Vec<SegmentName> = archive.catalogue.headers_wanted().into_iter().map(|(name, _)| name).collect();
    for number in [1, 5, 9, 12] {
        assert!(wanted.contains(&segment(1, number)), "{number} in {wanted:?}");
    }
    for number in [13, 21, 22, 23] {
        assert!(wanted.contains(&segment(2, number)), "{number} in {wanted:?}");
    }
    assert!(!wanted.contains(&segment(1, 3)) && !wanted.contains(&segment(2, 16)));
    let (name, compression) = archive.catalogue.headers_wanted()[0];
    let fault = SegmentFault::Header(dalsegno::archive::HeaderError::Zeros);
    archive.catalogue.note_header(name, compression, None, Err(fault));
    assert!(!archive.catalogue.headers_wanted().iter().any(|(other, _)| *other == name));
    assert_eq!(fact_of(&archive, &[]).malformed_objects.len(), 1);
}

#[test]
fn a_segment_that_was_there_at_an_earlier_look_is_lost_and_not_late() {
    let listed =
        |numbers: &[u64]| Archive::new().wal(1, 5..=6).backup("20261130T020000", 1, 5, 5).wal(1, numbers.iter().copied());
    let seen_before = |archive: &Archive| fact_of(archive, &[]).gaps.iter().map(|gap| gap.seen_before).collect::<Vec<_>>();
    let first = listed(&[7, 8, 9]);
    let mut second = listed(&[7, 9, 10, 12]);
    assert_eq!(seen_before(&second), [false, false], "without memory nobody can tell");
    second.catalogue.carry_over(first.catalogue);
    assert_eq!(seen_before(&second), [true, false], "8 was there, 11 never was");
    // It stays lost at the pass after, and is forgotten when it comes back.
    let text = serde_json::to_string(&second.catalogue).unwrap();
    let mut third = listed(&[7, 9, 10, 12]);
    third.catalogue.carry_over(serde_json::from_str(&text).unwrap());
    assert_eq!(seen_before(&third), [true, false]);
    let mut fourth = listed(&[7, 8, 9, 10, 12]);
    fourth.catalogue.carry_over(third.catalogue);
    assert_eq!(seen_before(&fourth), [false]);
}

#[test]
fn a_header_of_an_older_timeline_is_right_only_where_that_one_was_left() {
    let header = |timeline: u32, number: u64| WalHeader {
        magic: 0xD110,
        timeline,
        page_address: dalsegno::archive::Lsn(number * SIZE.bytes()),
        system_id: dalsegno::domain::SystemId(7),
        segment_size: SIZE,
        block_size: 8192,
    };
    // Timeline 1 was left inside of segment 0xD.
    let told = |timeline: u32, number: u64, known: bool| {
        let mut archive = Archive::new().wal(1, 5..=12).backup("20261130T020000", 1, 5, 5).wal(2, 13..=20);
        if known {
            archive = archive.history(2, "1\t0/D000100\tx\n");
        }
        let head = header(timeline, number);
        archive.catalogue.note_header(segment(2, number), Compression::Gzip, None, Ok(head));
        fact_of(&archive, &[]).malformed_objects
    };
    assert!(told(2, 13, true).is_empty() && told(1, 13, true).is_empty());
    let (key, why) = told(1, 14, true).pop().unwrap();
    assert_eq!(key, segment_key(segment(2, 14), Compression::Gzip));
    assert!(why.contains("timeline 1") && why.contains("says 2"), "{why}");
    assert!(told(1, 14, false).is_empty(), "without the history nobody can tell");
}

#[test]
fn a_catalogue_goes_on_where_it_was_left() {
    let first = Archive::new().wal(1, 200..=300).backup("20261130T020000", 1, 210, 210);
    let text = serde_json::to_string(&first.catalogue).unwrap();
    assert!(text.len() < 5_000, "{} bytes for 101 segments: {text}", text.len());
    let later = Archive { catalogue: serde_json::from_str(&text).unwrap(), clock: first.clock }.wal(1, 301..=520);
    let whole = Archive::new().wal(1, 200..=300).backup("20261130T020000", 1, 210, 210).wal(1, 301..=520);
    assert_eq!(fact_of(&later, &[]), fact_of(&whole, &[]));
    assert_eq!(later.catalogue.newest_segments(), [(segment(1, 520), Compression::Gzip)]);
    // The same names again change nothing.
    let again = later.wal(1, [250, 520]);
    assert_eq!(fact_of(&again, &[]).objects, fact_of(&whole, &[]).objects);
}

#[test]
fn folders_may_be_listed_in_any_order() {
    let in_order = Archive::new().backup("20261130T020000", 1, 210, 210).wal(1, 200..=1300);
    let mut mixed = Archive::new().backup("20261130T020000", 1, 210, 210);
    let listed: Vec<u64> = (200..=1300).collect();
    // As when several folders are listed at once: pieces of each by turns.
    let pieces: Vec<&[u64]> = listed.chunks(100).collect();
    for turn in 0..3 {
        for piece in pieces.iter().skip(turn).step_by(3) {
            mixed = mixed.wal(1, piece.iter().copied());
        }
    }
    let (left, right) = (fact_of(&in_order, &[]), fact_of(&mixed, &[]));
    assert_eq!((left.segments, left.gaps, left.end), (right.segments, right.gaps, right.end));
    let text = serde_json::to_string(&mixed.catalogue).unwrap();
    assert!(text.len() < 5_000, "one run is left: {text}");
}

#[test]
fn a_million_segments_cost_little_memory_whatever_their_size() {
    let mut catalogue = Catalogue::new();
    for size in [16_u64, 64, 1] {
        let size = SegmentSize::new(size << 20).unwrap();
        for number in 0..50_000 {
            let name = SegmentName::from_number(u32::try_from(size.bytes() >> 20).unwrap(), number, size).unwrap();
            catalogue.add(&segment_key(name, Compression::Gzip), 9, "", Some(at("2026-11-30T09:12:47Z")));
        }
    }
    assert_eq!(catalogue.counts().0, 150_000);
    // 196 + 782 + 1 runs, whatever the number of objects.
    assert!(serde_json::to_string(&catalogue).unwrap().len() < 150_000);
}

#[test]
fn a_hostile_listing_does_not_grow_without_bound() {
    let mut catalogue = Catalogue::new();
    for number in 0..20_000_u32 {
        let name = SegmentName { timeline: number + 1, log: 0, seg: 1 };
        catalogue.add(&segment_key(name, Compression::Gzip), 9, "", None);
    }
    assert!(catalogue.overflowed());
    assert!(catalogue.newest_segments().len() <= 4_096);
    assert_eq!(ArchiveKey::classify(&"x".repeat(100_000)), ArchiveKey::Foreign);
}
