//! Taking back: newest first, always, also after a cancellation, a panic or a full disk.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::journal::Journal;
use super::record::Record;
use super::replay::{Trace, replay};
use super::step::{find, joined, with_token};
use super::watch::Watch;
use crate::domain::{Act, Cx, Intent, Makes, State, StepEnd, Undo, Undone, VerbSpec};

/// An undo that errs is tried again before a human is called.
const ATTEMPTS: u32 = 3;
const BETWEEN: Duration = Duration::from_millis(500);
/// An undo may take as long as the work itself, but at least and at most so long.
const SHORTEST: u64 = 60;
const LONGEST: u64 = LONGEST_UNDO_SECONDS;

/// The longest that one undo may take, in seconds. Whoever ends us by force must wait longer (`terminationGracePeriodSeconds`).
pub const LONGEST_UNDO_SECONDS: u64 = 600;

/// Takes back everything of the journal that must be: scaffolds always; changes that can be undone when the run did not end
/// well; products never. In a run that was ended before, only what was stuck is tried again, and written down if it went.
pub(super) async fn take_back(cx: &Cx, acts: &[&dyn Act], journal: &mut Journal, watch: &dyn Watch) {
    let Some(run) = replay(journal.lines()) else { return };
    let ended_well = run.steps(&StepEnd::Skipped).iter().all(|step| step.end == StepEnd::Done);
    let again = run.ended.is_some();
    for trace in run.traces.iter().rev().filter(|trace| trace.may_be_there() && (!again || trace.undone.is_some())) {
        let Some(intent) = &trace.intent else { continue };
        let found = find(acts, &intent.call.verb);
        if found.is_some_and(|(_, spec)| !goes(&spec, ended_well)) {
            continue;
        }
        if !again {
            write(journal, Record::UndoIntent { step: trace.step.clone() });
        }
        let undone = match found {
            Some((act, spec)) => undo(cx, act, &spec, intent, trace).await,
            None => Undone::Stuck { why: format!("this program has no verb {} to take it back with", intent.call.verb) },
        };
        watch.undone(&trace.step, &undone);
        if !again || !matches!(undone, Undone::Stuck { .. }) {
            write(journal, Record::Undone { step: trace.step.clone(), undone });
        }
    }
}

/// Clean-up goes on when the journal cannot be written: what was made must go.
fn write(journal: &mut Journal, record: Record) {
    if let Err(error) = journal.write(record) {
        tracing::warn!(%error, "clean-up goes on without its journal");
    }
}

fn goes(spec: &VerbSpec, ended_well: bool) -> bool {
    match (spec.makes, spec.undo) {
        (_, Undo::None) | (Makes::Product, Undo::Yes) => false,
        (Makes::Scaffold, Undo::Yes) => true,
        (Makes::Nothing, Undo::Yes) => !ended_well,
    }
}

async fn undo(cx: &Cx, act: &dyn Act, spec: &VerbSpec, intent: &Intent, trace: &Trace) -> Undone {
    let allowed = Duration::from_secs(spec.end_seconds.clamp(SHORTEST, LONGEST));
    let mut why = String::new();
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            tokio::time::sleep(BETWEEN).await;
        }
        let deadline = Instant::now() + allowed;
        let token = CancellationToken::new();
        let cx = with_token(cx, token.clone(), deadline);
        let state = match joined(act.look(&cx, intent, trace.handle.as_ref()), &token, deadline).await.0 {
            Ok(Ok(state)) => state,
            // Not being able to look does not free us from trying: the mark is known.
            Ok(Err(error)) => State::CouldNot { why: error.to_string(), hint: String::new() },
            Err(panic) => State::CouldNot { why: panic, hint: String::new() },
        };
        match joined(act.undo(&cx, intent, &state), &token, deadline).await.0 {
            Ok(Ok(undone)) => return undone,
            Ok(Err(error)) => why = error.to_string(),
            Err(panic) => why = format!("undo panicked: {panic}"),
        }
    }
    Undone::Stuck { why }
}
