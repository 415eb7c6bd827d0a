//! Runs that go well, and runs that break at any place.

use std::time::{Duration, Instant};

use dalsegno::domain::{Permit, Refused, StepEnd, Undone};
use dalsegno::execution::{Hands, Journal, Unwatched, run};
use serde_json::{Value, json};

use super::bench::{BOOK, Bench, CancelsAt, cx, now, planned, run_plan, run_watched};
use super::folder_act::{Fault, FolderAct};

fn end_of<'a>(outcome: &'a dalsegno::execution::Outcome, step: &str) -> &'a StepEnd {
    &outcome.steps.iter().find(|record| record.call.step == step).unwrap().end
}

fn is_product(name: &str) -> bool {
    name.ends_with("-backup")
}

#[tokio::test]
async fn a_run_that_goes_well_takes_scaffolds_back_in_reverse_and_keeps_products_and_changes() {
    let bench = Bench::new();
    let act = FolderAct::new(&bench.sandboxes);
    let plan = planned(BOOK);
    let (outcome, _journal) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    assert!(outcome.steps.iter().all(|record| record.end == StepEnd::Done), "{:#?}", outcome.steps);
    let undone: Vec<String> = act.log().into_iter().filter(|line| line.starts_with("undo")).collect();
    assert_eq!(undone, ["undo server", "undo sandbox"]);
    let left = act.left();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.iter().any(|name| is_product(name)) && left.iter().any(|name| name.ends_with("-pause")), "{left:?}");
    assert!(outcome.left_over.is_empty());
}

#[tokio::test]
async fn outputs_of_earlier_steps_reach_later_ones_with_their_types() {
    let bench = Bench::new();
    let mut act = FolderAct::new(&bench.sandboxes);
    act.receipts.entry("archive.choose".into()).or_default().outputs.insert("timeline".into(), json!(7));
    let text = BOOK.replace("{folder: $(server.folder)}", "{timeline: $(choose.timeline), text: \"tl $(choose.timeline)!\"}");
    let plan = planned(&text);
    let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    let args = &outcome.steps.last().unwrap().call.args;
    assert_eq!(args["timeline"], json!(7));
    assert_eq!(args["text"], json!("tl 7!"));
}

#[tokio::test]
async fn whatever_breaks_at_whichever_step_no_scaffold_is_left_and_later_steps_are_skipped() {
    let faults = [
        Fault::RefusesOnPaper,
        Fault::NotStarted,
        Fault::Denied,
        Fault::BadArchive,
        Fault::PanicsInStart,
        Fault::PanicsInLook,
        Fault::FailsInLook,
        Fault::CouldNotInLook,
        Fault::UnclearInLook,
        Fault::Vanishes,
    ];
    let steps = ["choose", "pause", "sandbox", "backup", "server", "ask"];
    for fault in faults {
        for (number, step) in steps.iter().enumerate() {
            let bench = Bench::new();
            let act = FolderAct::breaking(&bench.sandboxes, step, fault);
            let plan = planned(BOOK);
            let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
            let ends: Vec<&StepEnd> = outcome.steps.iter().map(|record| &record.end).collect();
            let words = format!("{fault:?} at {step}: {ends:#?}");
            assert!(ends[..number].iter().all(|end| **end == StepEnd::Done), "{words}");
            assert_ne!(*ends[number], StepEnd::Done, "{words}");
            assert!(ends[number + 1..].iter().all(|end| **end == StepEnd::Skipped), "{words}");
            let bad = matches!(fault, Fault::BadArchive | Fault::FailsInLook);
            assert_eq!(matches!(ends[number], StepEnd::Failed { .. }), bad, "only a bad archive counts as failed: {words}");
            // Products stay; changes are taken back, since the run did not end well.
            let left = act.left();
            assert!(left.iter().all(|name| is_product(name)), "{words}\nleft {left:?}");
        }
    }
}

#[tokio::test]
async fn a_lost_answer_is_cleared_up_by_looking_and_never_by_a_second_start() {
    let bench = Bench::new();
    let act = FolderAct::breaking(&bench.sandboxes, "sandbox", Fault::LosesAnswerAfter);
    let plan = planned(BOOK);
    let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    assert_eq!(*end_of(&outcome, "sandbox"), StepEnd::Done);
    assert_eq!(act.log().iter().filter(|line| *line == "start sandbox").count(), 1);
}

#[tokio::test]
async fn a_lost_answer_of_something_that_was_never_done_is_could_not() {
    let bench = Bench::new();
    let act = FolderAct::breaking(&bench.sandboxes, "sandbox", Fault::LosesAnswerBefore);
    let plan = planned(&BOOK.replace("verb: sandbox.make", "verb: sandbox.make, time-limit: 300ms"));
    let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    assert!(matches!(end_of(&outcome, "sandbox"), StepEnd::CouldNot { .. }), "{:?}", end_of(&outcome, "sandbox"));
    assert_eq!(act.log().iter().filter(|line| *line == "start sandbox").count(), 1);
}

#[tokio::test]
async fn looks_that_err_in_passing_are_repeated() {
    let bench = Bench::new();
    let act = FolderAct::breaking(&bench.sandboxes, "sandbox", Fault::LooksErrInPassing);
    let plan = planned(BOOK);
    let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    assert_eq!(*end_of(&outcome, "sandbox"), StepEnd::Done);
}

#[tokio::test]
async fn a_start_that_hangs_is_cancelled_at_its_limit_and_joined() {
    let bench = Bench::new();
    let act = FolderAct::breaking(&bench.sandboxes, "server", Fault::HangsInStart);
    let plan =
        planned(&BOOK.replace("with: {folder: $(sandbox.folder)}}", "with: {folder: $(sandbox.folder)}, time-limit: 200ms}"));
    let began = Instant::now();
    let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    assert!(matches!(end_of(&outcome, "server"), StepEnd::CouldNot { .. }), "{:?}", end_of(&outcome, "server"));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(act.left().iter().all(|name| is_product(name)));
}

#[tokio::test]
async fn a_cancelled_run_stops_soon_and_is_cleaned_up_all_the_same() {
    let bench = Bench::new();
    let act = FolderAct::breaking(&bench.sandboxes, "server", Fault::HangsInStart);
    let plan = planned(BOOK);
    let cx = cx(plan.run);
    let watch = CancelsAt("server", cx.cancel.clone());
    let began = Instant::now();
    let (outcome, _) = run_watched(&bench, &act, &plan, &cx, &watch).await;
    assert!(outcome.cancelled);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(matches!(end_of(&outcome, "server"), StepEnd::CouldNot { why, .. } if why == "cancelled"));
    assert_eq!(*end_of(&outcome, "ask"), StepEnd::Skipped);
    assert!(act.left().iter().all(|name| is_product(name)), "{:?}", act.left());
}

#[tokio::test]
async fn an_undo_that_errs_is_tried_again() {
    let bench = Bench::new();
    let act = FolderAct::breaking(&bench.sandboxes, "sandbox", Fault::UndoErrsOnce);
    let plan = planned(BOOK);
    let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    assert!(outcome.left_over.is_empty());
    let record = outcome.steps.iter().find(|record| record.call.step == "sandbox").unwrap();
    assert_eq!(record.undone, Some(Undone::Removed));
}

#[tokio::test]
async fn an_undo_that_is_stuck_is_left_over_and_does_not_keep_the_others_from_going() {
    for fault in [Fault::UndoIsStuck, Fault::PanicsInUndo] {
        let bench = Bench::new();
        let act = FolderAct::breaking(&bench.sandboxes, "server", fault);
        let plan = planned(BOOK);
        let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
        assert_eq!(outcome.left_over.len(), 1, "{:?}", outcome.left_over);
        assert!(outcome.left_over[0].contains("step server"), "{:?}", outcome.left_over);
        assert!(!act.left().iter().any(|name| name.ends_with("-sandbox")), "{:?}", act.left());
    }
}

#[tokio::test]
async fn what_the_guard_refuses_is_not_started() {
    let bench = Bench::new();
    let act = FolderAct::new(&bench.sandboxes);
    let plan = planned(BOOK);
    let mut journal = Journal::begin(&bench.drills, &plan, json!({}), now()).unwrap();
    let no = |call: &dalsegno::domain::Call, _: &dalsegno::domain::VerbSpec| {
        if call.verb == "backup.start" {
            Permit::No(Refused { why: "not in this window".into(), hint: "tonight".into() })
        } else {
            Permit::Yes
        }
    };
    let outcome = run(&cx(plan.run), &plan, &Hands { acts: &[&act], guard: &no, watch: &Unwatched }, &mut journal).await;
    assert!(matches!(end_of(&outcome, "backup"), StepEnd::CouldNot { why, .. } if why.contains("not in this window")));
    assert!(!act.log().contains(&"start backup".to_owned()));
}

#[tokio::test]
async fn on_failure_continue_goes_on_but_a_step_that_needs_the_lost_output_could_not() {
    let bench = Bench::new();
    let act = FolderAct::breaking(&bench.sandboxes, "sandbox", Fault::CouldNotInLook);
    let plan = planned(&BOOK.replace("verb: sandbox.make", "verb: sandbox.make, on-failure: continue"));
    let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    assert_eq!(*end_of(&outcome, "backup"), StepEnd::Done);
    assert!(matches!(end_of(&outcome, "server"), StepEnd::CouldNot { why, .. } if why.contains("$(sandbox.folder)")));
}

#[tokio::test]
async fn finally_is_done_after_a_failure_before_scaffolds_go() {
    let bench = Bench::new();
    let act = FolderAct::breaking(&bench.sandboxes, "server", Fault::FailsInLook);
    let plan = planned(&format!("{BOOK}finally:\n  - {{name: farewell, verb: pg.check, with: {{folder: $(sandbox.folder)}}}}\n"));
    let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    assert_eq!(*end_of(&outcome, "farewell"), StepEnd::Done);
    let log = act.log();
    let at = |what: &str| log.iter().position(|line| line == what).unwrap();
    assert!(at("start farewell") < at("undo server"), "{log:?}");
}

#[tokio::test]
async fn assertions_of_the_runbook_are_held_against_the_receipt() {
    for (wanted, expected) in [
        ("equals: 4", "done"),
        ("equals: 5", "failed"),
        ("at-least: 4", "done"),
        ("at-least: 4.5", "failed"),
        ("present: false", "failed"),
    ] {
        let bench = Bench::new();
        let mut act = FolderAct::new(&bench.sandboxes);
        act.receipts.entry("archive.choose".into()).or_default().outputs.insert("segments".into(), json!(4));
        let text = BOOK.replace(
            "with: {subject: pg/home/prod/app}",
            &format!("with: {{subject: pg/home/prod/app}}, assert: [{{output: segments, {wanted}}}]"),
        );
        let plan = planned(&text);
        let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
        let end = serde_json::to_value(end_of(&outcome, "choose")).unwrap();
        assert_eq!(end["end"], Value::from(expected), "{wanted}");
        let receipt = outcome.steps[0].receipt.as_ref().unwrap();
        assert_eq!(receipt.assertions.len(), 1, "kept also when it failed");
    }
}

#[tokio::test]
async fn an_assertion_over_an_output_that_is_not_there_is_could_not() {
    let bench = Bench::new();
    let act = FolderAct::new(&bench.sandboxes);
    let text = BOOK.replace(
        "with: {subject: pg/home/prod/app}",
        "with: {subject: pg/home/prod/app}, assert: [{output: segments, at-least: 1}]",
    );
    let plan = planned(&text);
    let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    assert!(matches!(end_of(&outcome, "choose"), StepEnd::CouldNot { .. }));
}

#[tokio::test]
async fn work_that_goes_over_its_time_limit_is_told_to_stop_and_is_could_not() {
    let bench = Bench::new();
    let act = FolderAct::breaking(&bench.sandboxes, "server", Fault::NeverEnds);
    let plan =
        planned(&BOOK.replace("with: {folder: $(sandbox.folder)}}", "with: {folder: $(sandbox.folder)}, time-limit: 300ms}"));
    let began = Instant::now();
    let (outcome, _) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    assert!(
        matches!(end_of(&outcome, "server"), StepEnd::CouldNot { why, .. } if why.contains("time limit of 0.3 s")),
        "{outcome:#?}"
    );
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(act.left().iter().all(|name| is_product(name)));
}

#[tokio::test]
async fn work_that_runs_when_somebody_cancels_is_told_to_stop() {
    let bench = Bench::new();
    let act = FolderAct::breaking(&bench.sandboxes, "ask", Fault::NeverEnds);
    let plan = planned(BOOK);
    let cx = cx(plan.run);
    let watch = CancelsAt("ask", cx.cancel.clone());
    let (outcome, _) = run_watched(&bench, &act, &plan, &cx, &watch).await;
    assert!(matches!(end_of(&outcome, "ask"), StepEnd::CouldNot { why, .. } if why == "cancelled"), "{outcome:#?}");
    assert!(act.left().iter().all(|name| is_product(name)));
}
