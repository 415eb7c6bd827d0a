//! Archives that restore.

use dalsegno::domain::{CheckEnd, State, Undone};
use lab::barman::{BaseCompression, WalCompression};
use serde_json::json;

use super::drill::{Archive, Drill, check, servers_are_here};

#[tokio::test(flavor = "multi_thread")]
async fn a_good_archive_comes_back_with_all_rows_and_leaves_nothing_behind() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let rows = archive.pg.value("select count(*)::text from accounts").await.unwrap();
    let mut subject = archive.subject().await;
    subject.checks = vec![
        check("rows", "select count(*) from accounts", json!({"value": rows})),
        check("too many", "select count(*) from accounts", json!({"at-least": 1_000_000})),
        check("writes", "insert into accounts select * from accounts", json!({"runs": true})),
    ];
    let mut drill = Drill::new(subject);
    let state = drill.run("end", None).await;
    for (step, receipt) in &drill.receipts {
        eprintln!("{step}: {:?} {:?}", receipt.phases, receipt.notes);
    }
    let State::Done { receipt } = state else { panic!("{state:?}") };
    let outcome = |name: &str| receipt.assertions.iter().find(|a| a.name == name).map(|a| (a.end, a.seen.clone()));
    for name in ["system-id", "replay-end", "archiving-off", "fresh", "base-size", "relation-files", "rows"] {
        assert_eq!(outcome(name).map(|o| o.0), Some(CheckEnd::Passed), "{name}: {:?}", outcome(name));
    }
    assert_eq!(outcome("too many").map(|o| o.0), Some(CheckEnd::Failed));
    assert_eq!(
        outcome("writes").map(|o| o.0),
        Some(CheckEnd::Undecided),
        "a check must not write, and that is not the data's fault"
    );
    assert_eq!(drill.output("recover", "isolation"), json!("sealed"), "{:?}", drill.output("recover", "isolation_facts"));
    let undone = drill.finally().await;
    assert_eq!(undone, [Undone::Removed, Undone::Removed]);
    drill.leaves_nothing();
    assert_eq!(drill.finally().await, [Undone::NothingToDo, Undone::NothingToDo], "undo twice is undo once");
}

/// Proven: every step is done and no assertion of ours failed.
async fn is_proven(archive: &Archive, target: &str, timeline: Option<u32>, rows: &str) -> Drill {
    let mut subject = archive.subject().await;
    subject.checks = vec![check("rows", "select count(*) from accounts", json!({"value": rows}))];
    let mut drill = Drill::new(subject);
    let state = drill.run(target, timeline).await;
    let State::Done { receipt } = state else { panic!("{state:?}") };
    for assertion in &receipt.assertions {
        assert_eq!(assertion.end, CheckEnd::Passed, "{assertion:?}");
    }
    drill.finally().await;
    drill.leaves_nothing();
    drill
}

async fn rows_of(archive: &Archive) -> String {
    archive.pg.value("select count(*)::text from accounts").await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_compression_that_barman_writes_comes_back() {
    if !servers_are_here() {
        return;
    }
    let bases = BaseCompression::ALL;
    for (number, wal) in WalCompression::ALL.into_iter().enumerate() {
        let archive = Archive::filled(wal, bases[number % bases.len()]).await;
        let rows = rows_of(&archive).await;
        is_proven(&archive, "end", None, &rows).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tablespaces_and_split_tars_come_back_inside_of_the_sandbox() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::of(WalCompression::Zstd, |options| options).await;
    let place = archive.pg.data().parent().unwrap().join("ts1");
    std::fs::create_dir(&place).unwrap();
    let owner = std::fs::metadata(archive.pg.data()).unwrap();
    let (uid, gid) = (std::os::unix::fs::MetadataExt::uid(&owner), std::os::unix::fs::MetadataExt::gid(&owner));
    std::os::unix::fs::chown(&place, Some(uid), Some(gid)).unwrap();
    archive.pg.sql(&format!("create tablespace ts1 location '{}'", place.display())).await.unwrap();
    archive.pg.sql("create table moved tablespace ts1 as select generate_series(1, 50000) as n").await.unwrap();
    archive.pg.write_accounts(20_000).await.unwrap();
    archive.barman.backup_with(&archive.pg, BaseCompression::None, &["-S", "5MB"]).await.unwrap();
    archive.pg.write_accounts(100).await.unwrap();
    archive.pg.switch_and_wait_archived().await.unwrap();
    let keys = archive.barman.client().keys(&archive.bucket, &archive.barman.key("base/")).await.unwrap();
    assert!(keys.iter().any(|key| key.contains("data_0001.tar")), "not split: {keys:?}");
    let rows = rows_of(&archive).await;
    let mut subject = archive.subject().await;
    subject.checks = vec![
        check("rows", "select count(*) from accounts", json!({"value": rows})),
        check("moved", "select count(*) from moved", json!({"value": "50000"})),
    ];
    let mut drill = Drill::new(subject);
    let State::Done { receipt } = drill.run("end", None).await else { panic!("not done") };
    assert!(receipt.assertions.iter().all(|a| a.end == CheckEnd::Passed), "{:?}", receipt.assertions);
    drill.finally().await;
    drill.leaves_nothing();

    // The twin: a later part is lost, which barman-cloud-restore does not see.
    let last = keys.iter().filter(|key| key.contains("data_0")).max().unwrap();
    archive.barman.client().delete(&archive.bucket, last).await.unwrap();
    let mut drill = Drill::new(archive.subject().await);
    let state = drill.run("end", None).await;
    assert!(matches!(&state, State::Failed { why } if why.contains("later part")), "{state:?}");
    drill.finally().await;
    drill.leaves_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_stops_replay_there_and_not_later() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let (rows, moment) = (rows_of(&archive).await, archive.pg.now().await.unwrap());
    archive.pg.sql("select pg_sleep(0.05)").await.unwrap();
    archive.pg.write_accounts(500).await.unwrap();
    archive.pg.switch_and_wait_archived().await.unwrap();
    archive.pg.write_accounts(500).await.unwrap();
    archive.pg.switch_and_wait_archived().await.unwrap();
    assert_ne!(rows, rows_of(&archive).await);
    is_proven(&archive, &moment, None, &rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeline_switch_is_followed_along_its_history() {
    if !servers_are_here() {
        return;
    }
    let mut archive = Archive::filled(WalCompression::Lz4, BaseCompression::Snappy).await;
    // A standby that is promoted: archives the partial segment, the history, and goes on along timeline 2.
    archive.pg.stop();
    std::fs::write(archive.pg.data().join("standby.signal"), "").unwrap();
    archive.pg.resume().await.unwrap();
    archive.pg.sql("select pg_promote()").await.unwrap();
    archive.pg.write_accounts(700).await.unwrap();
    archive.pg.switch_and_wait_archived().await.unwrap();
    archive.pg.write_accounts(300).await.unwrap();
    archive.pg.switch_and_wait_archived().await.unwrap();
    let segments = archive.segments().await;
    assert!(segments.iter().any(|name| name.starts_with("00000002")), "{segments:?}");
    let rows = rows_of(&archive).await;
    let drill = is_proven(&archive, "end", None, &rows).await;
    assert_eq!(drill.output("choose", "timeline"), json!(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_that_the_source_raised_after_the_base_backup_are_met_by_a_second_start() {
    if !servers_are_here() {
        return;
    }
    let mut archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    archive.pg.sql("alter system set max_connections = 333").await.unwrap();
    archive.pg.sql("alter system set max_prepared_transactions = 44").await.unwrap();
    archive.pg.stop();
    archive.pg.resume().await.unwrap();
    archive.pg.write_accounts(500).await.unwrap();
    archive.pg.switch_and_wait_archived().await.unwrap();
    let rows = rows_of(&archive).await;
    let drill = is_proven(&archive, "end", None, &rows).await;
    assert!(
        drill.receipts["recover"].notes.iter().any(|note| note.contains("started again")),
        "{:?}",
        drill.receipts["recover"].notes
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_configuration_has_no_say() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::of(WalCompression::Gzip, |options| options).await;
    archive.pg.write_accounts(500).await.unwrap();
    for sql in [
        "alter system set restore_command = 'touch /tmp/never'",
        "alter system set session_preload_libraries = 'no_such_library_of_the_system'",
        "alter system set shared_preload_libraries = 'not_here_too'",
        "alter system set listen_addresses = '*'",
        "alter system set archive_mode = 'always'",
        "alter system set ssl = 'on'",
    ] {
        archive.pg.sql(sql).await.unwrap();
    }
    archive.barman.backup(&archive.pg, BaseCompression::Gzip).await.unwrap();
    let mut subject = archive.subject().await;
    subject.checks = vec![check("rows", "select count(*) from accounts", json!({"value": "500"}))];
    // From here on no new session of the source starts.
    let sql = "alter database postgres set session_preload_libraries = 'no_such_library_of_the_source'; \
               alter role all set session_preload_libraries = 'no_such_library_of_all'";
    archive.last_words(sql).await;
    let mut drill = Drill::new(subject);
    let State::Done { receipt } = drill.run("end", None).await else { panic!("not done") };
    assert!(receipt.assertions.iter().all(|a| a.end == CheckEnd::Passed), "{:?}", receipt.assertions);
    drill.finally().await;
    drill.leaves_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_fence_the_same_archive_is_shown_to_be_in_no_closed_sandbox() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let mut drill = Drill::without_a_fence(archive.subject().await);
    let state = drill.run("end", None).await;
    assert!(matches!(state, State::Done { .. }), "{state:?}");
    assert_eq!(drill.output("recover", "isolation"), json!("none"));
    let facts = drill.output("recover", "isolation_facts").to_string();
    assert!(facts.contains("Landlock of Linux 6.2 is not there, or is switched off"), "{facts}");
    drill.finally().await;
    drill.leaves_nothing();
}
