//! What a restored cluster, or its WAL, would do to the machine it is restored on; and losses that only show on a second look.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

use dalsegno::domain::{CheckEnd, State};
use lab::barman::{BaseCompression, WalCompression};
use serde_json::json;

use super::drill::{Archive, Drill, check, servers_are_here};

/// Every file below a folder with its bytes and its rights.
fn everything_in(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .map(|entry| {
            let entry = entry.unwrap();
            let content = if entry.file_type().is_file() { std::fs::read(entry.path()).unwrap() } else { Vec::new() };
            (entry.path().display().to_string(), (entry.metadata().unwrap().mode(), content))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tablespace_made_after_the_base_backup_is_out_of_reach_on_the_sources_own_host() {
    if !servers_are_here() {
        return;
    }
    let mut archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    // The worst case: the drill's user owns the place.
    let place = archive.pg.data().parent().unwrap().join("late");
    std::fs::create_dir(&place).unwrap();
    let owner = std::fs::metadata(archive.pg.data()).unwrap();
    chown(&place, Some(owner.uid()), Some(owner.gid())).unwrap();
    archive.pg.sql(&format!("create tablespace late location '{}'", place.display())).await.unwrap();
    archive.pg.sql("create table precious tablespace late as select generate_series(1, 1000) as n").await.unwrap();
    archive.pg.sql("update precious set n = n + 1").await.unwrap();
    archive.pg.switch_and_wait_archived().await.unwrap();
    let subject = archive.subject().await;
    archive.pg.stop();
    // As it was before these rows, so that a replay which comes here would write.
    let before = everything_in(&place);
    let mut drill = Drill::new(subject);
    let state = drill.run("end", None).await;
    let State::CouldNot { why, hint } = &state else { panic!("neither proven nor failed: {state:?}") };
    assert!(why.contains("tablespace") && hint.contains("new base backup"), "{why} {hint}");
    assert!(everything_in(&place) == before, "production was written to");
    drill.finally().await;
    drill.leaves_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_planted_in_the_source_does_not_run_as_a_superuser_of_ours() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::of(WalCompression::Gzip, |options| options).await;
    archive.pg.write_accounts(500).await.unwrap();
    for sql in [
        "create table public.caught (who text, superuser text)",
        "create function public.trap(pg_lsn, integer) returns pg_lsn language plpgsql as $$ begin \
             insert into public.caught values (current_user, current_setting('is_superuser')); return $1; end $$",
        "create operator public.+ (leftarg = pg_lsn, rightarg = integer, function = public.trap)",
        "create function public.trap2(name, text) returns boolean language plpgsql as $$ begin \
             insert into public.caught values (current_user, current_setting('is_superuser')); return true; end $$",
        "create operator public.= (leftarg = name, rightarg = text, function = public.trap2)",
        "create function public.count(text) returns bigint language sql as 'select 1'",
    ] {
        archive.pg.sql(sql).await.unwrap();
    }
    archive.barman.backup(&archive.pg, BaseCompression::Gzip).await.unwrap();
    let mut subject = archive.subject().await;
    // From here on no new session of the source can work.
    let sql = "alter role postgres set default_transaction_read_only = on; alter role postgres set statement_timeout = 1; \
               alter database postgres set default_transaction_read_only = on; alter database postgres set statement_timeout = 1";
    archive.last_words(sql).await;
    subject.checks = vec![
        check("rows", "select pg_catalog.count(*) from accounts", json!({"value": "500"})),
        check("caught", "select pg_catalog.count(*) from caught", json!({"value": "0"})),
    ];
    let mut drill = Drill::new(subject);
    let state = drill.run("end", None).await;
    let State::Done { receipt } = state else { panic!("{state:?}") };
    assert!(receipt.assertions.iter().all(|a| a.end == CheckEnd::Passed), "{:?}", receipt.assertions);
    drill.finally().await;
    drill.leaves_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn zeros_behind_the_first_page_of_the_last_segment_are_failed() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::None, BaseCompression::Gzip).await;
    let key = archive.barman.wal_key(archive.segments().await.last().unwrap(), archive.wal);
    let client = archive.barman.client();
    let whole = client.get(&archive.bucket, &key).await.unwrap();
    let mut wiped = whole.to_vec();
    wiped[8192..].fill(0);
    client.put(&archive.bucket, &key, wiped).await.unwrap();
    let mut drill = Drill::new(archive.subject().await);
    let state = drill.run("end", None).await;
    assert!(matches!(&state, State::Failed { why } if why.contains("lost or damaged")), "{state:?}");
    drill.finally().await;
    drill.leaves_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_last_segment_that_was_filled_and_not_switched_is_proven() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let first = archive.pg.current_segment().await.unwrap();
    archive.pg.churn(3).await.unwrap();
    archive.pg.wait_archived(&first).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let mut drill = Drill::new(archive.subject().await);
    let state = drill.run("end", None).await;
    let State::Done { receipt } = state else { panic!("{state:?}") };
    assert!(receipt.assertions.iter().all(|a| a.end == CheckEnd::Passed), "{:?}", receipt.assertions);
    drill.finally().await;
    drill.leaves_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_behind_the_last_commit_is_not_proven_and_with_a_hole_behind_it_is_failed() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    // A moment that lies behind the last commit and before the upload of its segment.
    let moment = archive.pg.now().await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1_200)).await;
    archive.pg.sql("select pg_logical_emit_message(false, 'x', 'y')").await.unwrap();
    // Not yet written, only inserted.
    let segment = archive.pg.value("select pg_walfile_name(pg_current_wal_insert_lsn())").await.unwrap();
    archive.pg.sql("select pg_switch_wal()").await.unwrap();
    archive.pg.wait_archived(&segment).await.unwrap();
    let mut drill = Drill::new(archive.subject().await);
    let state = drill.run(&moment, None).await;
    assert!(matches!(&state, State::CouldNot { why, .. } if why.contains("without a commit behind the target")), "{state:?}");
    drill.finally().await;
    drill.leaves_nothing();

    archive.pg.write_accounts(5).await.unwrap();
    let lost = archive.pg.switch_and_wait_archived().await.unwrap();
    archive.pg.write_accounts(5).await.unwrap();
    archive.pg.switch_and_wait_archived().await.unwrap();
    archive.barman.client().delete(&archive.bucket, &archive.barman.wal_key(&lost, archive.wal)).await.unwrap();
    let mut drill = Drill::new(archive.subject().await);
    let state = drill.run(&moment, None).await;
    assert!(matches!(&state, State::Failed { why } if why.contains(&lost)), "{state:?}");
    drill.finally().await;
    drill.leaves_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_after_the_source_raised_its_limits_is_reached_and_not_only_the_change() {
    if !servers_are_here() {
        return;
    }
    let mut archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    archive.pg.sql("alter system set max_connections = 333").await.unwrap();
    archive.pg.stop();
    archive.pg.resume().await.unwrap();
    archive.pg.write_accounts(500).await.unwrap();
    let rows = archive.pg.value("select count(*)::text from accounts").await.unwrap();
    let moment = archive.pg.now().await.unwrap();
    archive.pg.sql("select pg_sleep(0.05)").await.unwrap();
    archive.pg.write_accounts(500).await.unwrap();
    archive.pg.switch_and_wait_archived().await.unwrap();
    archive.pg.write_accounts(500).await.unwrap();
    archive.pg.switch_and_wait_archived().await.unwrap();
    let mut subject = archive.subject().await;
    subject.checks = vec![check("rows", "select count(*) from accounts", json!({"value": rows}))];
    let mut drill = Drill::new(subject);
    let state = drill.run(&moment, None).await;
    let State::Done { receipt } = state else { panic!("{state:?}") };
    assert!(receipt.assertions.iter().all(|a| a.end == CheckEnd::Passed), "{:?}", receipt.assertions);
    drill.finally().await;
    drill.leaves_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relation_whose_file_was_not_in_the_backup_is_failed() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::of(WalCompression::Gzip, |options| options).await;
    archive.pg.write_accounts(500).await.unwrap();
    archive.pg.sql("create table quiet as select generate_series(1, 1000) as n").await.unwrap();
    archive.pg.sql("checkpoint").await.unwrap();
    let path = archive.pg.value("select pg_relation_filepath('quiet')").await.unwrap();
    // As a lost part of a tar would leave it: the file is not read by the backup.
    let file = archive.pg.data().join(path);
    let aside = file.with_extension("aside");
    std::fs::rename(&file, archive.pg.data().parent().unwrap().join("aside")).unwrap();
    archive.barman.backup(&archive.pg, BaseCompression::Gzip).await.unwrap();
    std::fs::rename(archive.pg.data().parent().unwrap().join("aside"), &file).unwrap();
    assert!(!aside.exists());
    archive.pg.switch_and_wait_archived().await.unwrap();
    let mut drill = Drill::new(archive.subject().await);
    let state = drill.run("end", None).await;
    let State::Done { receipt } = state else { panic!("{state:?}") };
    let files = receipt.assertions.iter().find(|a| a.name == "relation-files").unwrap();
    assert_eq!(files.end, CheckEnd::Failed, "{files:?}");
    drill.finally().await;
    drill.leaves_nothing();
}
