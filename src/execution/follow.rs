//! Follows what was started until it is over: `look` in short intervals, growing from 20 ms to 1 s.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::step::{bug, cancelled, could_not, joined, with_token};
use super::watch::Watch;
use crate::domain::{Act, ActError, Cx, Handle, Intent, Receipt, State, StepEnd};

/// A drill of seconds must not wait for its next look; one of hours need not be asked often.
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// How long one look may take before its own token is cancelled.
const LOOK: Duration = Duration::from_secs(30);
/// How long a cancelled step is given to come to its end before it is taken back as it is.
const GRACE: Duration = Duration::from_secs(30);
/// What was started and is not there in so many looks has vanished; once may be a slow listing of the other side.
const ABSENT_LOOKS: u32 = 3;

/// What a waiting step says of itself first: whoever watches is told when it takes longer than a moment.
const WAITS: &str = "waits for ";
/// So long a wait is nobody's concern.
const MOMENT: Duration = Duration::from_secs(2);

/// What a step is followed within: when it must have started and ended, and who is told meanwhile.
pub(super) struct Frame<'a> {
    pub(super) start: Instant,
    pub(super) end: Instant,
    /// `its time limit of 5 min`.
    pub(super) words: String,
    /// What is run again after a cancellation.
    pub(super) runbook: String,
    /// Who is told of a wait.
    pub(super) watch: &'a dyn Watch,
}

/// How it came out.
pub(super) struct Followed {
    pub(super) end: StepEnd,
    pub(super) receipt: Option<Receipt>,
    /// The state behind an end that is not `done`, for the journal.
    pub(super) state: Option<State>,
}

fn over(end: StepEnd, state: Option<State>) -> Followed {
    Followed { end, receipt: None, state }
}

/// What stands against going on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Cancelled,
    Late,
}

/// Looks until it is over. Without a handle it is looked for by its mark.
pub(super) async fn follow(
    cx: &Cx,
    act: &dyn Act,
    intent: &Intent,
    handle: Option<&Handle>,
    token: &CancellationToken,
    limits: &Frame<'_>,
    late: bool,
) -> Followed {
    let mut stop = late.then(|| (Stop::Late, Instant::now() + GRACE));
    let mut wait = FIRST_WAIT;
    let mut absent = 0;
    let mut progress = String::from("nothing seen yet");
    let (began, mut told) = (Instant::now(), false);
    loop {
        let look_token = CancellationToken::new();
        let look_cx = with_token(cx, look_token.clone(), Instant::now() + LOOK);
        let (seen, _) = joined(act.look(&look_cx, intent, handle), &look_token, Instant::now() + LOOK).await;
        match seen {
            Err(panic) => return over(bug(&intent.call.verb, &panic), None),
            Ok(Ok(State::Running { progress: words })) => {
                absent = 0;
                progress = words;
                if !told && progress.starts_with(WAITS) && began.elapsed() >= MOMENT {
                    told = true;
                    limits.watch.waits(&intent.call.step, &progress);
                }
            }
            Ok(Ok(State::Absent)) => {
                absent += 1;
                "nothing of it is there".clone_into(&mut progress);
                if vanished(absent, handle, limits) {
                    return over(nothing_there(handle), Some(State::Absent));
                }
            }
            Ok(Ok(state)) => {
                let why = stop.map(|(why, _)| why).or_else(|| token.is_cancelled().then_some(Stop::Cancelled));
                return terminal(state, why, limits, &progress);
            }
            Ok(Err(error @ (ActError::NotStarted { .. } | ActError::MayHaveStarted { .. }))) => progress = error.to_string(),
            Ok(Err(error)) => return over(could_not(error), None),
        }
        let now = Instant::now();
        if stop.is_none() && now >= limits.end {
            token.cancel();
            stop = Some((Stop::Late, now + GRACE));
        } else if stop.is_none() && token.is_cancelled() {
            stop = Some((Stop::Cancelled, now + GRACE));
        }
        if let Some((why, until)) = stop
            && now >= until
        {
            return over(stopped(why, limits, &progress), None);
        }
        rest(token, &mut wait, stop.is_some(), limits.end).await;
    }
}

/// Waits for the next look; a cancellation or the limit ends the wait.
async fn rest(token: &CancellationToken, wait: &mut Duration, stopping: bool, end: Instant) {
    let until = Instant::now() + *wait;
    if stopping {
        tokio::time::sleep(*wait).await;
    } else {
        tokio::select! {
            () = tokio::time::sleep_until(until.min(end).into()) => {}
            () = token.cancelled() => {}
        }
    }
    *wait = (*wait * 3 / 2).min(LONGEST_WAIT);
}

fn vanished(absent: u32, handle: Option<&Handle>, limits: &Frame<'_>) -> bool {
    // After a lost answer the object may still appear, until the time to start is over.
    absent >= ABSENT_LOOKS && (handle.is_some() || Instant::now() >= limits.start)
}

fn nothing_there(handle: Option<&Handle>) -> StepEnd {
    let why = if handle.is_some() { "it was started and is gone" } else { "the answer was lost, and nothing was started" };
    StepEnd::CouldNot { why: why.to_owned(), hint: "start the drill again; if it happens twice see who removes it".to_owned() }
}

fn terminal(state: State, stop: Option<Stop>, limits: &Frame<'_>, progress: &str) -> Followed {
    match state {
        State::Done { receipt } => {
            // Done after the limit is not done in time; done in spite of a cancellation is done.
            let end = if stop == Some(Stop::Late) { stopped(Stop::Late, limits, progress) } else { StepEnd::Done };
            Followed { end, receipt: Some(*receipt), state: None }
        }
        State::Failed { ref why } => {
            let end = StepEnd::Failed { why: why.clone() };
            over(end, Some(state))
        }
        // What ended because we stopped it is told by why we stopped it.
        State::CouldNot { .. } if stop.is_some() => {
            over(stop.map_or_else(|| cancelled(&limits.runbook), |why| stopped(why, limits, progress)), Some(state))
        }
        State::CouldNot { ref why, ref hint } => {
            let end = StepEnd::CouldNot { why: why.clone(), hint: hint.clone() };
            over(end, Some(state))
        }
        State::Unclear { ref why } => {
            let end = StepEnd::Stuck { why: why.clone() };
            over(end, Some(state))
        }
        State::Absent | State::Running { .. } => over(nothing_there(None), Some(state)),
    }
}

fn stopped(why: Stop, limits: &Frame<'_>, progress: &str) -> StepEnd {
    match why {
        Stop::Cancelled => cancelled(&limits.runbook),
        Stop::Late => StepEnd::CouldNot {
            why: format!("it went over {} (last seen: {progress})", limits.words),
            hint: "give the step a longer time-limit in the runbook, or a nearer store".to_owned(),
        },
    }
}
