use dalsegno::archive::{
    BackupInfo, BackupInfoError, BackupLabel, History, HistoryError, Lsn, MAX_BACKUP_INFO, RecordStatus, SegmentSize, Tablespace,
};
use dalsegno::domain::SystemId;
use proptest::prelude::*;

use super::builder::{at, record_text};

/// As barman 3.19.1 writes it.
const SEEN: &str = r"backup_label='START WAL LOCATION: 0/15000028 (file 000000010000000000000015)\nCHECKPOINT LOCATION: 0/15000060\nBACKUP METHOD: streamed\nBACKUP FROM: primary\nSTART TIME: 2026-11-30 15:15:28 UTC\nLABEL: Barman backup cloud 20261130T151528\nSTART TIMELINE: 1\n'
backup_name=None
begin_offset=40
begin_time=2026-11-30 15:15:28.218432+00:00
begin_wal=000000010000000000000015
begin_xlog=0/15000028
children_backup_ids=None
cluster_size=136154160
compression=None
config_file=/etc/postgresql/15/main/postgresql.conf
copy_stats={'total_time': 3.1, 'number_of_workers': 2, 'copy_time': 3.0}
data_checksums=off
deduplicated_size=None
encryption=None
end_offset=312
end_time=2026-11-30 15:15:31.601771+00:00
end_wal=000000010000000000000015
end_xlog=0/15000138
error=None
included_files=None
mode=None
pgdata=/var/lib/postgresql/15/main
server_name=cloud
size=None
status=DONE
systemid=7713982968056631495
tablespaces=[('ts1', 16384, '/path/with \'quotes\' and \\ and =')]
timeline=1
version=150020
xlog_segment_size=16777216
";

#[test]
fn a_record_as_barman_writes_it_is_read() {
    let info = BackupInfo::parse(SEEN.as_bytes()).unwrap();
    assert_eq!(info.status, RecordStatus::Done);
    assert_eq!(info.end_time, Some(at("2026-11-30T15:15:31.601771Z")));
    assert_eq!(info.begin_wal.as_deref(), Some("000000010000000000000015"));
    assert_eq!(info.begin_lsn, Some(0x1500_0028));
    assert_eq!((info.timeline, info.major(), info.system_id), (Some(1), Some(15), Some(SystemId(7_713_982_968_056_631_495))));
    assert_eq!((info.cluster_size, info.wal_segment_size()), (Some(136_154_160), Some(SegmentSize::DEFAULT)));
    let path = "/path/with 'quotes' and \\ and =".to_owned();
    assert_eq!(info.tablespaces, [Tablespace { name: "ts1".to_owned(), oid: 16384, path }]);
    assert!(!info.times_without_offset);
    assert!(info.error.is_empty());
    let label = BackupLabel::parse(info.backup_label.as_deref().unwrap()).unwrap();
    assert_eq!((label.start, label.checkpoint, label.timeline), (Lsn(0x1500_0028), Lsn(0x1500_0060), Some(1)));
    assert_eq!((label.from.as_deref(), label.stop), (Some("primary"), None));
}

#[test]
fn a_killed_and_a_failed_run_are_told_apart() {
    let started = "begin_time=2026-11-30 15:15:28+00:00\nend_time=None\nstatus=STARTED\nbackup_label=None\nsystemid='7'\n";
    let info = BackupInfo::parse(started.as_bytes()).unwrap();
    assert_eq!((info.status, info.end_time, info.system_id), (RecordStatus::Started, None, Some(SystemId(7))));
    let failed = "error=failure uploading data (KeyboardInterrupt)\nstatus=FAILED\n";
    let info = BackupInfo::parse(failed.as_bytes()).unwrap();
    assert_eq!((info.status, info.error.as_str()), (RecordStatus::Failed, "failure uploading data (KeyboardInterrupt)"));
}

#[test]
fn times_are_moments_whatever_their_offset() {
    let with = |time: &str| BackupInfo::parse(format!("end_time={time}\nstatus=DONE\n").as_bytes());
    let moment = at("2026-11-30T15:15:31Z");
    for time in ["2026-11-30 15:15:31+00:00", "2026-11-31", "2026-12-01 00:15:31+09:00", "2026-11-30 09:45:31.000-05:30"] {
        match with(time) {
            Ok(info) => assert_eq!((info.end_time, info.times_without_offset), (Some(moment), false), "{time}"),
            Err(error) => {
                assert_eq!((time, matches!(error, BackupInfoError::Value { key: "end_time", .. })), ("2026-11-31", true));
            }
        }
    }
    let naive = with("2026-11-30 15:15:31.5").unwrap();
    assert!(naive.times_without_offset);
}

#[test]
fn a_malformed_record_says_which_line_or_key() {
    let error = |text: &str| BackupInfo::parse(text.as_bytes()).unwrap_err();
    assert!(matches!(error("status=DONE\n<?xml version='1.0'?>\nnonsense"), BackupInfoError::Line { line: 3, .. }));
    assert_eq!(error(""), BackupInfoError::Empty);
    assert_eq!(error("\n \n"), BackupInfoError::Empty);
    assert_eq!(error("a=b\n"), BackupInfoError::NoStatus);
    assert_eq!(error("53b\r\nbackup_label='x'\r\nstatus=DONE\r\n"), BackupInfoError::ChunkFraming { first: "53b".to_owned() });
    assert!(matches!(BackupInfo::parse(b"status=DONE\n\xff=1\n"), Err(BackupInfoError::NotText { at: 12 })));
    let huge = vec![b'\n'; usize::try_from(MAX_BACKUP_INFO).unwrap() + 1];
    assert!(matches!(BackupInfo::parse(&huge), Err(BackupInfoError::TooLarge { .. })));
    for (key, value) in [
        ("status", "SOMETHING"),
        ("timeline", "0"),
        ("timeline", "-1"),
        ("timeline", "4294967296"),
        ("systemid", "99999999999999999999"),
        ("xlog_segment_size", "16777217"),
        ("begin_wal", "../../etc/passwd"),
        ("begin_xlog", "nowhere"),
        ("tablespaces", "[('a', 1, '/x'), ('b', 1, '/y')]"),
        ("tablespaces", "[('a', 0, '/x')]"),
        ("tablespaces", "[('a', 1)]"),
        ("tablespaces", "[[[[[[]]]]]]"),
        ("tablespaces", "[('a', 1, '/x\\x00')]"),
        ("tablespaces", "[('a', 1, '/x'"),
        ("tablespaces", "__import__('os')"),
        ("backup_label", "'no end"),
    ] {
        let text = format!("status=DONE\n{key}={value}\n");
        assert!(matches!(error(&text), BackupInfoError::Value { key: named, .. } if named == key), "{key}={value}");
    }
}

#[test]
fn a_hostile_tablespace_path_is_only_text() {
    for path in ["../../../etc", "/", "", "relative", "/a\\nb"] {
        let text = format!("status=DONE\ntablespaces=[('x', 16384, '{path}')]\n");
        assert_eq!(BackupInfo::parse(text.as_bytes()).unwrap().tablespaces.len(), 1);
    }
    let long = format!("status=DONE\ntablespaces=[('x', 16384, '/{}')]\n", "a".repeat(5000));
    assert!(BackupInfo::parse(long.as_bytes()).is_err());
}

#[test]
fn a_history_names_its_ancestors() {
    let history =
        History::parse(3, b"1\t0/2F013288\tno recovery target specified\n\n# comment\n2\t1/A0000000\tbefore \xff\n").unwrap();
    assert_eq!(history.left(1), Some(Lsn(0x2F01_3288)));
    assert_eq!(history.parent().map(|parent| parent.timeline), Some(2));
    let size = SegmentSize::DEFAULT;
    assert_eq!((history.owner_of(0x2E, size), history.owner_of(0x2F, size), history.owner_of(0x1A0, size)), (1, 2, 3));
    assert_eq!(History::parse(2, b""), Err(HistoryError::Empty));
    assert_eq!(History::parse(2, b"1\n"), Err(HistoryError::Line { line: 1 }));
    assert_eq!(History::parse(9, b"2\t0/1\tx\n1\t0/2\tx\n"), Err(HistoryError::Order { line: 2, timeline: 1, before: 2 }));
    assert_eq!(History::parse(2, b"2\t0/1\tx\n"), Err(HistoryError::Descendant { timeline: 2, ancestor: 2 }));
}

proptest! {
    #[test]
    fn what_was_written_is_read(timeline in 1_u32..1000, begin in 1_u64..100_000, more in 0_u64..3, order: u64) {
        let text = record_text(timeline, begin, begin + more, at("2026-11-30T10:00:00Z"));
        let mut lines: Vec<&str> = text.lines().collect();
        let turn = usize::try_from(order % lines.len() as u64).unwrap();
        lines.rotate_left(turn);
        let info = BackupInfo::parse(lines.join("\n").as_bytes()).unwrap();
        prop_assert_eq!(info.timeline, Some(timeline));
        prop_assert_eq!(info.first_segment().unwrap().number(SegmentSize::DEFAULT), Some(begin));
        prop_assert_eq!(info.last_segment().unwrap().number(SegmentSize::DEFAULT), Some(begin + more));
        prop_assert_eq!(info.end_time, Some(at("2026-11-30T10:00:00Z")));
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in "\\PC{0,200}", value in "[\\[\\]()'\"\\\\,0-9a-zA-Z/ xuUn:+.-]{0,60}", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = BackupInfo::parse(text.as_bytes());
        let _ = BackupInfo::parse(&bytes);
        for key in ["tablespaces", "backup_label", "begin_time", "systemid", "begin_xlog", "version", "error"] {
            let _ = BackupInfo::parse(format!("status=DONE\n{key}={value}\n").as_bytes());
            let _ = BackupInfo::parse(format!("status=DONE\n{key}=[('{value}', 1, {value})]\n").as_bytes());
        }
        let _ = History::parse(7, &bytes);
        let _ = History::parse(7, value.as_bytes());
        let _ = BackupLabel::parse(&text);
        let _ = BackupLabel::parse(&format!("START WAL LOCATION: {value}\nCHECKPOINT LOCATION: {value}"));
    }
}
