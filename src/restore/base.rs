//! `pg.restore-base`: the base backup, streamed from the store into the data directory; WAL is fetched beside it.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::unistd::fchown;
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use super::conf;
use super::held::{Chosen, Held, Restore, Telling, seconds};
use super::pipe::{self, Ahead, Source};
use super::retry::Patience;
use super::sandbox::Sandbox;
use super::settings::RestoreSettings;
use super::space;
use super::tree::{Owner, Tree};
use super::trouble::Trouble;
use super::untar::{Rules, Untarred, untar};
use super::wal::{WalFetch, WalJob, Wanted};
use crate::archive::{BackupInfo, BackupLabel, BaseObject, Lsn, MAX_HISTORY, PartOf, RestorePlan, SegmentName};
use crate::domain::{Cx, Phase, Receipt, bytes_in_words};
use crate::store::Store;

/// A backup that is read while the cluster grows holds more than `cluster_size` says; this much more is no bomb.
const GROWTH: u64 = 1 << 30;

/// Bytes of a label that are read.
const MAX_LABEL: u64 = 64 << 10;
/// More than any cluster that a drill can look after; each takes an inode.
const MAX_MEMBERS: u64 = 20_000_000;

/// What one base restore works with.
pub struct BaseWork {
    /// Deadline, progress.
    pub cx: Cx,
    /// Bounds.
    pub settings: Arc<RestoreSettings>,
    /// The sandbox.
    pub held: Arc<Held>,
    /// What to restore.
    pub chosen: Arc<Chosen>,
    /// The user that the files are given to.
    pub owner: Owner,
    /// Where progress goes.
    pub telling: Telling,
}

impl BaseWork {
    fn patience(&self) -> Patience {
        Patience {
            cancel: self.held.cancel.clone(),
            limit: Duration::from_secs(self.settings.limits.retry_seconds),
            store: self.store().clone(),
        }
    }

    fn store(&self) -> &Store {
        &self.chosen.of.store
    }

    fn in_bucket(&self, key: &str) -> String {
        format!("{}{key}", self.chosen.of.place.root())
    }

    /// Does it all.
    pub async fn run(self) -> Result<Receipt, Trouble> {
        let began = Instant::now();
        let sandbox = &self.held.sandbox;
        let plan = &self.chosen.plan;
        self.link_wal().map_err(|error| Trouble::disk("link", &sandbox.wal(), &error))?;
        self.histories(plan).await?;
        let mut wal = self.start_wal(plan);
        let untarred = self.objects(plan).await;
        let untarred = match untarred {
            Ok(untarred) => untarred,
            Err(trouble) => {
                // Nothing works in the folder once this step has ended.
                wal.stop().await;
                return Err(trouble);
            }
        };
        wal.base_is_done();
        *self.held.restore.lock().await = Some(Restore { chosen: Arc::clone(&self.chosen), wal, base_bytes: untarred.bytes });
        self.label(plan)?;
        let moved = self.finish(plan).map_err(|error| Trouble::disk("finish", &sandbox.data(), &error))?;
        self.cx.progress.done("base backup");
        Ok(self.receipt(&untarred, moved, seconds(began)))
    }

    fn receipt(&self, untarred: &Untarred, moved: Vec<String>, took: f64) -> Receipt {
        let stored: u64 = self.chosen.plan.base_bytes();
        let mut outputs = Map::new();
        outputs.insert("files".to_owned(), json!(untarred.files));
        outputs.insert("bytes".to_owned(), json!(untarred.bytes));
        outputs.insert("stored_bytes".to_owned(), json!(stored));
        let mut notes = Vec::new();
        for name in &untarred.skipped_links {
            notes.push(format!("the link {name} of the backup was not made"));
        }
        for name in moved {
            notes.push(format!("{name} of the backup was put aside"));
        }
        let phases = vec![Phase { name: "base".to_owned(), seconds: took, bytes: Some(stored) }];
        Receipt { outputs, assertions: Vec::new(), phases, notes }
    }

    /// Segments go to a folder beside the data, which exists before the base backup does.
    fn link_wal(&self) -> std::io::Result<()> {
        let sandbox = &self.held.sandbox;
        fs::create_dir_all(incoming(sandbox))?;
        symlink("../wal", sandbox.data().join("pg_wal"))
    }

    async fn histories(&self, plan: &RestorePlan) -> Result<(), Trouble> {
        for file in &plan.histories {
            let key = self.in_bucket(&file.key);
            let object = self.patience().read(|| self.store().get(&key, MAX_HISTORY)).await?;
            let text =
                file.compression.small(&object.bytes, MAX_HISTORY).map_err(|damage| Trouble::bad(format!("{key}: {damage}")))?;
            crate::archive::History::parse(file.timeline, &text).map_err(|error| Trouble::bad(format!("{key}: {error}")))?;
            let path = self.held.sandbox.wal().join(format!("{:08X}.history", file.timeline));
            write_owned(&path, &text, self.owner).map_err(|error| Trouble::disk("write", &path, &error))?;
        }
        Ok(())
    }

    fn start_wal(&self, plan: &RestorePlan) -> WalFetch {
        let limits = &self.settings.limits;
        let segments = plan
            .segments()
            .map(|segment| Wanted {
                key: self.in_bucket(&segment.key),
                name: segment.name,
                compression: segment.compression,
                may_begin_older: may_begin_older(plan, segment.name),
            })
            .collect();
        let job = WalJob {
            store: self.store().clone(),
            segments,
            size: plan.segment_size,
            system_id: Some(plan.system_id),
            incoming: incoming(&self.held.sandbox),
            wal: self.held.sandbox.wal(),
            owner: self.owner,
            patience: self.patience(),
            ahead_bytes: limits.wal_ahead_bytes,
            memory_bytes: limits.wal_memory_bytes,
        };
        WalFetch::start(job, limits.wal_workers)
    }

    async fn objects(&self, plan: &RestorePlan) -> Result<Untarred, Trouble> {
        let total: u64 = plan.base_bytes();
        let most = plan.info.cluster_size.map_or(u64::MAX, |size| size.saturating_mul(2).saturating_add(GROWTH));
        let last_data = plan.base.iter().filter(|object| object.part_of == PartOf::Data).map(|object| object.part).max();
        let written = Arc::new(AtomicU64::new(0));
        let mut all = Untarred::default();
        for object in &plan.base {
            self.telling.progress(format!(
                "{} of {} restored",
                bytes_in_words(all.bytes),
                bytes_in_words(plan.info.cluster_size.unwrap_or(total))
            ));
            let seen = self
                .object(
                    object,
                    most.saturating_sub(all.bytes),
                    MAX_MEMBERS.saturating_sub(all.members),
                    Arc::clone(&written),
                    plan.info.cluster_size.unwrap_or(0),
                )
                .await?;
            let is_last_data = object.part_of == PartOf::Data && Some(object.part) == last_data;
            if is_last_data && !(seen.has_control && seen.has_label) {
                let what = if seen.has_control { "backup_label" } else { "global/pg_control" };
                return Err(Trouble::bad(format!(
                    "{}: the last part of the backup has no {what}, so a later part is lost or the backup was never finished",
                    self.in_bucket(&object.key)
                )));
            }
            all.files = all.files.saturating_add(seen.files);
            all.members = all.members.saturating_add(seen.members);
            all.bytes = all.bytes.saturating_add(seen.bytes);
            all.skipped_links.extend(seen.skipped_links);
        }
        Ok(all)
    }

    async fn object(
        &self,
        object: &BaseObject,
        most: u64,
        members: u64,
        written: Arc<AtomicU64>,
        total: u64,
    ) -> Result<Untarred, Trouble> {
        let sandbox = &self.held.sandbox;
        let folder = match object.part_of {
            PartOf::Data => sandbox.data(),
            PartOf::Tablespace(oid) => {
                self.tablespace(oid).map_err(|error| Trouble::disk("make", &sandbox.tablespace(oid), &error))?
            }
        };
        let key = self.in_bucket(&object.key);
        let limits = &self.settings.limits;
        let ahead = Ahead { part_bytes: limits.part_bytes, parts: limits.parts };
        let (pipe, reading) =
            pipe::open(self.store().clone(), Source { key: key.clone(), size: object.size }, ahead, self.patience());
        let job = Untar {
            key: key.clone(),
            folder,
            owner: self.owner,
            most,
            members,
            reserve: limits.reserve_bytes,
            cancel: self.held.cancel.clone(),
            progress: Arc::clone(&self.cx.progress),
            before: written.load(Ordering::Relaxed),
            total,
        };
        let compression = object.compression;
        let untarred = tokio::task::spawn_blocking(move || {
            let mut reader =
                compression.reader(pipe).map_err(|error| Trouble::bad(format!("{}: does not inflate: {error}", job.key)))?;
            job.run(&mut reader)
        })
        .await;
        let untarred = untarred.unwrap_or_else(|_| {
            Err(Trouble::could_not(format!("{key}: our own fault while reading it"), "report this as a bug"))
        });
        // What could not be read says more than the tar that ended early because of it.
        reading.await.unwrap_or(Ok(()))?;
        let untarred = untarred?;
        written.fetch_add(untarred.bytes, Ordering::Relaxed);
        Ok(untarred)
    }

    /// The label in the tar and the record beside it must be of the same backup: PostgreSQL begins replay where the label says.
    fn label(&self, plan: &RestorePlan) -> Result<(), Trouble> {
        let path = self.held.sandbox.data().join("backup_label");
        let mut text = String::new();
        let mut options = fs::OpenOptions::new();
        let file = options.read(true).custom_flags(OFlag::O_NOFOLLOW.bits()).open(&path);
        file.and_then(|file| file.take(MAX_LABEL).read_to_string(&mut text))
            .map_err(|error| Trouble::bad(format!("base backup {}: its backup_label cannot be read: {error}", plan.backup)))?;
        let label = BackupLabel::parse(&text)
            .map_err(|error| Trouble::bad(format!("base backup {}: its backup_label {error}", plan.backup)))?;
        label_agrees(&label, &plan.info).map_err(|why| Trouble::bad(format!("base backup {}: {why}", plan.backup)))
    }

    fn tablespace(&self, oid: u32) -> std::io::Result<std::path::PathBuf> {
        let path = self.held.sandbox.tablespace(oid);
        fs::create_dir_all(&path)?;
        if let Some((uid, gid)) = self.owner {
            std::os::unix::fs::chown(&path, Some(uid.as_raw()), Some(gid.as_raw()))?;
        }
        Ok(path)
    }

    fn finish(&self, plan: &RestorePlan) -> std::io::Result<Vec<String>> {
        let sandbox = &self.held.sandbox;
        for oid in plan.base.iter().filter_map(|object| match object.part_of {
            PartOf::Tablespace(oid) if object.part == 0 => Some(oid),
            _ => None,
        }) {
            let link = sandbox.data().join("pg_tblspc").join(oid.to_string());
            symlink(sandbox.tablespace(oid), link)?;
        }
        conf::disarm(&sandbox.data(), self.owner)
    }
}

/// Only the segment that holds the switch to a timeline begins with pages of an older one.
fn may_begin_older(plan: &RestorePlan, name: SegmentName) -> bool {
    let history = plan.histories.iter().find(|file| file.timeline == name.timeline);
    // Without its history nothing is known of where a timeline began.
    history.is_none_or(|file| {
        file.history
            .parent()
            .is_some_and(|parent| name.number(plan.segment_size) == Some(plan.segment_size.number_of(parent.switch)))
    })
}

/// Both sides of each mismatch.
pub fn label_agrees(label: &BackupLabel, info: &BackupInfo) -> Result<(), String> {
    let differs = |what: &str, label: String, record: String| {
        Err(format!("backup_label says {what} {label}, backup.info says {record}: they are of different backups"))
    };
    if let Some(begin) = info.begin_lsn.filter(|begin| *begin != label.start.0) {
        return differs("START WAL LOCATION", label.start.to_string(), Lsn(begin).to_string());
    }
    if let Some(first) = info.first_segment().filter(|first| *first != label.start_segment) {
        return differs("the first segment", label.start_segment.to_string(), first.to_string());
    }
    if let Some((label, record)) = label.timeline.zip(info.timeline).filter(|(label, record)| label != record) {
        return differs("START TIMELINE", label.to_string(), record.to_string());
    }
    if label.checkpoint < label.start {
        return Err(format!("backup_label says CHECKPOINT LOCATION {}, before its start {}", label.checkpoint, label.start));
    }
    Ok(())
}

/// One tar, on a blocking thread.
struct Untar {
    key: String,
    folder: std::path::PathBuf,
    owner: Owner,
    most: u64,
    members: u64,
    reserve: u64,
    cancel: CancellationToken,
    progress: Arc<dyn crate::domain::Progress>,
    before: u64,
    total: u64,
}

impl Untar {
    fn run(self, reader: &mut impl Read) -> Result<Untarred, Trouble> {
        let mut tree = Tree::open(&self.folder, self.owner).map_err(|error| Trouble::disk("open", &self.folder, &error))?;
        let told = |bytes: u64| {
            self.progress.tell("base backup", self.before.saturating_add(bytes), self.total, "B");
        };
        let space = |wanted: u64| space::must_fit(&self.folder, wanted, 0, self.reserve).map(|_| ());
        let rules = Rules {
            key: &self.key,
            max_bytes: self.most,
            max_members: self.members,
            space: &space,
            cancel: &self.cancel,
            told: &told,
        };
        untar(reader, &mut tree, &rules)
    }
}

/// Where segments are written before they are whole.
pub fn incoming(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.folder().join("incoming")
}

fn write_owned(path: &Path, bytes: &[u8], owner: Owner) -> std::io::Result<()> {
    use std::io::Write;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    if let Some((uid, gid)) = owner {
        fchown(&file, Some(uid), Some(gid))?;
    }
    Ok(())
}
