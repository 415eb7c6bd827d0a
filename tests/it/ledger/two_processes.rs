use std::io::{BufRead as _, BufReader};

use dalsegno::domain::{ExitCode, Explained as _, RunId};
use dalsegno::ledger::{HistoryFilter, LedgerError, RunKind};
use sqlx::Connection as _;

use super::kill::{child, folder_of_child};
use super::{at, open, pass, raw};

const RUNS: usize = 20;

/// Writes some runs. Does nothing unless it is the child.
#[tokio::test]
async fn child_that_writes_some_runs() {
    let Some(folder) = folder_of_child() else { return };
    let ledger = open(&folder).await;
    for second in 0..RUNS {
        pass(&ledger, i64::try_from(second).unwrap()).await;
    }
    ledger.close().await;
    println!("wrote all");
}

#[tokio::test]
async fn several_processes_make_and_write_one_ledger_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let children: Vec<_> = (0..3).map(|_| child("ledger::two_processes::child_that_writes_some_runs", folder.path())).collect();
    for mut writing in children {
        let out = BufReader::new(writing.stdout.take().unwrap());
        let said: Vec<String> = out.lines().map_while(Result::ok).collect();
        let wrote = said.iter().any(|line| line.contains("wrote all"));
        assert!(writing.wait().unwrap().success() && wrote, "a writer failed: {said:?}");
    }
    let ledger = open(folder.path()).await;
    assert!(ledger.verify().await.unwrap().whole());
    let runs = ledger.history(&HistoryFilter { limit: Some(1000), ..Default::default() }).await.unwrap();
    assert_eq!(runs.len(), 3 * RUNS);
}

#[tokio::test]
async fn who_waits_too_long_for_another_writer_has_lost_the_race() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let mut other = raw(folder.path()).await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let error = ledger.begin(RunId::new(), RunKind::Pass, at(0)).await.unwrap_err();
    assert!(matches!(error, LedgerError::Busy { .. }), "{error:?}");
    assert_eq!(error.exit(), ExitCode::LostRace);
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    ledger.begin(RunId::new(), RunKind::Pass, at(1)).await.unwrap();
}
