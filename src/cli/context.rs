//! What every command that looks or acts is given: the run's id, the time, a deadline, signals, progress.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use super::signal::Signals;
use crate::domain::{Cx, Exit, ExitCode, Explained, Progress, RunId};

/// A command's context, and the signals that cancel it.
pub(super) struct Context {
    /// For observers and acts.
    pub(super) cx: Cx,
    signals: Signals,
}

/// No handler for signals: without it clean-up could not be promised, so nothing is begun.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch for signals")]
struct NoSignals(#[source] std::io::Error);

impl Explained for NoSignals {
    fn code(&self) -> &'static str {
        "signals-unwatched"
    }

    fn hint(&self) -> Option<String> {
        Some("is a limit on open files reached?  ulimit -n".to_owned())
    }

    fn exit(&self) -> Exit {
        ExitCode::CouldNotLook
    }
}

impl Context {
    /// Begins now; must be done within `limit`.
    pub(super) fn begin(progress: &Arc<dyn Progress>, limit: Duration) -> Result<Self, Failure> {
        let signals = Signals::watch().map_err(NoSignals)?;
        let cx = Cx {
            run: RunId::new(),
            now: Timestamp::now(),
            deadline: Instant::now() + limit,
            cancel: signals.cancel.child_token(),
            progress: Arc::clone(progress),
        };
        Ok(Self { cx, signals })
    }

    /// The same process, another run: begins now. It ends at its deadline, not at the first signal: what a daemon began to look at it
    /// looks at to its end, so that being stopped is never read as "could not look".
    pub(super) fn again(&self, limit: Duration) -> Cx {
        let cancel = CancellationToken::new();
        Cx { run: RunId::new(), now: Timestamp::now(), deadline: Instant::now() + limit, cancel, ..self.cx.clone() }
    }

    /// The outcome, or the signal that cut it short.
    pub(super) fn exit(&self, outcome: ExitCode) -> ExitCode {
        self.signals.exit(outcome)
    }
}
