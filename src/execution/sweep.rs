//! Closes runs whose process is gone: takes back by mark what they left, never resumes them.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use super::error::JournalError;
use super::journal::{Journal, Told, discard, has_lock, read_journal, take_lock};
use super::record::How;
use super::replay::{Replayed, replay};
use super::undo::take_back;
use super::watch::Watch;
use crate::domain::{Act, Cx, Explained, RunId, StepEnd, StepRecord, Verdict};
use crate::runbook::Plan;

/// A run that was found without an end, after everything was taken back.
#[derive(Clone, Debug)]
pub struct Interrupted {
    /// Its folder.
    pub folder: PathBuf,
    /// Its plan.
    pub plan: Plan,
    /// What its process left for whoever closes it.
    pub context: Value,
    /// One record per planned step.
    pub steps: Vec<StepRecord>,
    /// What could not be taken back.
    pub left_over: Vec<String>,
    /// When it began.
    pub began: Timestamp,
    /// When its last line was written.
    pub last: Timestamp,
}

/// What the sweep did with one folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Swept {
    /// The run.
    pub run: RunId,
    /// What was done.
    pub how: SweptHow,
}

/// What was done.
#[derive(Clone, Debug, PartialEq)]
pub enum SweptHow {
    /// Left alone: its process lives.
    Living,
    /// Removed: nothing was begun by it.
    Discarded,
    /// Closed as interrupted. Left-overs are tried again by the next sweep.
    Closed {
        /// What could not be taken back.
        left_over: Vec<String>,
    },
    /// Not touched, or not closed: a human must look.
    Stuck {
        /// Why.
        why: String,
        /// What to do.
        hint: String,
    },
}

/// Writes the evidence of an interrupted run (or finds it written) and tells its verdict.
pub type Close<'a> = &'a mut (dyn FnMut(&Interrupted) -> Result<Verdict, (String, String)> + Send);

/// Looks at every run below `drills`. Runs that are closed for good cost one look for their lock file.
pub async fn sweep(
    cx: &Cx,
    drills: &Path,
    acts: &[&dyn Act],
    watch: &dyn Watch,
    close: Close<'_>,
) -> Result<Vec<Swept>, JournalError> {
    let mut swept = Vec::new();
    for (run, folder) in runs(drills)? {
        if let Some(how) = sweep_one(cx, &folder, acts, watch, close).await {
            swept.push(Swept { run, how });
        }
    }
    Ok(swept)
}

/// Runs that are not closed, oldest first, and whether their process lives. Looks only.
pub fn unclosed(drills: &Path) -> Result<Vec<(RunId, bool)>, JournalError> {
    let mut open = Vec::new();
    for (run, folder) in runs(drills)? {
        if !is_closed(&folder) {
            open.push((run, has_lock(&folder) && take_lock(&folder)?.is_none()));
        }
    }
    Ok(open)
}

/// A journal without a lock was closed; a folder with neither was made by a process that died before it had the lock.
fn is_closed(folder: &Path) -> bool {
    !has_lock(folder) && folder.join(super::JOURNAL_FILE).exists()
}

/// Runs that have a folder here, oldest first.
pub fn recorded(drills: &Path) -> Result<Vec<RunId>, JournalError> {
    Ok(runs(drills)?.into_iter().map(|(run, _)| run).collect())
}

/// Folders that are named by a run id, oldest first.
pub(super) fn runs(drills: &Path) -> Result<Vec<(RunId, PathBuf)>, JournalError> {
    let entries = match std::fs::read_dir(drills) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(JournalError::Io { what: "read", path: drills.to_owned(), source }),
    };
    let mut runs: Vec<_> =
        entries.flatten().filter_map(|entry| Some((RunId::parse(entry.file_name().to_str()?)?, entry.path()))).collect();
    runs.sort();
    Ok(runs)
}

async fn sweep_one(cx: &Cx, folder: &Path, acts: &[&dyn Act], watch: &dyn Watch, close: Close<'_>) -> Option<SweptHow> {
    if is_closed(folder) {
        return None;
    }
    let lock = match take_lock(folder) {
        Ok(Some(lock)) => lock,
        Ok(None) => return Some(SweptHow::Living),
        Err(error) => return Some(stuck(&error)),
    };
    let told = match read_journal(folder) {
        Ok(told) => told,
        Err(JournalError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Told { lines: Vec::new(), whole_bytes: 0, damaged_at: None }
        }
        Err(error) => return Some(stuck(&error)),
    };
    if let Some(line) = told.damaged_at {
        return Some(stuck(&JournalError::Damaged { path: folder.join(super::JOURNAL_FILE), line }));
    }
    let Some(run) = replay(&told.lines) else {
        // Without a whole first line nothing was intended yet, so nothing was done.
        return Some(discard(folder).map_or_else(|error| stuck(&error), |()| SweptHow::Discarded));
    };
    if run.process.lives() && run.process.pid != std::process::id() {
        return Some(SweptHow::Living); // a file system without locks
    }
    let journal = match Journal::take_over(folder, lock, &told, cx.now) {
        Ok(journal) => journal,
        Err(error) => return Some(stuck(&error)),
    };
    Some(close_run(cx, journal, &run, acts, watch, close).await)
}

async fn close_run(
    cx: &Cx,
    mut journal: Journal,
    run: &Replayed,
    acts: &[&dyn Act],
    watch: &dyn Watch,
    close: Close<'_>,
) -> SweptHow {
    let cx = Cx { run: run.plan.run, ..cx.clone() };
    take_back(&cx, acts, &mut journal, watch).await;
    let now = replay(journal.lines()).unwrap_or_else(|| run.clone());
    let interrupted = Interrupted {
        folder: journal.folder().to_owned(),
        plan: run.plan.clone(),
        context: run.context.clone(),
        steps: now.steps(&interrupted_step(run)),
        left_over: now.left_over(),
        began: run.began,
        last: run.last,
    };
    if run.ended.as_ref() == Some(&interrupted.left_over) {
        // As before: nothing to write. Without left-overs it was killed between its last line and the end of its lock.
        let sealed = if interrupted.left_over.is_empty() { journal.seal() } else { Ok(()) };
        return sealed.map_or_else(|error| stuck(&error), |()| SweptHow::Closed { left_over: interrupted.left_over });
    }
    let verdict = match close(&interrupted) {
        Ok(verdict) => verdict,
        Err((why, hint)) => return SweptHow::Stuck { why, hint },
    };
    match journal.close(How::Interrupted, Some(verdict), &interrupted.left_over) {
        Ok(()) => SweptHow::Closed { left_over: interrupted.left_over },
        Err(error) => stuck(&error),
    }
}

fn stuck(error: &JournalError) -> SweptHow {
    SweptHow::Stuck { hint: error.hint().unwrap_or_default(), why: error.to_string() }
}

fn interrupted_step(run: &Replayed) -> StepEnd {
    StepEnd::CouldNot {
        why: format!("interrupted: process {} went away", run.process.pid),
        hint: format!("drill again:  dalsegno drill {}", run.plan.runbook),
    }
}
