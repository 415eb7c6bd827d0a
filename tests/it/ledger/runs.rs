use dalsegno::domain::{ExitCode, RunId};
use dalsegno::ledger::{HistoryFilter, Ledger, LedgerError, RunKind, RunState};
use dalsegno::process::Process;

use super::{at, me, open, pass};

#[tokio::test]
async fn a_run_has_a_number_a_state_and_an_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    ledger.end(run, at(7), RunState::Done, ExitCode::Findings).await.unwrap();
    ledger.end(run, at(9), RunState::Failed, ExitCode::Bug).await.unwrap();
    let line = ledger.history(&HistoryFilter::default()).await.unwrap().remove(0);
    assert_eq!((line.number, line.state, line.ended, line.exit_code), (1, RunState::Done, Some(at(7)), Some(1)));
}

#[tokio::test]
async fn a_run_is_found_by_number_id_and_the_end_of_its_id() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let (one, two) = (pass(&ledger, 0).await, pass(&ledger, 1).await);
    assert_eq!(ledger.find("2").await.unwrap(), 2);
    assert_eq!(ledger.find(&one.to_string()).await.unwrap(), 1);
    assert_eq!(ledger.find(&two.short()).await.unwrap(), 2);
    for nonsense in ["77", "", "zz", "%", "____"] {
        assert!(matches!(ledger.find(nonsense).await, Err(LedgerError::NoSuchRun { .. })), "{nonsense}");
    }
}

#[tokio::test]
async fn history_is_filtered_newest_first() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    for second in 0..5 {
        pass(&ledger, second).await;
    }
    ledger.begin(RunId::new(), RunKind::Drill, at(9)).await.unwrap();
    let numbers = |filter: HistoryFilter| {
        let ledger = ledger.clone();
        async move { ledger.history(&filter).await.unwrap().iter().map(|line| line.number).collect::<Vec<_>>() }
    };
    assert_eq!(numbers(HistoryFilter { limit: Some(2), ..Default::default() }).await, [6, 5]);
    assert_eq!(numbers(HistoryFilter { kind: Some(RunKind::Drill), ..Default::default() }).await, [6]);
    assert_eq!(numbers(HistoryFilter { since: Some(at(3)), ..Default::default() }).await, [6, 5, 4]);
    assert_eq!(numbers(HistoryFilter { state: Some(RunState::Done), ..Default::default() }).await, [0_i64; 0]);
}

/// Begins a run as another process and lets go of its lock, as the kernel does for a dead one.
async fn run_of(folder: &std::path::Path, other: Process) -> RunId {
    let ledger = Ledger::open(folder, at(0), other).await.unwrap();
    let run = pass(&ledger, 0).await;
    ledger.close().await;
    run
}

async fn state_seen_by(folder: &std::path::Path, run: RunId) -> (RunState, Option<jiff::Timestamp>) {
    let ledger = Ledger::open(folder, at(100), me()).await.unwrap();
    let line = ledger.history(&HistoryFilter::default()).await.unwrap().into_iter().find(|line| line.id == run).unwrap();
    (line.state, line.ended)
}

#[tokio::test]
async fn runs_whose_process_is_gone_are_closed_as_interrupted() {
    for other in [
        Process { boot: "another boot".into(), ..me() },
        Process { started: me().started + 1, ..me() },
        Process { namespace: "pid:[1]".into(), ..me() },
        Process { pid: 4_194_304 + 1, ..me() },
    ] {
        let folder = tempfile::tempdir().unwrap();
        let run = run_of(folder.path(), other.clone()).await;
        assert_eq!(state_seen_by(folder.path(), run).await, (RunState::Interrupted, Some(at(100))), "{other:?}");
    }
}

#[tokio::test]
async fn a_run_of_a_living_process_stays() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_of(folder.path(), me()).await;
    assert_eq!(state_seen_by(folder.path(), run).await, (RunState::Running, None));
}

#[tokio::test]
async fn a_run_whose_lock_is_held_stays_though_its_pid_cannot_be_seen() {
    let folder = tempfile::tempdir().unwrap();
    let other = Process { namespace: "pid:[1]".into(), pid: 1, ..me() };
    let ledger = Ledger::open(folder.path(), at(0), other).await.unwrap();
    let run = pass(&ledger, 0).await;
    assert_eq!(state_seen_by(folder.path(), run).await, (RunState::Running, None));
    drop(ledger);
}

#[tokio::test]
async fn a_clock_that_is_set_back_breaks_no_rule() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 100).await;
    ledger.end(run, at(40), RunState::Done, ExitCode::Fine).await.unwrap();
    assert!(ledger.verify().await.unwrap().whole());
    assert_eq!(ledger.history(&HistoryFilter::default()).await.unwrap()[0].ended, Some(at(100)));
}
