//! kill -9 at any moment loses no finished fact. The child is this test binary, started again for one test.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use dalsegno::domain::{Message, Sample, Severity};
use dalsegno::ledger::{Committed, HistoryFilter, RunState};

use super::{at, finding, me, open, pass, subject};

const FOLDER: &str = "DALSEGNO_TEST_LEDGER_CHILD";

/// Starts this binary again for one test, with a folder to work on.
pub(crate) fn child(test: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// The folder, when this process is such a child.
pub(crate) fn folder_of_child() -> Option<std::path::PathBuf> {
    std::env::var_os(FOLDER).map(Into::into)
}

/// Writes facts for ever, and says each that was committed. Does nothing unless it is the child.
#[tokio::test]
async fn child_that_writes_until_it_is_killed() {
    let Some(folder) = folder_of_child() else { return };
    let ledger = open(&folder).await;
    for number in 0.. {
        let run = pass(&ledger, number).await;
        println!("fact run {run}");
        let found = [finding(&format!("code-{number}"), &subject("a"), Severity::Critical)];
        let tell =
            |_: &Committed| vec![Message { channel: "ops".into(), key: run.to_string(), body: "{}".into(), replaces: false }];
        ledger.commit_findings_and_tell(run, at(number), &found, &|_| false, &tell).await.unwrap();
        println!("fact finding code-{number} {run}");
        let sample = Sample { subject: subject("a"), metric: "x_bytes".into(), value: 1.0, at: at(number) };
        ledger.commit_samples(run, at(number), &[sample]).await.unwrap();
        println!("fact sample {}", at(number).as_millisecond());
    }
}

#[tokio::test]
async fn kill_9_at_any_moment_loses_no_finished_fact() {
    // Seeded: the moments are the same at every run, as far as a clock allows.
    let mut moment: u64 = 0x2545_F491;
    let mut total = 0;
    for _round in 0..12 {
        moment ^= moment << 13;
        moment ^= moment >> 7;
        moment ^= moment << 17;
        let folder = tempfile::tempdir().unwrap();
        let mut writing = child("ledger::kill::child_that_writes_until_it_is_killed", folder.path());
        let out = BufReader::new(writing.stdout.take().unwrap());
        let facts = std::thread::spawn(move || out.lines().map_while(Result::ok).collect::<Vec<_>>());
        // Among them moments at which the file is just being made.
        std::thread::sleep(std::time::Duration::from_millis(5 + moment % 400));
        writing.kill().unwrap();
        writing.wait().unwrap();
        let facts: Vec<String> =
            facts.join().unwrap().iter().filter_map(|line| line.split_once("fact ").map(|(_, fact)| fact.to_owned())).collect();
        is_all_there(folder.path(), &facts).await;
        total += facts.len();
    }
    assert!(total > 100, "{total} facts prove nothing");
}

async fn is_all_there(folder: &Path, facts: &[String]) {
    let ledger = dalsegno::ledger::Ledger::open(folder, at(1_000_000), me()).await.unwrap();
    assert_eq!(ledger.verify().await.unwrap().problems, Vec::<String>::new());
    let runs = ledger.history(&HistoryFilter { limit: Some(1_000_000), ..Default::default() }).await.unwrap();
    assert!(runs.iter().all(|run| run.state == RunState::Interrupted), "no run is running for ever");
    let open = ledger.open_findings().await.unwrap();
    let queued = ledger.claim(at(1_000_000), jiff::SignedDuration::from_secs(1), 1_000_000).await.unwrap();
    let samples = ledger.samples(&subject("a"), "x_bytes", at(-1), at(1_000_000)).await.unwrap();
    assert_eq!(open.len(), queued.len(), "a finding and its message are one");
    for fact in facts {
        let words: Vec<&str> = fact.split(' ').collect();
        let there = match words.as_slice() {
            ["run", id] => runs.iter().any(|run| run.id.to_string() == *id),
            ["finding", code, id] => {
                open.iter().any(|known| known.finding.code == *code) && queued.iter().any(|queued| queued.message.key == *id)
            }
            ["sample", ms] => samples.iter().any(|(at, _)| at.as_millisecond().to_string() == *ms),
            other => panic!("{other:?}"),
        };
        assert!(there, "{fact} was said to be committed and is lost");
    }
}

/// Begins one run and waits. Does nothing unless it is the child.
#[tokio::test]
async fn child_that_holds_a_run() {
    let Some(folder) = folder_of_child() else { return };
    let ledger = open(&folder).await;
    pass(&ledger, 0).await;
    println!("holds it");
    tokio::time::sleep(std::time::Duration::from_mins(1)).await;
    drop(ledger);
}

#[tokio::test]
async fn a_run_lives_as_long_as_its_process_and_not_longer() {
    let folder = tempfile::tempdir().unwrap();
    let mut holding = child("ledger::kill::child_that_holds_a_run", folder.path());
    let out = BufReader::new(holding.stdout.take().unwrap());
    let mut lines = out.lines();
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.contains("holds it")));
    let state = || async {
        let ledger = dalsegno::ledger::Ledger::open(folder.path(), at(5), me()).await.unwrap();
        ledger.history(&HistoryFilter::default()).await.unwrap()[0].state
    };
    assert_eq!(state().await, RunState::Running);
    holding.kill().unwrap();
    holding.wait().unwrap();
    assert_eq!(state().await, RunState::Interrupted);
}
