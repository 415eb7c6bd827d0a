//! SIGINT and SIGTERM: work is cancelled, clean-up goes on, the exit code says which it was.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::failure::say;
use crate::domain::ExitCode;

/// Numbers of the signals we clean up after.
const SIGINT: u8 = 2;
const SIGTERM: u8 = 15;

/// Watches for signals until the process ends.
#[derive(Clone)]
pub struct Signals {
    /// Cancelled by the first signal; `Cx.cancel` is a child of it.
    pub cancel: CancellationToken,
    seen: Arc<AtomicU8>,
}

impl Signals {
    /// Begins to watch. Must be called inside the runtime. Errors: the operating system gives no handler.
    pub fn watch() -> std::io::Result<Self> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let signals = Self { cancel: CancellationToken::new(), seen: Arc::new(AtomicU8::new(0)) };
        let watching = signals.clone();
        tokio::spawn(async move {
            loop {
                let number = tokio::select! {
                    _ = interrupt.recv() => SIGINT,
                    _ = terminate.recv() => SIGTERM,
                };
                if watching.seen.swap(number, Ordering::SeqCst) == 0 {
                    say("stopping: what was started is cleaned up first");
                } else {
                    say("still cleaning up; after a kill -9, dalsegno drill gc removes what is left");
                }
                watching.cancel.cancel();
            }
        });
        Ok(signals)
    }

    /// The outcome, or the signal that cut it short.
    pub fn exit(&self, outcome: ExitCode) -> ExitCode {
        match self.seen.load(Ordering::SeqCst) {
            0 => outcome,
            number => outcome.worse(ExitCode::Signal(number)),
        }
    }
}
