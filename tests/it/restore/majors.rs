//! Newer PostgreSQL: what changes from one major to the next must not be found out by somebody's drill.

use dalsegno::domain::{CheckEnd, State};
use lab::Tool;
use lab::barman::{BaseCompression, WalCompression};
use serde_json::json;

use super::drill::{Archive, Drill, check, servers_are_here};

async fn comes_back(major: u32) {
    if !servers_are_here() || lab::need("restore", Tool::Postgres(major)).is_none() {
        return;
    }
    let archive = Archive::of_major(major, WalCompression::Gzip, |options| options).await;
    archive.pg.write_accounts(500).await.unwrap();
    archive.barman.backup(&archive.pg, BaseCompression::Gzip).await.unwrap();
    for _ in 0..2 {
        archive.pg.write_accounts(500).await.unwrap();
        archive.pg.switch_and_wait_archived().await.unwrap();
    }
    let rows = archive.pg.value("select count(*)::text from accounts").await.unwrap();
    let mut subject = archive.subject().await;
    subject.checks = vec![
        check("rows", "select count(*) from accounts", json!({"value": rows})),
        check("major", "select current_setting('server_version_num')::int / 10000", json!({"value": major.to_string()})),
    ];
    let mut drill = Drill::new(subject);
    let state = drill.run("end", None).await;
    let State::Done { receipt } = state else { panic!("PostgreSQL {major}: {state:?}") };
    for assertion in &receipt.assertions {
        assert_eq!(assertion.end, CheckEnd::Passed, "PostgreSQL {major}: {assertion:?}");
    }
    let facts = drill.output("recover", "isolation_facts");
    assert_eq!(drill.output("recover", "isolation"), json!("sealed"), "PostgreSQL {major}: {facts:?}");
    drill.finally().await;
    drill.leaves_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_of_postgresql_17_comes_back() {
    comes_back(17).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_of_postgresql_18_comes_back() {
    comes_back(18).await;
}
