//! `archive.choose`: the catalogue is read, the base backup chosen, and the end that recovery must reach is said beforehand.

use std::time::{Duration, Instant};

use serde_json::{Map, json};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::held::{Chosen, seconds};
use super::retry::Patience;
use super::settings::RestoreSubject;
use super::trouble::Trouble;
use crate::archive::{Catalogue, RecoveryTarget, Refusal};
use crate::domain::{Cx, Explained, Phase, Receipt};
use crate::reader::{ArchiveReader, LookError, Pace};

/// Folders of 256 segments that are listed at a time.
const FOLDERS: usize = 4;
/// Parallel uploads arrive out of order: a hole this young is looked at again before anything is said.
const YOUNG_SECONDS: f64 = 10.0;
/// How long at most the last segment of a backup that has just ended is waited for, whatever archive_timeout says.
const MOST_SECONDS: f64 = 600.0;
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What one choice works with.
pub struct ChooseWork {
    /// Deadline, now, progress.
    pub cx: Cx,
    /// Of what.
    pub of: RestoreSubject,
    /// Where to.
    pub target: RecoveryTarget,
    /// The named timeline.
    pub timeline: Option<u32>,
    /// Ends it.
    pub cancel: CancellationToken,
    /// How failing reads are tried again.
    pub patience: Patience,
}

impl ChooseWork {
    /// Lists, reads the records, chooses.
    pub async fn run(self) -> Result<(Chosen, Receipt), Trouble> {
        let began = Instant::now();
        let plan = loop {
            let catalogue = self.read().await?;
            match catalogue.choose(self.target, self.timeline) {
                Ok(plan) => break plan,
                Err(refusal) => {
                    if !self.may_mend(&refusal, began) {
                        return Err(refused(&refusal, &self.of));
                    }
                    tokio::select! {
                        () = self.cancel.cancelled() => return Err(Trouble::Cancelled),
                        () = tokio::time::sleep(LOOK_AGAIN) => {}
                    }
                }
            }
        };
        let Some((first, end)) = plan.path.first().zip(plan.path.last()).map(|(first, last)| (first.first, last.last)) else {
            return Err(Trouble::bad(format!("{}: the plan of base backup {} has no segment", self.of.place, plan.backup)));
        };
        if let Some(expected) = self.of.system_id.filter(|expected| *expected != plan.system_id) {
            return Err(Trouble::bad(format!(
                "{}: base backup {} is of system {}, expected is {expected}",
                self.of.place, plan.backup, plan.system_id
            )));
        }
        let chosen = Chosen { of: self.of, plan, first, end };
        let receipt = receipt(&chosen, seconds(began));
        Ok((chosen, receipt))
    }

    /// A hole or a missing last segment that is seconds old may fill while we look.
    fn may_mend(&self, refusal: &Refusal, began: Instant) -> bool {
        let (since, patience) = match refusal {
            Refusal::Hole { later_written, .. } => (*later_written, YOUNG_SECONDS),
            Refusal::BackupWalMissing { ended, .. } => {
                (*ended, self.of.archive_timeout_seconds.unwrap_or(0.0).clamp(YOUNG_SECONDS, MOST_SECONDS))
            }
            _ => return false,
        };
        let age = since.map(|since| self.cx.now.duration_since(since).as_secs_f64() + seconds(began));
        let young = age.is_some_and(|age| age < patience);
        young && Instant::now() + LOOK_AGAIN < self.cx.deadline
    }

    async fn read(&self) -> Result<Catalogue, Trouble> {
        let reader = ArchiveReader::new(self.of.store.clone(), self.of.place.root(), self.cancel.clone());
        let listed = self
            .patience
            .read(|| async {
                match reader.list_whole(Pace::Fast { pages: FOLDERS }).await {
                    Err(LookError::Store(error)) => Err(error),
                    other => Ok(other),
                }
            })
            .await?;
        // Held, since each attempt goes on with what the one before has read.
        let catalogue = Mutex::new(listed.map_err(|error| not_listed(&error))?);
        self.patience
            .read(|| async {
                let end = reader.read_for_choice(&mut *catalogue.lock().await).await;
                end.failed.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
            })
            .await?;
        Ok(catalogue.into_inner())
    }
}

fn not_listed(error: &LookError) -> Trouble {
    match error {
        LookError::Stopped { .. } => Trouble::Cancelled,
        LookError::TooMuch { .. } | LookError::Store(_) => {
            Trouble::could_not(error.to_string(), "run `dalsegno archive audit` and clean the archive up")
        }
    }
}

fn refused(refusal: &Refusal, of: &RestoreSubject) -> Trouble {
    let why = format!("{}: {refusal}", of.place);
    if refusal.is_damage() { Trouble::bad(why) } else { Trouble::could_not(why, refusal.hint().unwrap_or_default()) }
}

fn receipt(chosen: &Chosen, took: f64) -> Receipt {
    let plan = &chosen.plan;
    let mut outputs = Map::new();
    let mut put = |name: &str, value: serde_json::Value| outputs.insert(name.to_owned(), value);
    put("subject", json!(chosen.of.subject));
    put("place", json!(crate::domain::Place::from(chosen.of.place.clone())));
    put("backup", json!(plan.backup));
    put("timeline", json!(plan.timeline));
    put("end_segment", json!(plan.end.segment));
    put("segments", json!(plan.segment_count()));
    put("base_bytes", json!(plan.base_bytes()));
    put("cluster_size", json!(plan.info.cluster_size));
    put("system_id", json!(chosen.of.system_id.unwrap_or(plan.system_id)));
    put("covered_until", json!(plan.covered_until));
    put("from", json!(plan.from));
    put("target", json!(plan.target.to_string()));
    let phases = vec![Phase { name: "catalogue".to_owned(), seconds: took, bytes: None }];
    Receipt { outputs, assertions: Vec::new(), phases, notes: Vec::new() }
}
