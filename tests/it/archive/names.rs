use dalsegno::archive::{
    ArchiveKey, Compression, Lsn, PartOf, SegmentName, SegmentSize, Timeline, history_key, segment_key, tar_key,
};
use proptest::prelude::*;

use super::builder::name;

fn sizes() -> impl Strategy<Value = SegmentSize> {
    (20_u32..=30).prop_map(|bits| SegmentSize::new(1 << bits).unwrap())
}

#[test]
fn the_highest_segment_of_a_log_depends_on_the_size() {
    for (mebibytes, highest) in [(1, 0xFFF), (16, 0xFF), (32, 0x7F), (64, 0x3F), (128, 0x1F), (256, 0xF), (512, 7), (1024, 3)] {
        let size = SegmentSize::new(mebibytes << 20).unwrap();
        let last = SegmentName { timeline: 1, log: 4, seg: highest };
        assert_eq!(last.next(size), Some(SegmentName { timeline: 1, log: 5, seg: 0 }), "{mebibytes} MiB");
        assert_eq!(SegmentName { timeline: 1, log: 4, seg: highest + 1 }.number(size), None);
    }
}

#[test]
fn positions_are_read_and_written_as_postgresql_does() {
    assert_eq!("0/15000028".parse::<Lsn>().unwrap(), Lsn(0x1500_0028));
    assert_eq!(Lsn(0x2_5800_0028).to_string(), "2/58000028");
    for bad in ["", "/", "0", "0/", "0/G", "0/123456789", "+1/2", " 0/1", "0/1/2", "1/-2"] {
        assert!(bad.parse::<Lsn>().is_err(), "{bad}");
    }
    assert_eq!(name("000000010000000000000015").start(SegmentSize::DEFAULT), Some(Lsn(0x1500_0000)));
}

#[test]
fn only_the_sizes_postgresql_knows_are_sizes() {
    for bad in [0, 1, 1 << 19, (16 << 20) + 1, 3 << 20, 1 << 31, u64::MAX] {
        assert_eq!(SegmentSize::new(bad), None, "{bad}");
    }
}

#[test]
fn keys_of_the_layout_are_understood() {
    let gz = Compression::Gzip;
    let of = ArchiveKey::classify;
    let segment = name("00000001000000000000002F");
    assert_eq!(of("base/20261130T091120/backup.info"), ArchiveKey::BackupInfo { id: "20261130T091120" });
    assert_eq!(of("base/20261130T091120/annotations/keep"), ArchiveKey::Keep { id: "20261130T091120" });
    let tar = |part_of, part, compression| ArchiveKey::BaseTar { id: "20261130T091120", part_of, part, compression };
    assert_eq!(of("base/20261130T091120/data.tar"), tar(PartOf::Data, 0, Compression::None));
    assert_eq!(of("base/20261130T091120/data_0002.tar.snappy"), tar(PartOf::Data, 2, Compression::Snappy));
    assert_eq!(of("base/20261130T091120/16384_0001.tar.gz"), tar(PartOf::Tablespace(16384), 1, gz));
    assert_eq!(of("wals/0000000100000000/00000001000000000000002F.gz"), ArchiveKey::Segment { name: segment, compression: gz });
    assert_eq!(
        of("wals/0000000100000000/00000001000000000000002F.partial.gz"),
        ArchiveKey::Partial { name: segment, compression: gz }
    );
    let label = ArchiveKey::Label { name: segment, offset: 0x28, compression: Compression::None };
    assert_eq!(of("wals/0000000100000000/00000001000000000000002F.00000028.backup"), label);
    assert_eq!(of("wals/00000002.history.gz"), ArchiveKey::History { timeline: 2, compression: gz });
    assert_eq!(of("wals/0000000100000000/"), ArchiveKey::DirectoryMarker);
}

#[test]
fn what_barman_ignores_is_foreign() {
    for key in [
        "",
        "x",
        "wals",
        "base/x/backup.info",
        "base/20261130T091120/../backup.info",
        "base/20261130T091120/data_1.tar",
        "base/20261130T091120/data_0000.tar",
        "base/20261130T091120/0.tar",
        "base/20261130T091120/99999999999.tar",
        "base/20261130T091120/data.tar.exe",
        "wals/0000000100000000/00000001000000000000002f.gz",
        "wals/0000000100000000/00000001000000000000002F.zstd",
        "wals/0000000200000000/00000001000000000000002F.gz",
        "wals/0000000100000000/0000000100000000000000é.gz",
        "wals/0000000000000000/000000000000000000000001",
        "wals/00000001000000000000002F.gz",
        "wals/00000000.history",
        "wals/00000002.history.bak",
        "wals/../wals/00000002.history",
        "wals/0000000100000000/00000001000000000000002F\n.gz",
    ] {
        assert_eq!(ArchiveKey::classify(key), ArchiveKey::Foreign, "{key:?}");
    }
}

proptest! {
    #[test]
    fn number_and_name_are_the_same_thing(size in sizes(), timeline in 1_u32.., log in 0_u32..u32::MAX, seg in any::<u32>()) {
        let name = SegmentName { timeline, log, seg: seg % u32::try_from(size.per_log()).unwrap() };
        let number = name.number(size).unwrap();
        prop_assert_eq!(SegmentName::from_number(timeline, number, size), Some(name));
        prop_assert_eq!(SegmentName::holding(timeline, name.start(size).unwrap(), size), Some(name));
        prop_assert_eq!(name.next(size).unwrap().prev(size), Some(name));
        prop_assert!(name.next(size).unwrap() > name);
        prop_assert_eq!(SegmentName::parse(&name.to_string()), Some(name));
        prop_assert_eq!(&name.to_string()[..16], &name.directory());
    }

    #[test]
    fn keys_that_we_make_are_keys_that_we_read(timeline in 1_u32.., log: u32, seg in 0_u32..4096, which in 0_usize..7, part in 0_u32..9999, oid in 1_u32..) {
        let compression = Compression::ALL[which];
        let name = SegmentName { timeline, log, seg };
        let key = segment_key(name, compression);
        prop_assert_eq!(ArchiveKey::classify(&key), ArchiveKey::Segment { name, compression });
        let key = history_key(timeline, compression);
        prop_assert_eq!(ArchiveKey::classify(&key), ArchiveKey::History { timeline, compression });
        let id = "20261130T091120";
        for part_of in [PartOf::Data, PartOf::Tablespace(oid)] {
            let key = tar_key(id, part_of, part, compression);
        prop_assert_eq!(ArchiveKey::classify(&key), ArchiveKey::BaseTar { id, part_of, part, compression });
        }
        prop_assert_eq!(Timeline::of_history_name(&Timeline(timeline).history_name()), Some(Timeline(timeline)));
    }

    #[test]
    fn no_key_makes_it_panic(key in "\\PC{0,80}", tail in "[0-9A-F./a-z_]{0,60}") {
        ArchiveKey::classify(&key);
        for head in ["wals/", "base/", "base/20261130T091120/", "wals/0000000100000000/00000001000000000000002F"] {
            ArchiveKey::classify(&format!("{head}{key}"));
            ArchiveKey::classify(&format!("{head}{tail}"));
        }
    }
}
