//! The lines of a journal read back: what was planned, what was done, what is still to be taken back.

use jiff::Timestamp;
use serde_json::Value;

use super::record::{Line, Record};
use crate::domain::{Handle, Intent, Receipt, StepEnd, StepRecord, Undone};
use crate::process::Process;
use crate::runbook::Plan;

/// What a journal says of a run.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The plan.
    pub plan: Plan,
    /// Who ran it.
    pub process: Process,
    /// What the caller left for whoever closes it.
    pub context: Value,
    /// When it began.
    pub began: Timestamp,
    /// When the last line was written.
    pub last: Timestamp,
    /// Steps that came as far as an end or an intent, in order.
    pub traces: Vec<Trace>,
    /// Left-overs by the last `run-ended`; `None` while there is none.
    pub ended: Option<Vec<String>>,
}

/// What is known of one step.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The step.
    pub step: String,
    /// Its intent, once written.
    pub intent: Option<Intent>,
    /// When the intent was written.
    pub began: Option<Timestamp>,
    /// Its handle.
    pub handle: Option<Handle>,
    /// Its receipt.
    pub receipt: Option<Receipt>,
    /// Its end and the seconds it took.
    pub end: Option<(StepEnd, f64)>,
    /// What came of taking it back, by the last attempt.
    pub undone: Option<Undone>,
}

impl Trace {
    fn new(step: &str) -> Self {
        Self { step: step.to_owned(), intent: None, began: None, handle: None, receipt: None, end: None, undone: None }
    }

    /// Whether something of it may still be there.
    pub const fn may_be_there(&self) -> bool {
        self.intent.is_some() && !matches!(self.undone, Some(Undone::Removed | Undone::NothingToDo))
    }
}

/// Reads lines back. `None` when they do not begin with `run-begun`.
pub fn replay(lines: &[Line]) -> Option<Replayed> {
    let first = lines.first()?;
    let Record::RunBegun { plan, process, context, .. } = &first.record else { return None };
    let mut run = Replayed {
        plan: Plan::clone(plan),
        process: process.clone(),
        context: context.clone(),
        began: first.at,
        last: lines.last().map_or(first.at, |line| line.at),
        traces: Vec::new(),
        ended: None,
    };
    for line in lines {
        run.take(line);
    }
    Some(run)
}

impl Replayed {
    fn take(&mut self, line: &Line) {
        match &line.record {
            Record::RunBegun { .. } | Record::State { .. } | Record::UndoIntent { .. } => {}
            Record::Intent { intent, .. } => {
                let trace = self.trace(&intent.call.step);
                trace.intent = Some(Intent::clone(intent));
                trace.began = Some(line.at);
            }
            Record::Handle { step, handle } => self.trace(step).handle = Some(handle.clone()),
            Record::Receipt { step, receipt } => self.trace(step).receipt = Some(Receipt::clone(receipt)),
            Record::StepEnd { step, end, seconds } => self.trace(step).end = Some((end.clone(), *seconds)),
            Record::Undone { step, undone } => self.trace(step).undone = Some(undone.clone()),
            Record::RunEnded { left_over, .. } => self.ended = Some(left_over.clone()),
        }
    }

    fn trace(&mut self, step: &str) -> &mut Trace {
        let found = self.traces.iter().position(|trace| trace.step == step).unwrap_or_else(|| {
            self.traces.push(Trace::new(step));
            self.traces.len() - 1
        });
        // `found` was taken from this very vector.
        #[expect(clippy::indexing_slicing, reason = "the position was just found or made")]
        &mut self.traces[found]
    }

    /// One record per planned step, in the plan's order. A step without an end ends as `unfinished` says, or is skipped when
    /// it was never begun.
    pub fn steps(&self, unfinished: &StepEnd) -> Vec<StepRecord> {
        let planned = self.plan.steps.iter().chain(&self.plan.finally);
        planned
            .map(|step| {
                let trace = self.traces.iter().find(|trace| trace.step == step.name);
                let intent = trace.and_then(|trace| trace.intent.clone());
                let call = intent.as_ref().map_or_else(|| step.call_on_paper(self.plan.run), |intent| intent.call.clone());
                let end = trace.and_then(|trace| trace.end.clone());
                let (end, seconds) =
                    end.unwrap_or_else(|| (if intent.is_some() { unfinished.clone() } else { StepEnd::Skipped }, 0.0));
                StepRecord {
                    call,
                    began: trace.and_then(|trace| trace.began),
                    seconds,
                    end,
                    receipt: trace.and_then(|trace| trace.receipt.clone()),
                    undone: trace.and_then(|trace| trace.undone.clone()),
                    intent,
                }
            })
            .collect()
    }

    /// What could not be taken back, in words, with the step and its objects.
    pub fn left_over(&self) -> Vec<String> {
        self.traces.iter().filter_map(left_over).collect()
    }
}

fn left_over(trace: &Trace) -> Option<String> {
    let Some(Undone::Stuck { why }) = &trace.undone else { return None };
    let made = trace.intent.as_ref().map(Intent::made).unwrap_or_default();
    let made = if made.is_empty() { String::new() } else { format!(" ({})", made.join(", ")) };
    Some(format!("step {}{made}: {why}", trace.step))
}
