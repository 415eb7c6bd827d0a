//! What one process of ours knows of its drills: choices, sandboxes, work that goes on. Lost with the process; then the marks on
//! disk are all there is, and a drill is swept, never resumed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::keeper::Keeper;
use super::sandbox::Sandbox;
use super::settings::RestoreSubject;
use super::trouble::Trouble;
use super::wal::WalFetch;
use crate::archive::{RestorePlan, SegmentName};
use crate::domain::{Receipt, RunId, State};

/// Work that watches the clock itself says more than that time is over.
const GRACE: Duration = Duration::from_secs(1);

/// What `archive.choose` decided.
pub struct Chosen {
    /// Of what.
    pub of: RestoreSubject,
    /// How.
    pub plan: RestorePlan,
    /// The first segment of the plan.
    pub first: SegmentName,
    /// The last: where recovery must end when the target is the end.
    pub end: SegmentName,
}

/// A running server.
#[derive(Clone, Debug)]
pub struct Server {
    /// The superuser's name.
    pub role: String,
    /// What recovery showed, for the checks.
    pub recovered: Recovered,
    /// Bytes of files that the base backup held.
    pub base_bytes: u64,
}

/// What recovery showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recovered {
    /// System identifier of pg_control.
    pub system_id: Option<crate::domain::SystemId>,
    /// Where it ended.
    pub reached_segment: Option<String>,
    /// Where it ended, `X/Y`.
    pub reached_lsn: Option<String>,
    /// Where it had to end.
    pub expected_segment: String,
    /// The timeline that was left by the promotion.
    pub timeline: u32,
    /// Newest replayed commit.
    pub data_as_of: Option<Timestamp>,
    /// A target in time: whether replay stopped at it, and not just where the WAL ends.
    pub target_reached: bool,
    /// What isolation was shown.
    pub isolation: Option<super::isolation::Shown>,
}

/// A sandbox of this process.
pub struct Held {
    /// Where.
    pub sandbox: Sandbox,
    /// Ends everything that works in it.
    pub cancel: CancellationToken,
    /// The process that holds it.
    pub keeper: AsyncMutex<Option<Keeper>>,
    /// What is restored in it, and the WAL on its way.
    pub restore: AsyncMutex<Option<Restore>>,
    /// The server, once it answers.
    pub server: Mutex<Option<Server>>,
}

/// A restore that goes on in a sandbox.
pub struct Restore {
    /// What was chosen.
    pub chosen: Arc<Chosen>,
    /// WAL on its way.
    pub wal: WalFetch,
    /// Bytes of files that the base backup held.
    pub base_bytes: u64,
}

impl Held {
    /// The server, if one runs.
    pub fn server(&self) -> Option<Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes the server.
    pub fn set_server(&self, server: Option<Server>) {
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = server;
    }
}

/// Work of one step.
pub struct Job {
    state: Arc<Mutex<State>>,
    cancel: CancellationToken,
    folder: Option<PathBuf>,
    task: Option<JoinHandle<()>>,
}

/// What bounds the work of a step.
pub struct Bounds {
    /// The sandbox that it works in.
    pub folder: Option<PathBuf>,
    /// Ends it.
    pub cancel: CancellationToken,
    /// When it must be done.
    pub deadline: Instant,
}

/// Where a job tells how far it is.
#[derive(Clone)]
pub struct Telling(Arc<Mutex<State>>);

impl Telling {
    /// How far, in words.
    pub fn progress(&self, words: String) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Running { .. }) {
            *state = State::Running { progress: words };
        }
    }

    fn end(&self, state: State) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// Everything this process knows.
#[derive(Default)]
pub struct Memory {
    jobs: Mutex<HashMap<(RunId, String), Job>>,
    held: Mutex<HashMap<PathBuf, Arc<Held>>>,
    chosen: Mutex<Vec<(RunId, Arc<Chosen>)>>,
}

impl Memory {
    /// Starts the work of a step, once: a second start of the same step changes nothing.
    pub fn start<F>(&self, key: (RunId, String), bounds: Bounds, work: impl FnOnce(Telling) -> F)
    where
        F: Future<Output = Result<Receipt, Trouble>> + Send + 'static,
    {
        let mut jobs = lock(&self.jobs);
        if jobs.contains_key(&key) {
            return;
        }
        let state = Arc::new(Mutex::new(State::Running { progress: "begins".to_owned() }));
        let telling = Telling(Arc::clone(&state));
        let future = work(telling.clone());
        let Bounds { folder, cancel, deadline } = bounds;
        let token = cancel.clone();
        let task = tokio::spawn(async move {
            let ended = match in_time(future, deadline, &token).await {
                Ok(receipt) => State::Done { receipt: Box::new(receipt) },
                Err(trouble) => trouble.into_state(),
            };
            telling.end(ended);
        });
        jobs.insert(key, Job { state, cancel, folder, task: Some(task) });
    }

    /// How far a step is; `None` = this process knows of no such step.
    pub fn look(&self, key: &(RunId, String)) -> Option<State> {
        let jobs = lock(&self.jobs);
        let job = jobs.get(key)?;
        let state = job.state.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let died = job.task.as_ref().is_some_and(JoinHandle::is_finished);
        match state {
            // The task ended and has left no result: it panicked, which is our fault and not the archive's.
            State::Running { .. } if died && is_running(job) => Some(State::CouldNot {
                why: "a bug of ours ended this step".to_owned(),
                hint: "report it with the log".to_owned(),
            }),
            state => Some(state),
        }
    }

    /// Cancels a step and waits until it has ended.
    pub async fn end(&self, key: &(RunId, String)) {
        let task = lock(&self.jobs).get_mut(key).and_then(|job| {
            job.cancel.cancel();
            job.task.take()
        });
        if let Some(task) = task {
            let _ = task.await;
        }
    }

    /// Cancels all work in a folder and waits until it has ended.
    pub async fn end_all_in(&self, folder: &Path) {
        let tasks: Vec<_> = lock(&self.jobs)
            .values_mut()
            .filter(|job| job.folder.as_deref() == Some(folder))
            .filter_map(|job| {
                job.cancel.cancel();
                job.task.take()
            })
            .collect();
        for task in tasks {
            let _ = task.await;
        }
    }

    /// The sandbox of a folder.
    pub fn held(&self, folder: &Path) -> Option<Arc<Held>> {
        lock(&self.held).get(folder).cloned()
    }

    /// The only sandbox with a running server, when there is exactly one.
    pub fn only_server(&self) -> Option<Arc<Held>> {
        let held = lock(&self.held);
        let mut running = held.values().filter(|held| held.server().is_some());
        match (running.next(), running.next()) {
            (Some(one), None) => Some(Arc::clone(one)),
            _ => None,
        }
    }

    /// Notes a sandbox.
    pub fn hold(&self, held: Arc<Held>) {
        lock(&self.held).insert(held.sandbox.folder().to_owned(), held);
    }

    /// Forgets one.
    pub fn let_go(&self, folder: &Path) -> Option<Arc<Held>> {
        lock(&self.held).remove(folder)
    }

    /// Notes a choice.
    pub fn choose(&self, run: RunId, chosen: Arc<Chosen>) {
        lock(&self.chosen).push((run, chosen));
    }

    /// The newest choice of a run that fits.
    pub fn chosen(&self, run: RunId, backup: Option<&str>, subject: Option<&str>) -> Option<Arc<Chosen>> {
        lock(&self.chosen)
            .iter()
            .rev()
            .find(|(of, chosen)| {
                *of == run
                    && backup.is_none_or(|backup| chosen.plan.backup == backup)
                    && subject.is_none_or(|subject| chosen.of.subject.answers_to(subject))
            })
            .map(|(_, chosen)| Arc::clone(chosen))
    }
}

/// Work is never dropped: at its deadline it is cancelled, and waited for.
async fn in_time<F>(work: F, deadline: Instant, cancel: &CancellationToken) -> Result<Receipt, Trouble>
where
    F: Future<Output = Result<Receipt, Trouble>>,
{
    let mut work = std::pin::pin!(work);
    tokio::select! {
        ended = &mut work => return ended,
        () = tokio::time::sleep_until((deadline + GRACE).into()) => cancel.cancel(),
    }
    match work.await {
        Err(Trouble::Cancelled) => Err(Trouble::could_not("no time is left", "give the step a later deadline")),
        ended => ended,
    }
}

fn is_running(job: &Job) -> bool {
    matches!(*job.state.lock().unwrap_or_else(PoisonError::into_inner), State::Running { .. })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seconds since a moment of the monotonic clock.
pub fn seconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}
