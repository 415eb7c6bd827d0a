//! Reads that fail in passing are tried again, for a while.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::trouble::Trouble;
use crate::domain::Explained;
use crate::store::{Store, StoreError};

/// How long and how patiently.
#[derive(Clone, Debug)]
pub struct Patience {
    /// Asked before each attempt and while waiting.
    pub cancel: CancellationToken,
    /// How long after the first failure the last attempt may begin.
    pub limit: Duration,
    /// Who is asked. While it has never answered anything it is most likely not there: its client has tried more than once already,
    /// and no more is made of it.
    pub store: Store,
}

impl Patience {
    /// Runs a read until it succeeds, fails for good, or the time is up. An object that a listing showed and that is not there is
    /// waited for as well: listings and reads of some stores disagree for a while.
    pub async fn read<T, F>(&self, mut once: impl FnMut() -> F) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut first_failure: Option<Instant> = None;
        let mut pause = Duration::from_millis(100);
        loop {
            let result = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(Trouble::Cancelled),
                result = once() => result,
            };
            let error = match result {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let since = first_failure.get_or_insert_with(Instant::now).elapsed();
            let again = self.store.has_answered() && (error.is_passing() || matches!(error, StoreError::NoSuchKey { .. }));
            if !again || since + pause > self.limit {
                let tried = if again { format!(" (tried again for {} s)", since.as_secs()) } else { String::new() };
                return Err(Trouble::could_not(
                    format!("{error}{tried}"),
                    error.hint().unwrap_or_else(|| "run `dalsegno doctor`".to_owned()),
                ));
            }
            tracing::debug!(%error, "reading again in {pause:?}");
            tokio::select! {
                () = self.cancel.cancelled() => return Err(Trouble::Cancelled),
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }
}
