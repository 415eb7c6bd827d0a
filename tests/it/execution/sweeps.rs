//! Runs whose process went away: closed by a later start, from the journal alone.

use std::fs;

use dalsegno::domain::{Act, RunId, State, StepEnd, Verdict};
use dalsegno::execution::{How, Interrupted, JOURNAL_FILE, Journal, Record, SweptHow, Unwatched, read_journal, replay, sweep};
use serde_json::json;

use super::bench::{BOOK, Bench, cx, now, planned, run_plan};
use super::folder_act::{Fault, FolderAct};

async fn swept(bench: &Bench, act: &FolderAct, seen: &mut Vec<Interrupted>) -> Vec<SweptHow> {
    let mut close = |interrupted: &Interrupted| {
        seen.push(interrupted.clone());
        Ok(Verdict::Unknown)
    };
    let swept = sweep(&cx(RunId::new()), &bench.drills, &[act], &Unwatched, &mut close).await.unwrap();
    swept.into_iter().map(|one| one.how).collect()
}

/// Leaves the world as a run that was killed when its journal had `lines` whole lines and a torn rest: everything is made,
/// nothing is taken back.
async fn killed(bench: &Bench, lines: usize, torn: bool) -> FolderAct {
    let act = FolderAct::new(&bench.sandboxes);
    let plan = planned(BOOK);
    let (_, journal) = run_plan(bench, &act, &plan, &cx(plan.run)).await;
    let folder = journal.folder().to_owned();
    drop(journal);
    let mut intents = std::collections::BTreeMap::new();
    for line in read_journal(&folder).unwrap().lines.into_iter().take(lines) {
        match line.record {
            Record::Intent { intent, .. } => {
                let _ = act.start(&cx(plan.run), &intent).await;
                intents.insert(intent.call.step.clone(), intent);
            }
            Record::Undone { step, .. } => drop(act.undo(&cx(plan.run), &intents[&step], &State::Absent).await),
            _ => {}
        }
    }
    let bytes = fs::read(folder.join(JOURNAL_FILE)).unwrap();
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    let cut = ends[lines - 1] + if torn { 5 } else { 0 };
    fs::write(folder.join(JOURNAL_FILE), &bytes[..cut.min(bytes.len())]).unwrap();
    act
}

#[tokio::test]
async fn after_a_kill_at_any_line_the_next_start_leaves_no_scaffold_and_no_half_run() {
    let all = {
        let bench = Bench::new();
        let act = FolderAct::new(&bench.sandboxes);
        let plan = planned(BOOK);
        run_plan(&bench, &act, &plan, &cx(plan.run)).await.1.lines().len()
    };
    for lines in 1..=all {
        for torn in [false, true] {
            let bench = Bench::new();
            let act = killed(&bench, lines, torn).await;
            let mut seen = Vec::new();
            let hows = swept(&bench, &act, &mut seen).await;
            assert_eq!(hows, [SweptHow::Closed { left_over: vec![] }], "{lines} lines");
            let left = act.left();
            assert!(!left.iter().any(|name| name.ends_with("-sandbox") || name.ends_with("-server")), "{lines} lines: {left:?}");
            let told = read_journal(&seen[0].folder).unwrap();
            assert_eq!(told.damaged_at, None);
            assert_eq!(replay(&told.lines).unwrap().ended, Some(vec![]));
            assert!(seen[0].steps.iter().all(|step| step.end == StepEnd::Done) || lines < all, "{lines} lines");
            // Closed for good: the next start does not even read it.
            assert!(swept(&bench, &act, &mut seen).await.is_empty());
            assert_eq!(seen.len(), 1);
        }
    }
}

#[tokio::test]
async fn a_run_that_lives_is_left_alone() {
    let bench = Bench::new();
    let act = FolderAct::new(&bench.sandboxes);
    let plan = planned(BOOK);
    let (_, journal) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    let before = fs::read(journal.folder().join(JOURNAL_FILE)).unwrap();
    let mut seen = Vec::new();
    assert_eq!(swept(&bench, &act, &mut seen).await, [SweptHow::Living]);
    assert_eq!(fs::read(journal.folder().join(JOURNAL_FILE)).unwrap(), before);
    assert!(seen.is_empty());
    drop(journal);
    assert_eq!(swept(&bench, &act, &mut seen).await, [SweptHow::Closed { left_over: vec![] }]);
}

#[tokio::test]
async fn a_folder_in_which_nothing_was_begun_is_removed() {
    for torn in ["", "{\"n\":1,\"at\":\"2026-"] {
        let bench = Bench::new();
        let folder = bench.drills.join(RunId::new().to_string());
        fs::create_dir_all(&folder).unwrap();
        if !torn.is_empty() {
            fs::write(folder.join("lock"), "").unwrap();
            fs::write(folder.join(JOURNAL_FILE), torn).unwrap();
        }
        let act = FolderAct::new(&bench.sandboxes);
        assert_eq!(swept(&bench, &act, &mut Vec::new()).await, [SweptHow::Discarded]);
        assert!(!folder.exists());
    }
}

#[tokio::test]
async fn what_is_stuck_is_tried_again_by_the_next_start_until_it_is_gone() {
    let bench = Bench::new();
    let plan = planned(BOOK);
    let stuck = FolderAct::breaking(&bench.sandboxes, "server", Fault::UndoIsStuck);
    let (outcome, journal) = run_plan(&bench, &stuck, &plan, &cx(plan.run)).await;
    let folder = journal.folder().to_owned();
    journal.close(How::Finished, Some(Verdict::Unknown), &outcome.left_over).unwrap();
    let lines = read_journal(&folder).unwrap().lines.len();
    let mut seen = Vec::new();
    for _ in 0..2 {
        let hows = swept(&bench, &stuck, &mut seen).await;
        assert!(matches!(&hows[..], [SweptHow::Closed { left_over }] if left_over.len() == 1), "{hows:?}");
    }
    assert_eq!(read_journal(&folder).unwrap().lines.len(), lines, "nothing new, nothing written");
    let mended = FolderAct::new(&bench.sandboxes);
    assert_eq!(swept(&bench, &mended, &mut seen).await, [SweptHow::Closed { left_over: vec![] }]);
    assert!(!mended.left().iter().any(|name| name.ends_with("-server")));
    assert!(swept(&bench, &mended, &mut seen).await.is_empty());
}

#[tokio::test]
async fn a_verb_that_this_program_does_not_have_is_left_over_and_said() {
    let bench = Bench::new();
    let act = killed(&bench, 20, false).await;
    let mut seen = Vec::new();
    let mut close = |interrupted: &Interrupted| {
        seen.push(interrupted.clone());
        Ok(Verdict::Unknown)
    };
    let swept = sweep(&cx(RunId::new()), &bench.drills, &[], &Unwatched, &mut close).await.unwrap();
    assert!(
        matches!(&swept[0].how, SweptHow::Closed { left_over } if left_over.iter().any(|line| line.contains("no verb"))),
        "{swept:?}"
    );
    drop(act);
}

#[tokio::test]
async fn a_damaged_journal_is_not_touched_and_a_human_is_called() {
    let bench = Bench::new();
    let act = killed(&bench, 12, false).await;
    let folder = fs::read_dir(&bench.drills).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(folder.join(JOURNAL_FILE)).unwrap().replacen("\"record\":\"handle\"", "\"record\":\"??\"", 1);
    fs::write(folder.join(JOURNAL_FILE), &text).unwrap();
    let hows = swept(&bench, &act, &mut Vec::new()).await;
    assert!(matches!(&hows[..], [SweptHow::Stuck { .. }]), "{hows:?}");
    assert_eq!(fs::read_to_string(folder.join(JOURNAL_FILE)).unwrap(), text);
}

#[tokio::test]
async fn somebody_elses_folder_under_our_name_survives_the_sweep() {
    let bench = Bench::new();
    let act = FolderAct::new(&bench.sandboxes);
    let plan = planned(BOOK);
    let foreign = bench.sandboxes.join(format!("dalsegno-{}-sandbox", plan.run.short()));
    fs::create_dir(&foreign).unwrap();
    let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    assert!(foreign.exists());
    assert_eq!(outcome.left_over.len(), 1);
    let _ = Journal::begin(&bench.drills, &planned(BOOK), json!({}), now()).unwrap();
    swept(&bench, &act, &mut Vec::new()).await;
    assert!(foreign.exists());
}
