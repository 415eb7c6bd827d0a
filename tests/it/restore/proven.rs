//! Archives that restore.

use dalsegno::domain::{Outcome3, State, Undone};
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
    let outcome = |name: &str| receipt.assertions.iter().find(|a| a.name == name).map(|a| (a.outcome, a.seen.clone()));
    for name in ["system-id", "replay-end", "archiving-off", "fresh", "rows"] {
        assert_eq!(outcome(name).map(|o| o.0), Some(Outcome3::Passed), "{name}: {:?}", outcome(name));
    }
    assert_eq!(outcome("too many").map(|o| o.0), Some(Outcome3::Failed));
    assert_eq!(outcome("writes").map(|o| o.0), Some(Outcome3::Failed), "a check must not write");
    assert_eq!(drill.output("recover", "isolation"), json!("sealed"), "{:?}", drill.output("recover", "isolation_facts"));
    let undone = drill.finally().await;
    assert_eq!(undone, [Undone::Removed, Undone::Removed]);
    drill.leaves_nothing();
    assert_eq!(drill.finally().await, [Undone::NothingToDo, Undone::NothingToDo], "undo twice is undo once");
}
