//! One step: guard, intent, start, follow, receipt, end.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::follow::{Followed, Frame, follow};
use super::journal::Journal;
use super::record::{Part, Record};
use super::run::Hands;
use crate::domain::{Act, ActError, Call, CheckEnd, Cx, Handle, Intent, Permit, Receipt, StepEnd, VerbSpec};
use crate::runbook::{Outputs, PlannedStep};

/// The act that knows a verb, and what it says of it.
pub(super) fn find<'a>(acts: &[&'a dyn Act], verb: &str) -> Option<(&'a dyn Act, VerbSpec)> {
    acts.iter().find_map(|act| Some((*act, *act.verbs().iter().find(|spec| spec.name == verb)?)))
}

/// The same context with another token and deadline.
pub(super) fn with_token(cx: &Cx, cancel: CancellationToken, deadline: Instant) -> Cx {
    Cx { deadline, cancel, ..cx.clone() }
}

/// Awaits an acting future to its end: past the deadline its token is cancelled, but it is never dropped. A panic inside is
/// caught, since scaffolds must be taken back also then. Tells whether it was late.
pub(super) async fn joined<T>(
    future: impl Future<Output = T>,
    token: &CancellationToken,
    deadline: Instant,
) -> (Result<T, String>, bool) {
    let future = AssertUnwindSafe(future).catch_unwind();
    tokio::pin!(future);
    let (out, late) = tokio::select! {
        biased;
        out = &mut future => (out, false),
        () = tokio::time::sleep_until(deadline.into()) => {
            token.cancel();
            (future.await, true)
        }
    };
    (out.map_err(|panic| panic_text(panic.as_ref())), late)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no words".to_owned())
}

pub(super) fn bug(verb: &str, panic: &str) -> StepEnd {
    StepEnd::CouldNot {
        why: format!("{verb} panicked: {panic}"),
        hint: "this is a bug of dalsegno: please report it with the journal".to_owned(),
    }
}

pub(super) fn cancelled(runbook: &str) -> StepEnd {
    StepEnd::CouldNot { why: "cancelled".to_owned(), hint: format!("start it again when you like:  dalsegno drill {runbook}") }
}

/// Seconds as a deadline from now; too large a number is simply far away.
pub(super) fn after(seconds: f64) -> Instant {
    let now = Instant::now();
    let length = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_hours(8760));
    now.checked_add(length).unwrap_or(now)
}

/// Does one step. Its end is in the journal afterwards; the first journal error is handed back beside it.
pub(super) async fn do_step(
    cx: &Cx,
    part: Part,
    runbook: &str,
    step: &PlannedStep,
    outputs: &Outputs,
    hands: &Hands<'_>,
    journal: &mut Journal,
) -> StepEnd {
    let began = Instant::now();
    let end = attempt(cx, part, runbook, step, outputs, hands, journal).await;
    let record = Record::StepEnd { step: step.name.clone(), end: end.clone(), seconds: began.elapsed().as_secs_f64() };
    if let Err(error) = journal.write(record) {
        tracing::warn!(error = %crate::domain::Explained::code(&error), "the end of step {} could not be written", step.name);
    }
    end
}

fn no_journal(error: &super::JournalError) -> StepEnd {
    let hint = crate::domain::Explained::hint(error).unwrap_or_default();
    StepEnd::CouldNot { why: format!("{error}, and nothing is done that is not written down first"), hint }
}

async fn attempt(
    cx: &Cx,
    part: Part,
    runbook: &str,
    step: &PlannedStep,
    outputs: &Outputs,
    hands: &Hands<'_>,
    journal: &mut Journal,
) -> StepEnd {
    let Some((act, spec)) = find(hands.acts, &step.verb) else {
        let hint = "see which verbs there are:  dalsegno runbook verbs".to_owned();
        return StepEnd::CouldNot { why: format!("no verb {}", step.verb), hint };
    };
    let call = match step.call(cx.run, outputs) {
        Ok(call) => call,
        Err(unresolved) => {
            let hint = "see why the earlier step gave no value:  dalsegno drill report".to_owned();
            return StepEnd::CouldNot { why: unresolved.to_string(), hint };
        }
    };
    let intent = match permitted(act, &spec, &call, hands) {
        Ok(intent) => intent,
        Err(refused) => return refused,
    };
    if let Err(error) = journal.write(Record::Intent { part, intent: Box::new(intent.clone()) }) {
        return no_journal(&error);
    }
    let whole = step.time_limit_seconds.unwrap_or(spec.end_seconds as f64);
    let limits = Frame {
        start: after(whole.min(spec.start_seconds as f64)).min(cx.deadline),
        end: after(whole).min(cx.deadline),
        runbook: runbook.to_owned(),
        watch: hands.watch,
        words: format!("its time limit of {}", crate::domain::duration_in_words(whole)),
    };
    let token = cx.cancel.child_token();
    let cx = with_token(cx, token.clone(), limits.end);
    match started(&cx, act, &intent, &token, &limits, journal).await {
        Err(end) => end,
        Ok((handle, late)) => {
            let followed = follow(&cx, act, &intent, handle.as_ref(), &token, &limits, late).await;
            ended(step, followed, outputs, journal)
        }
    }
}

fn permitted(act: &dyn Act, spec: &VerbSpec, call: &Call, hands: &Hands<'_>) -> Result<Intent, StepEnd> {
    let refuse =
        |refused: crate::domain::Refused| StepEnd::CouldNot { why: format!("refused: {}", refused.why), hint: refused.hint };
    if let Permit::No(refused) = (hands.guard)(call, spec) {
        return Err(refuse(refused));
    }
    let intended = std::panic::catch_unwind(AssertUnwindSafe(|| act.intend(call)));
    intended.map_err(|panic| bug(spec.name, &panic_text(panic.as_ref())))?.map_err(refuse)
}

/// Starts; the handle is `None` when the answer was lost and only `look` can tell.
async fn started(
    cx: &Cx,
    act: &dyn Act,
    intent: &Intent,
    token: &CancellationToken,
    limits: &Frame<'_>,
    journal: &mut Journal,
) -> Result<(Option<Handle>, bool), StepEnd> {
    if token.is_cancelled() {
        return Err(cancelled(&limits.runbook));
    }
    let (out, late) = joined(act.start(cx, intent), token, limits.start).await;
    match out {
        Err(panic) => Err(bug(&intent.call.verb, &panic)),
        Ok(Ok(handle)) => {
            let record = Record::Handle { step: intent.call.step.clone(), handle: handle.clone() };
            // What was started is followed and taken back even if the handle cannot be written: it is found by its mark.
            if let Err(error) = journal.write(record) {
                token.cancel();
                return Err(no_journal(&error));
            }
            Ok((Some(handle), late))
        }
        Ok(Err(ActError::MayHaveStarted { why })) => {
            tracing::info!(step = intent.call.step, why, "the answer was lost, looking for what was started");
            Ok((None, late))
        }
        Ok(Err(_)) if cx.cancel.is_cancelled() && !late => Err(cancelled(&limits.runbook)),
        Ok(Err(error)) => Err(could_not(error)),
    }
}

/// An error of an act as the end of its step: only a bad archive counts as failed.
pub(super) fn could_not(error: ActError) -> StepEnd {
    let why = error.to_string();
    match error {
        ActError::Bad { why } => StepEnd::Failed { why },
        ActError::Refused { hint, .. } | ActError::NotStarted { hint, .. } | ActError::Denied { hint, .. } => {
            StepEnd::CouldNot { why, hint }
        }
        ActError::MayHaveStarted { .. } => StepEnd::CouldNot { why, hint: "look by hand what is there".to_owned() },
    }
}

fn ended(step: &PlannedStep, followed: Followed, outputs: &Outputs, journal: &mut Journal) -> StepEnd {
    let name = step.name.clone();
    let mut written = Ok(());
    if let Some(state) = followed.state {
        written = journal.write(Record::State { step: name.clone(), state });
    }
    let mut end = followed.end;
    if let Some(mut receipt) = followed.receipt {
        let held = hold(step, outputs, &mut receipt);
        written = written.and(journal.write(Record::Receipt { step: name, receipt: Box::new(receipt) }));
        if end == StepEnd::Done {
            end = held;
        }
    }
    match written {
        Err(error) if end == StepEnd::Done => no_journal(&error),
        _ => end,
    }
}

/// Holds the runbook's assertions against a receipt.
fn hold(step: &PlannedStep, outputs: &Outputs, receipt: &mut Receipt) -> StepEnd {
    let mut end = StepEnd::Done;
    for assertion in step.assertions(outputs) {
        let result = assertion.hold(&step.name, &receipt.outputs);
        let words = format!("{}: expected {}, seen {}", result.name, result.expected, result.seen);
        match result.end {
            CheckEnd::Failed => end = StepEnd::Failed { why: words },
            CheckEnd::Undecided if end == StepEnd::Done => {
                end = StepEnd::CouldNot { why: words, hint: "see what the step gave:  dalsegno drill report -o json".to_owned() };
            }
            CheckEnd::Undecided | CheckEnd::Passed => {}
        }
        receipt.assertions.push(result);
    }
    end
}
