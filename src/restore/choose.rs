//! `archive.choose`: the catalogue is read, the base backup chosen, and the end that recovery must reach is said beforehand.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use super::held::{Chosen, seconds};
use super::retry::Patience;
use super::settings::RestoreSubject;
use super::trouble::Trouble;
use crate::archive::{BackupInfo, Catalogue, Compression, History, MAX_BACKUP_INFO, MAX_HISTORY, RecoveryTarget, Refusal};
use crate::domain::{Cx, Explained, Phase, Receipt};

/// Folders of 256 segments that are listed at a time.
const FOLDERS: usize = 4;
/// Small objects that are read at a time.
const SMALL: usize = 8;
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
        let root = self.of.place.root();
        let store = &self.of.store;
        let catalogue = self
            .patience
            .read(|| async {
                let mut catalogue = Catalogue::new();
                let mut add = |object: crate::store::Listed| {
                    if let Some(key) = object.key.strip_prefix(root.as_str()) {
                        catalogue.add(key, object.size, &object.etag, object.last_modified);
                    }
                    ControlFlow::Continue(())
                };
                store.list(root.child("base").as_str(), None, &mut add).await?;
                store.list_by_folder(root.child("wals").as_str(), FOLDERS, &mut add).await?;
                Ok(catalogue)
            })
            .await?;
        if catalogue.overflowed() {
            return Err(Trouble::could_not(
                format!("{}: more hostile or odd names than the catalogue keeps", self.of.place),
                "run `dalsegno archive audit` and clean the archive up",
            ));
        }
        self.read_small(catalogue).await
    }

    /// The records of the backups and the histories of the timelines.
    async fn read_small(&self, mut catalogue: Catalogue) -> Result<Catalogue, Trouble> {
        let root = self.of.place.root();
        let ids: Vec<String> =
            catalogue.backups().iter().filter(|(_, backup)| backup.record.is_some()).map(|(id, _)| id.clone()).collect();
        let records = futures::stream::iter(ids)
            .map(|id| {
                let key = format!("{root}{}", crate::archive::backup_info_key(&id));
                async move { self.small(&key, MAX_BACKUP_INFO).await.map(|bytes| (id, bytes)) }
            })
            .buffered(SMALL)
            .collect::<Vec<_>>()
            .await;
        for record in records {
            let (id, bytes) = record?;
            let info = bytes.and_then(|bytes| BackupInfo::parse(&bytes).map_err(|error| error.to_string()));
            catalogue.set_backup_info(&id, info);
        }
        let wanted: Vec<(u32, Compression)> =
            catalogue.histories().iter().map(|(timeline, object)| (*timeline, object.compression)).collect();
        for (timeline, compression) in wanted {
            let key = format!("{root}{}", crate::archive::history_key(timeline, compression));
            let history = match self.small(&key, MAX_HISTORY).await? {
                Ok(bytes) => inflate(compression, &bytes)
                    .and_then(|text| History::parse(timeline, &text).map_err(|error| error.to_string())),
                Err(why) => Err(why),
            };
            catalogue.set_history(timeline, history);
        }
        Ok(catalogue)
    }

    /// A small object; one that is too large is a fault of the archive, said by the inner result.
    async fn small(&self, key: &str, cap: u64) -> Result<Result<bytes::Bytes, String>, Trouble> {
        use crate::store::StoreError;
        self.patience
            .read(|| async {
                match self.of.store.get(key, cap).await {
                    Ok(object) => Ok(Ok(object.bytes)),
                    Err(error @ StoreError::TooLarge { .. }) => Ok(Err(error.to_string())),
                    Err(error) => Err(error),
                }
            })
            .await
    }
}

/// Inflates a history, at most [`MAX_HISTORY`] bytes of it.
pub fn inflate(compression: Compression, bytes: &bytes::Bytes) -> Result<Vec<u8>, String> {
    use std::io::Read;
    let mut text = Vec::new();
    compression
        .reader(std::io::Cursor::new(bytes.clone()))
        .and_then(|reader| reader.take(MAX_HISTORY).read_to_end(&mut text))
        .map_err(|error| format!("does not inflate: {error}"))?;
    Ok(text)
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
