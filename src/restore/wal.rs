//! Fetches WAL ahead of replay: several workers, whole and checked segments only, by rename.
//!
//! Workers begin while the base backup is still on its way. They stop when so many bytes lie ahead of replay; segments behind
//! replay are removed here, since PostgreSQL would keep them until a restart point that depends on the source's settings.

use std::fs;
use std::io::{BufRead, Cursor, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use nix::unistd::fchown;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use super::pipe::{self, Ahead, Source};
use super::retry::Patience;
use super::tree::Owner;
use super::trouble::Trouble;
use crate::archive::{Compression, Damage, SegmentFault, SegmentName, SegmentSize, check_head};
use crate::domain::SystemId;
use crate::store::{Store, StoreError};

/// Replayed segments that are kept: the startup process may still hold the one before.
const KEPT_BEHIND: usize = 2;
const KIB: u64 = 1024;
/// Segments above this size are streamed; a whole one is one GET, and four of them fit into memory.
const WHOLE_BYTES: u64 = 16 << 20;
/// One ranged GET of a streamed segment, how many at a time, and the memory of all with what waits for the decoder.
const STREAM_PART: u64 = 2 << 20;
const STREAM_PARTS: usize = 2;
const STREAM_BYTES: u64 = 8 << 20;
static ATTEMPT: AtomicU64 = AtomicU64::new(0);
/// One write of an inflated segment; every segment size is a multiple of it.
const COPY: usize = 256 * 1024;

/// A segment to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The segment.
    pub name: SegmentName,
    /// Its key in the bucket.
    pub key: String,
    /// How it is stored.
    pub compression: Compression,
    /// The segment in which a timeline was left begins with pages of the one before; no other does.
    pub may_begin_older: bool,
}

/// What all workers share.
pub struct WalJob {
    /// The store.
    pub store: Store,
    /// All segments, in replay order.
    pub segments: Vec<Wanted>,
    /// Bytes of a segment.
    pub size: SegmentSize,
    /// The system that must have written them.
    pub system_id: Option<SystemId>,
    /// Where files are written first; on the same file system.
    pub incoming: PathBuf,
    /// Where whole, checked segments appear.
    pub wal: PathBuf,
    /// To whom they are given.
    pub owner: Owner,
    /// How failing reads are tried again.
    pub patience: Patience,
    /// Bytes of whole segments on disk ahead of replay.
    pub ahead_bytes: u64,
    /// Bytes in memory, as stored.
    pub memory_bytes: u64,
}

/// How far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalProgress {
    /// Segments that appeared in pg_wal.
    pub placed: usize,
    /// Stored bytes that were fetched.
    pub bytes: u64,
    /// What ended it.
    pub trouble: Option<Trouble>,
}

struct State {
    next: usize,
    placed: Vec<bool>,
    removed_to: usize,
}

struct Shared {
    job: WalJob,
    state: Mutex<State>,
    progress: watch::Sender<WalProgress>,
    /// Index of the segment that replay is in.
    replayed: watch::Sender<usize>,
    memory: Semaphore,
    inflating: Semaphore,
    /// Bytes of the largest object so far: what the next is expected to take. The catalogue keeps no sizes.
    largest: AtomicU64,
}

/// The workers.
pub struct WalFetch {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl WalFetch {
    /// Starts the workers.
    pub fn start(mut job: WalJob, workers: usize) -> Self {
        job.patience.cancel = job.patience.cancel.child_token();
        let permits = usize::try_from(job.memory_bytes / KIB).unwrap_or(usize::MAX).clamp(1, Semaphore::MAX_PERMITS);
        let state = State { next: 0, placed: vec![false; job.segments.len()], removed_to: 0 };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            progress: watch::Sender::new(WalProgress::default()),
            replayed: watch::Sender::new(0),
            memory: Semaphore::new(permits),
            // One while the base backup inflates beside it; a second is added when that is done.
            inflating: Semaphore::new(1),
            largest: AtomicU64::new(job.size.bytes() / 2),
            job,
        });
        let workers = (0..workers.max(1)).map(|_| tokio::spawn(work(Arc::clone(&shared)))).collect();
        Self { shared, workers }
    }

    /// How many there are in all.
    pub fn total(&self) -> usize {
        self.shared.job.segments.len()
    }

    /// How far it is.
    pub fn progress(&self) -> WalProgress {
        self.shared.progress.borrow().clone()
    }

    /// Whether all segments appeared in pg_wal.
    pub fn is_complete(&self) -> bool {
        self.shared.progress.borrow().placed >= self.total()
    }

    /// The base backup is there: its share of memory and processors is free.
    pub fn base_is_done(&self) {
        self.shared.inflating.add_permits(1);
        let more = usize::try_from(self.shared.job.memory_bytes / KIB).unwrap_or(0).min(Semaphore::MAX_PERMITS / 4);
        self.shared.memory.add_permits(more);
    }

    /// Replay is in this segment: those behind go, more may come. Names that are not ours change nothing.
    pub fn replay_is_in(&self, segment: SegmentName) {
        if let Some(index) = self.index_of(segment) {
            self.replay_is_at(index);
        }
    }

    fn replay_is_at(&self, index: usize) {
        let moved = self.shared.replayed.send_if_modified(|known| {
            let moved = index > *known;
            if moved {
                *known = index;
            }
            moved
        });
        if !moved {
            return;
        }
        let mut state = self.shared.state();
        let upto = index.saturating_sub(KEPT_BEHIND);
        for behind in state.removed_to..upto {
            if let Some(wanted) = self.shared.job.segments.get(behind) {
                // PostgreSQL may have removed it at a restart point of its own.
                let _ = fs::remove_file(self.shared.job.wal.join(wanted.name.to_string()));
            }
        }
        state.removed_to = state.removed_to.max(upto);
    }

    /// PostgreSQL begins again from this segment: what was removed since is fetched again.
    pub fn begin_again_from(&mut self, segment: SegmentName) {
        let from = self.index_of(segment).unwrap_or(0);
        {
            let mut state = self.shared.state();
            let mut lost = 0_usize;
            let removed_to = state.removed_to;
            for index in from..removed_to {
                if let Some(placed) = state.placed.get_mut(index)
                    && std::mem::take(placed)
                {
                    lost = lost.saturating_add(1);
                }
            }
            state.next = state.next.min(from);
            state.removed_to = state.removed_to.min(from);
            self.shared.progress.send_modify(|progress| progress.placed = progress.placed.saturating_sub(lost));
        }
        self.shared.replayed.send_replace(from);
        self.workers.retain(|worker| !worker.is_finished());
        if self.workers.is_empty() {
            self.workers.push(tokio::spawn(work(Arc::clone(&self.shared))));
            self.workers.push(tokio::spawn(work(Arc::clone(&self.shared))));
        }
    }

    fn index_of(&self, segment: SegmentName) -> Option<usize> {
        // Segment numbers rise along the plan, whatever timeline each is on.
        let size = self.shared.job.size;
        let number = segment.number(size)?;
        self.shared.job.segments.binary_search_by(|wanted| wanted.name.number(size).cmp(&Some(number))).ok()
    }

    /// Ends all workers and waits for them.
    pub async fn stop(&mut self) {
        self.shared.job.patience.cancel.cancel();
        for worker in self.workers.drain(..) {
            // A worker that panicked has nothing more to say; its panic was printed.
            let _ = worker.await;
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<(usize, Wanted)> {
        let mut state = self.state();
        while state.placed.get(state.next).copied().unwrap_or(false) {
            state.next = state.next.saturating_add(1);
        }
        let index = state.next;
        let wanted = self.job.segments.get(index)?.clone();
        state.next = index.saturating_add(1);
        Some((index, wanted))
    }

    /// Waits until the segment is near enough to replay.
    async fn near(&self, index: usize) -> Result<(), Trouble> {
        let ahead = usize::try_from(self.job.ahead_bytes / self.job.size.bytes()).unwrap_or(usize::MAX).max(4);
        let mut replayed = self.replayed.subscribe();
        tokio::select! {
            () = self.job.patience.cancel.cancelled() => Err(Trouble::Cancelled),
            near = replayed.wait_for(|at| index < at.saturating_add(ahead)) => near.map(|_| ()).map_err(|_| Trouble::Cancelled),
        }
    }
}

async fn work(shared: Arc<Shared>) {
    while let Some((index, wanted)) = shared.take() {
        let stopped = shared.progress.borrow().trouble.is_some();
        if stopped {
            return;
        }
        match bring(&shared, index, &wanted).await {
            Ok(bytes) => {
                let first = shared.state().placed.get_mut(index).is_some_and(|placed| !std::mem::replace(placed, true));
                shared.progress.send_modify(|progress| {
                    progress.placed = progress.placed.saturating_add(usize::from(first));
                    progress.bytes = progress.bytes.saturating_add(bytes);
                });
            }
            Err(trouble) => {
                shared.progress.send_modify(|progress| {
                    // The first one counts, but what is known to be bad says more than what could not be read.
                    if progress.trouble.is_none() || matches!(trouble, Trouble::Bad { .. }) {
                        progress.trouble = Some(trouble);
                    }
                });
                return;
            }
        }
    }
}

/// Gives back its stored bytes.
async fn bring(shared: &Arc<Shared>, index: usize, wanted: &Wanted) -> Result<u64, Trouble> {
    shared.near(index).await?;
    let most = shared.job.memory_bytes / KIB;
    let expected = shared.largest.load(Ordering::Relaxed) / KIB;
    let permits = u32::try_from(expected.saturating_add(1).min(most).max(1)).unwrap_or(u32::MAX);
    let streamed = shared.job.size.bytes() > WHOLE_BYTES;
    let permits = if streamed { u32::try_from((STREAM_BYTES / KIB).min(most).max(1)).unwrap_or(u32::MAX) } else { permits };
    let memory = tokio::select! {
        () = shared.job.patience.cancel.cancelled() => return Err(Trouble::Cancelled),
        permits = shared.memory.acquire_many(permits) => permits.map_err(|_| Trouble::Cancelled)?,
    };
    if streamed {
        let stored = stream(shared, wanted).await;
        drop(memory);
        return stored;
    }
    let bytes = fetch(shared, wanted).await?;
    let stored = bytes.len() as u64;
    // Begins at half a segment and follows what is seen, slowly when it falls.
    let _ = shared.largest.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |known| Some(stored.max(known - known / 8)));
    let turn = shared.inflating.acquire().await.map_err(|_| Trouble::Cancelled)?;
    let (job, segment) = (Arc::clone(shared), wanted.clone());
    let placed = tokio::task::spawn_blocking(move || place(&job.job, &segment, Cursor::new(bytes))).await;
    drop((turn, memory));
    let placed = placed.unwrap_or_else(|_| {
        Err(Trouble::could_not(format!("{}: our own fault while inflating it", wanted.key), "report this as a bug"))
    });
    placed.map(|()| stored)
}

/// A large segment goes through the decoder while it is read: at 1 GiB none of it fits into memory.
async fn stream(shared: &Arc<Shared>, wanted: &Wanted) -> Result<u64, Trouble> {
    let (job, cap) = (&shared.job, cap(shared.job.size));
    let turn = shared.inflating.acquire().await.map_err(|_| Trouble::Cancelled)?;
    let size = job.patience.read(|| job.store.head(&wanted.key)).await?.size;
    if size > cap {
        return Err(Trouble::bad(format!("{}: {size} bytes are more than a segment can be", wanted.key)));
    }
    let source = Source { key: wanted.key.clone(), size };
    let ahead = Ahead { part_bytes: STREAM_PART, parts: STREAM_PARTS };
    let (pipe, reading) = pipe::open(job.store.clone(), source, ahead, job.patience.clone());
    let (of, segment) = (Arc::clone(shared), wanted.clone());
    let placed = tokio::task::spawn_blocking(move || place(&of.job, &segment, pipe)).await;
    drop(turn);
    // What could not be read says more than the segment that ended early because of it.
    reading.await.unwrap_or(Ok(()))?;
    let placed = placed.unwrap_or_else(|_| {
        Err(Trouble::could_not(format!("{}: our own fault while inflating it", wanted.key), "report this as a bug"))
    });
    placed.map(|()| size)
}

/// More than a segment cannot be worth reading: no compression makes it that much longer.
fn cap(size: SegmentSize) -> u64 {
    size.bytes().saturating_add(size.bytes() / 8).saturating_add(64 * KIB)
}

async fn fetch(shared: &Shared, wanted: &Wanted) -> Result<Bytes, Trouble> {
    let cap = cap(shared.job.size);
    let object = shared
        .job
        .patience
        .read(|| async {
            match shared.job.store.get(&wanted.key, cap).await {
                Ok(object) => Ok(Ok(object.bytes)),
                Err(error @ StoreError::TooLarge { .. }) => Ok(Err(error)),
                Err(error) => Err(error),
            }
        })
        .await?;
    object.map_err(|error| Trouble::bad(format!("{}: more than a segment can be: {error}", wanted.key)))
}

/// Inflates, checks, writes beside and renames. Blocking. Streams, so that a segment never lies in memory as a whole: buffers of
/// 16 MiB that come and go stay with the allocator.
fn place(job: &WalJob, wanted: &Wanted, mut bytes: impl BufRead + Send + 'static) -> Result<(), Trouble> {
    let bad = |why: &dyn std::fmt::Display| Trouble::bad(format!("{}: {why}", wanted.key));
    let begin = bytes.fill_buf().map_err(|error| bad(&error))?;
    wanted.compression.check_magic(begin).map_err(|damage| bad(&damage))?;
    let mut reader = wanted.compression.reader(bytes).map_err(|error| bad(&error))?;
    let name = wanted.name.to_string();
    // A second attempt at the same segment, after a new start of PostgreSQL, may overtake the first one.
    let beside = job.incoming.join(format!("{name}.{}", ATTEMPT.fetch_add(1, Ordering::Relaxed)));
    let disk = |error: std::io::Error| Trouble::disk("write", &beside, &error);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).map_err(disk)?;
    let size = job.size.bytes();
    let mut buffer = vec![0_u8; COPY];
    let mut got = 0_u64;
    loop {
        let count = fill(reader.as_mut(), &mut buffer).map_err(|error| bad(&damage_of(&error, got, size)))?;
        let ready = buffer.get(..count).unwrap_or_default();
        if got == 0 {
            let header = check_head(ready, wanted.name, job.size, job.system_id).map_err(|fault| bad(&fault))?;
            if header.timeline < wanted.name.timeline && !wanted.may_begin_older {
                let (found, wanted) = (header.timeline, wanted.name.timeline);
                return Err(bad(&SegmentFault::Timeline { found, wanted }));
            }
        }
        got = got.saturating_add(count as u64);
        if got > size {
            return Err(bad(&Damage::TooLong { wanted: size }));
        }
        file.write_all(ready).map_err(disk)?;
        // The end must be seen: asking for it lets the decoder check its checksums.
        if count < COPY {
            break;
        }
    }
    if got < size {
        return Err(bad(&Damage::TooShort { got, wanted: size }));
    }
    if let Some((uid, gid)) = job.owner {
        fchown(&file, Some(uid), Some(gid)).map_err(|errno| disk(errno.into()))?;
    }
    drop(file);
    fs::rename(&beside, job.wal.join(&name)).map_err(disk)
}

/// Reads until the buffer is full or the stream has ended.
fn fill(reader: &mut dyn Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut count = 0_usize;
    while let Some(room) = buffer.get_mut(count..).filter(|room| !room.is_empty()) {
        match reader.read(room) {
            Ok(0) => break,
            Ok(more) => count = count.saturating_add(more),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

fn damage_of(error: &std::io::Error, got: u64, wanted: u64) -> Damage {
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        return Damage::CutOff { got, wanted };
    }
    Damage::Broken { why: error.to_string() }
}
