//! A run: the steps, `finally`, and taking back.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::journal::Journal;
use super::record::Part;
use super::replay::{Replayed, replay};
use super::step::{do_step, with_token};
use super::undo::take_back;
use super::watch::Watch;
use crate::domain::{Act, Cx, Guard, StepEnd, StepRecord};
use crate::runbook::{OnFailure, Outputs, Plan, PlannedStep};

/// What a run works with.
#[derive(Clone, Copy)]
pub struct Hands<'a> {
    /// Who can act.
    pub acts: &'a [&'a dyn Act],
    /// Policy's word before each act.
    pub guard: Guard<'a>,
    /// Who is told.
    pub watch: &'a dyn Watch,
}

/// How a run came out. The journal holds the same, and is what counts.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One record per planned step, those of `finally` last.
    pub steps: Vec<StepRecord>,
    /// What could not be taken back, in words.
    pub left_over: Vec<String>,
    /// Whether somebody cancelled it.
    pub cancelled: bool,
    /// Seconds that `finally` and taking back took.
    pub clean_up_seconds: f64,
}

/// How long a step of `finally` has, beside its own limit, after everything else is over.
const FINALLY: Duration = Duration::from_mins(15);

/// Runs a plan. The future must be awaited to its end, never dropped: it is stopped through `cx.cancel`.
///
/// The journal stays open, so that the caller writes the evidence before [`Journal::close`].
pub async fn run(cx: &Cx, plan: &Plan, hands: &Hands<'_>, journal: &mut Journal) -> Outcome {
    let mut stopped = false;
    for step in &plan.steps {
        if stopped || cx.cancel.is_cancelled() {
            break;
        }
        let end = told_step(cx, Part::Steps, &plan.runbook, step, hands, journal).await;
        stopped = end != StepEnd::Done && step.on_failure == OnFailure::Stop;
    }
    let cancelled = cx.cancel.is_cancelled();
    let clean_up = Instant::now();
    for step in &plan.finally {
        // Its own token and deadline: what must be done at the end is done after a cancellation too.
        let cx = with_token(cx, CancellationToken::new(), Instant::now() + FINALLY);
        told_step(&cx, Part::Finally, &plan.runbook, step, hands, journal).await;
    }
    take_back(cx, hands.acts, journal, hands.watch).await;
    let left_over = replay(journal.lines()).map(|run| run.left_over()).unwrap_or_default();
    Outcome { steps: steps(journal, cancelled), left_over, cancelled, clean_up_seconds: clean_up.elapsed().as_secs_f64() }
}

async fn told_step(cx: &Cx, part: Part, runbook: &str, step: &PlannedStep, hands: &Hands<'_>, journal: &mut Journal) -> StepEnd {
    hands.watch.began(&step.name, &step.verb);
    let outputs = replay(journal.lines()).map(|run| outputs(&run)).unwrap_or_default();
    let end = do_step(cx, part, runbook, step, &outputs, hands, journal).await;
    if let Some(record) = steps(journal, false).into_iter().find(|record| record.call.step == step.name) {
        hands.watch.ended(&record);
    }
    end
}

fn steps(journal: &Journal, cancelled: bool) -> Vec<StepRecord> {
    let Some(run) = replay(journal.lines()) else { return Vec::new() };
    let unfinished = if cancelled { super::step::cancelled(&run.plan.runbook) } else { StepEnd::Skipped };
    run.steps(&unfinished)
}

/// Outputs of the steps that gave a receipt.
fn outputs(run: &Replayed) -> Outputs {
    let given = run.traces.iter().filter_map(|trace| Some((trace.step.clone(), trace.receipt.as_ref()?.outputs.clone())));
    given.collect()
}
