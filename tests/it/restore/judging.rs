//! What is judged without a server: blame, titles, versions, answers, freshness, sizes.

use std::collections::BTreeMap;

use dalsegno::domain::{CheckEnd, Expectation};
use dalsegno::restore::conf::SourceLimits;
use dalsegno::restore::held::Recovered;
use dalsegno::restore::{Trouble, base, binaries, blame, check, recover, title, whole};
use jiff::Timestamp;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn the_archive_is_to_blame_for_what_it_holds_and_we_for_what_we_lack() {
    let bad = [
        "PANIC:  could not locate a valid checkpoint record",
        "FATAL:  WAL ends before end of online backup",
        "FATAL:  requested timeline 2 is not a child of this server's history",
        "PANIC:  WAL contains references to invalid pages",
    ];
    for line in bad {
        assert!(matches!(blame::of_an_end("exit status: 1", None, line), Trouble::Bad { .. }), "{line}");
    }
    let ours = [
        "PANIC:  could not write to file \"pg_wal/xlogtemp.1\": No space left on device",
        "FATAL:  could not map anonymous shared memory: Cannot allocate memory",
        "FATAL:  database locale is incompatible with operating system",
        "FATAL:  could not load library \"/usr/lib/x.so\": cannot open shared object file",
        "dalsegno: will not run PostgreSQL as root",
        "FATAL:  directory \"/srv/ts\" does not exist\nHINT:  Create this directory for the tablespace before restarting the server.",
        "FATAL:  could not create file \"pg_tblspc/16403/PG_15_202209061/5/16404\": File exists",
        "FATAL:  could not open file \"pg_tblspc/16400/PG_15_202209061/5/16401\": Permission denied",
        "LOG:  starting PostgreSQL",
    ];
    for line in ours {
        assert!(matches!(blame::of_an_end("exit status: 1", None, line), Trouble::CouldNot { .. }), "{line}");
    }
    let killed = blame::of_an_end("signal: 9", Some(9), "PANIC:  could not locate a valid checkpoint record");
    assert!(matches!(killed, Trouble::CouldNot { .. }), "killed by the kernel is ours whatever the log says");
}

#[test]
fn titles_of_old_and_new_servers_are_read() {
    let recovering = title::read("postgres: dalsegno drill: startup recovering 00000001000000000000002F\0\0").unwrap();
    assert_eq!((recovering.segment.as_str(), recovering.waits), ("00000001000000000000002F", false));
    let waiting = title::read("postgres: startup   waiting for 000000010000000000000030      ").unwrap();
    assert_eq!((waiting.segment.as_str(), waiting.waits), ("000000010000000000000030", true));
    assert_eq!(title::read("postgres: checkpointer"), None);
    assert_eq!(title::read("postgres: startup recovering ../../x"), None);
}

#[test]
fn versions_are_read() {
    for (text, major) in [
        ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", Some(15)),
        ("postgres (PostgreSQL) 18beta1", Some(18)),
        ("postgres (EnterpriseDB) 15", None),
        ("", None),
    ] {
        assert_eq!(binaries::major_of(text), major, "{text}");
    }
}

#[test]
fn answers_are_held_against_what_was_expected() {
    let now = at("2026-11-30T12:00:00Z");
    let good: &[(Expectation, u64, usize, Option<&str>)] = &[
        (Expectation::Rows(3), 3, 2, Some("x")),
        (Expectation::RowsAtLeast(3), 4, 1, None),
        (Expectation::Value("5".to_owned()), 1, 1, Some("5")),
        (Expectation::AtLeast(10.0), 1, 1, Some("10")),
        (Expectation::AtMost(10.0), 1, 1, Some("9.5")),
        (Expectation::NewerThanSeconds(60.0), 1, 1, Some("2026-11-30 11:59:30.5+00")),
        (Expectation::NewerThanSeconds(60.0), 1, 1, Some("2026-11-30 11:59:30")),
    ];
    for (expect, rows, columns, first) in good {
        assert_eq!(check::judge(expect, *rows, *columns, *first, now).0, CheckEnd::Passed, "{expect:?}");
    }
    let bad: &[(Expectation, u64, usize, Option<&str>)] = &[
        (Expectation::Rows(3), 2, 1, Some("x")),
        (Expectation::RowsAtLeast(3), 2, 1, Some("x")),
        (Expectation::Value("5".to_owned()), 1, 1, None),
        (Expectation::Value("5".to_owned()), 2, 1, Some("5")),
        (Expectation::AtLeast(10.0), 1, 1, Some("nan")),
        (Expectation::AtLeast(10.0), 0, 0, None),
        (Expectation::AtMost(10.0), 1, 1, Some("11")),
        (Expectation::NewerThanSeconds(60.0), 1, 1, Some("2026-11-30 11:58:00+00")),
        (Expectation::NewerThanSeconds(60.0), 1, 1, Some("yesterday")),
    ];
    for (expect, rows, columns, first) in bad {
        assert_eq!(check::judge(expect, *rows, *columns, *first, now).0, CheckEnd::Failed, "{expect:?}");
    }
}

#[test]
fn freshness_is_undecided_when_no_commit_was_replayed_and_the_base_is_old() {
    let (now, until) = (at("2026-11-30T12:00:00Z"), at("2026-11-30T11:50:00Z"));
    let (old, new) = (at("2026-11-29T00:00:00Z"), at("2026-11-30T11:40:00Z"));
    assert_eq!(check::freshness(Some(new), Some(until), 3600.0, old, now).0, CheckEnd::Passed);
    assert_eq!(check::freshness(Some(old), Some(until), 3600.0, old, now).0, CheckEnd::Undecided);
    assert_eq!(check::freshness(None, Some(until), 3600.0, old, now).0, CheckEnd::Undecided);
    assert_eq!(check::freshness(None, Some(until), 3600.0, new, now).0, CheckEnd::Passed);
    assert_eq!(check::freshness(Some(new), None, 3600.0, new, now).0, CheckEnd::Undecided);
}

#[test]
fn a_database_that_lost_most_of_its_bytes_is_seen() {
    let sizes = |bytes: u64| BTreeMap::from([("database app".to_owned(), bytes), ("database tiny".to_owned(), 8 << 20)]);
    let same = check::compare_sizes(&sizes(1 << 30), &sizes(900 << 20));
    assert!(same.iter().all(|result| result.end == CheckEnd::Passed) && same.len() == 1);
    let shrunk = check::compare_sizes(&sizes(1 << 30), &sizes(100 << 20));
    assert_eq!(shrunk[0].end, CheckEnd::Failed);
    let gone = check::compare_sizes(&sizes(1 << 30), &BTreeMap::new());
    assert_eq!(gone[0].end, CheckEnd::Failed);
    assert!(check::compare_sizes(&BTreeMap::new(), &sizes(1)).is_empty());
}

#[test]
fn moments_as_postgresql_prints_them_are_read() {
    assert_eq!(recover::moment("1764500000.25"), Timestamp::from_millisecond(1_764_500_000_250).ok());
    assert_eq!(recover::moment("1764500000"), Timestamp::from_second(1_764_500_000).ok());
    assert_eq!(recover::moment("x"), None);
}

#[test]
fn a_runbook_adds_checks_and_never_takes_one_away() {
    let own = super::drill::check("users", "select count(*) from users", serde_json::json!({"at-least": 10}));
    let with =
        |name: &str| serde_json::to_value([super::drill::check(name, "select 1", serde_json::json!({"runs": true}))]).unwrap();
    let names = |added: Option<&serde_json::Value>| {
        let all = check::with_added(std::slice::from_ref(&own), added).unwrap();
        all.into_iter().map(|check| check.name).collect::<Vec<_>>()
    };
    assert_eq!(names(None), ["users"]);
    assert_eq!(names(Some(&serde_json::json!([]))), ["users"]);
    assert_eq!(names(Some(&with("more"))), ["users", "more"]);
    for taken in ["users", "fresh", "replay-end"] {
        let refused = check::with_added(std::slice::from_ref(&own), Some(&with(taken))).unwrap_err();
        assert!(refused.why.contains(taken) && !refused.hint.is_empty(), "{refused:?}");
    }
}

#[test]
fn only_a_commit_behind_the_target_shows_that_it_was_reached() {
    let moment = at("2026-11-30T12:00:00Z");
    let seen = |target_reached: bool, as_of: &str| {
        let recovered = Recovered { timeline: 1, target_reached, data_as_of: Some(at(as_of)), ..Recovered::default() };
        (check::time_reached(&recovered, 1, moment, false), check::time_reached(&recovered, 1, moment, true))
    };
    assert_eq!(seen(true, "2026-11-30T11:59:00Z"), (CheckEnd::Passed, CheckEnd::Passed));
    assert_eq!(seen(false, "2026-11-30T11:59:00Z"), (CheckEnd::Undecided, CheckEnd::Failed));
    assert_eq!(seen(true, "2026-11-30T12:00:01Z"), (CheckEnd::Failed, CheckEnd::Failed));
    let other = Recovered { timeline: 2, target_reached: true, ..Recovered::default() };
    assert_eq!(check::time_reached(&other, 1, moment, false), CheckEnd::Failed);
}

#[test]
fn errors_of_ours_leave_a_check_open_and_errors_of_the_data_fail_it() {
    for ours in ["08006", "53100", "53200", "53300", "57014", "57P01", "58030", "58P01", "42501", "25006", "55P03"] {
        assert_eq!(check::of_state(Some(ours)), CheckEnd::Undecided, "{ours}");
    }
    assert_eq!(check::of_state(None), CheckEnd::Undecided);
    for data in ["42P01", "42703", "XX001", "XX002", "22012", "3D000"] {
        assert_eq!(check::of_state(Some(data)), CheckEnd::Failed, "{data}");
    }
}

#[test]
fn a_base_backup_that_is_clearly_smaller_than_its_cluster_is_no_proof() {
    let gib: u64 = 1 << 30;
    let outcome = |restored: u64, cluster: u64| whole::base_size(restored, Some(cluster)).unwrap().end;
    assert_eq!(outcome(10 * gib, 10 * gib), CheckEnd::Passed);
    assert_eq!(outcome(9 * gib, 10 * gib), CheckEnd::Passed, "a tenth may go while it is read");
    assert_eq!(outcome(8 * gib, 10 * gib), CheckEnd::Undecided);
    assert_eq!(outcome(1 << 20, 60 << 20), CheckEnd::Passed, "small clusters say nothing");
    assert!(whole::base_size(1, None).is_none());
}

#[test]
fn limits_of_the_source_above_those_given_are_seen_and_others_are_not() {
    let limits = |connections: u32, workers: u32| SourceLimits {
        max_connections: connections,
        max_worker_processes: workers,
        max_wal_senders: 10,
        max_prepared_transactions: 0,
        max_locks_per_transaction: 64,
    };
    assert!(limits(100, 8).fall_below(limits(333, 8)));
    assert!(!limits(100, 8).fall_below(limits(100, 8)) && !limits(333, 8).fall_below(limits(100, 8)));
    assert!(!limits(10, 2).fall_below(limits(20, 8)), "more is given than asked for");
}

#[test]
fn a_control_file_of_an_unknown_version_is_our_lack_and_a_damaged_one_is_not() {
    let mut bytes = vec![0_u8; 512];
    bytes[8..12].copy_from_slice(&1201_u32.to_le_bytes());
    assert!(matches!(recover::control_of(&bytes), Err(Trouble::CouldNot { .. })));
    bytes[8..12].copy_from_slice(&1300_u32.to_le_bytes());
    assert!(matches!(recover::control_of(&bytes), Err(Trouble::Bad { .. })));
}

#[test]
fn a_label_of_another_backup_is_seen() {
    use dalsegno::archive::{BackupInfo, BackupLabel};
    let label = |start: &str, file: &str, checkpoint: &str, timeline: u32| {
        let text = format!(
            "START WAL LOCATION: {start} (file {file})\nCHECKPOINT LOCATION: {checkpoint}\nBACKUP METHOD: streamed\nSTART TIMELINE: {timeline}\n"
        );
        BackupLabel::parse(&text).unwrap()
    };
    let info = BackupInfo::parse(
        b"[server]\nbegin_wal=000000010000000000000003\nbegin_xlog=0/3000028\ntimeline=1\nxlog_segment_size=16777216\nstatus=DONE\n",
    )
    .or_else(|_| {
        BackupInfo::parse(
            b"begin_wal=000000010000000000000003\nbegin_xlog=0/3000028\ntimeline=1\nxlog_segment_size=16777216\nstatus=DONE\n",
        )
    })
    .unwrap();
    let segment = "000000010000000000000003";
    assert_eq!(base::label_agrees(&label("0/3000028", segment, "0/3000060", 1), &info), Ok(()));
    for other in [
        label("0/3000100", segment, "0/3000160", 1),
        label("0/3000028", "000000010000000000000004", "0/3000060", 1),
        label("0/3000028", segment, "0/3000060", 2),
        label("0/3000028", segment, "0/2000060", 1),
    ] {
        assert!(base::label_agrees(&other, &info).is_err(), "{other:?}");
    }
}
