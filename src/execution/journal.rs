//! The journal of a run: a JSONL file, synced line by line, beside a lock that the living process holds.
//!
//! The folder `<drills>/<run>/` holds `journal.jsonl`, later `evidence.json`, and `lock` as long as the run is not closed or has
//! left something over. kill -9 at any byte leaves at most one torn last line, which a reader leaves out.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::error::JournalError;
use super::record::{How, JOURNAL_FORMAT, Line, Record};
use crate::domain::Verdict;
use crate::process::Process;
use crate::process::kill;
use crate::runbook::Plan;

/// The journal's name in the run's folder.
pub const JOURNAL_FILE: &str = "journal.jsonl";
const LOCK_FILE: &str = "lock";
/// A journal holds some dozen records; a larger file is not one of ours.
const LARGEST: u64 = 64 << 20;

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    file: File,
    lock: File,
    lines: Vec<Line>,
    clock: (Timestamp, Instant),
}

/// What a journal tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Its whole lines.
    pub lines: Vec<Line>,
    /// Bytes of the whole lines; what lies behind is a torn end.
    pub whole_bytes: u64,
    /// The line in the middle that is not a record, from 1. Lines before it are told.
    pub damaged_at: Option<usize>,
}

fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> JournalError {
    let path = path.to_owned();
    move |source| JournalError::Io { what, path, source }
}

/// Makes the names in a folder last.
pub(super) fn sync_folder(folder: &Path) -> Result<(), JournalError> {
    File::open(folder).and_then(|open| open.sync_all()).map_err(io("sync", folder))
}

/// Takes the lock of a run's folder; `None` when a living process holds it.
///
/// Whoever holds it owns the folder. A lock file that was unlinked while we waited is no lock (its link count is 0).
pub(super) fn take_lock(folder: &Path) -> Result<Option<File>, JournalError> {
    let path = folder.join(LOCK_FILE);
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path).map_err(io("create", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(source)) => return Err(JournalError::Io { what: "lock", path, source }),
    }
    let links = file.metadata().map_err(io("read", &path))?.nlink();
    Ok(if links == 0 { None } else { Some(file) })
}

/// Makes a run's folder and takes its lock. A sweep that comes in between takes an unlocked, empty folder for a dead one and
/// removes it: then it is made again.
fn claim(folder: &Path) -> Result<File, JournalError> {
    for _ in 0..10 {
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(io("create", folder)(error)),
            _ => kill::point("made-folder"),
        }
        match take_lock(folder) {
            Ok(Some(lock)) if !folder.join(JOURNAL_FILE).exists() => return Ok(lock),
            Err(JournalError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(_) => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    }
    Err(JournalError::Held { path: folder.to_owned() })
}

/// Whether a folder is closed for good: no lock file.
pub(super) fn has_lock(folder: &Path) -> bool {
    folder.join(LOCK_FILE).exists()
}

/// Removes a folder in which no run was begun. The lock goes last but one, so that its holder stays the owner.
pub(super) fn discard(folder: &Path) -> Result<(), JournalError> {
    for name in [JOURNAL_FILE, LOCK_FILE] {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io("remove", folder)(error)),
            _ => {}
        }
    }
    fs::remove_dir(folder).map_err(io("remove", folder))
}

impl Journal {
    /// Makes the run's folder below `drills`, takes its lock and writes `run-begun`. `context` is handed back to whoever has to
    /// close the run in place of this process.
    pub fn begin(drills: &Path, plan: &Plan, context: Value, now: Timestamp) -> Result<Self, JournalError> {
        let mut builder = fs::DirBuilder::new();
        builder.mode(0o700).recursive(true).create(drills).map_err(io("create", drills))?;
        let folder = drills.join(plan.run.to_string());
        let lock = claim(&folder)?;
        let path = folder.join(JOURNAL_FILE);
        let file = OpenOptions::new().create_new(true).append(true).mode(0o600).open(&path).map_err(io("create", &path))?;
        sync_folder(&folder)?;
        sync_folder(drills)?;
        let mut journal = Self { folder, file, lock, lines: Vec::new(), clock: (now, Instant::now()) };
        journal.write(Record::RunBegun {
            format: JOURNAL_FORMAT,
            made_by: env!("CARGO_PKG_VERSION").to_owned(),
            plan: Box::new(plan.clone()),
            process: Process::this().map_err(io("read", Path::new("/proc/self")))?,
            context,
        })?;
        Ok(journal)
    }

    /// Takes up the journal of a process that is gone; cuts a torn end off first.
    pub(super) fn take_over(folder: &Path, lock: File, told: &Told, now: Timestamp) -> Result<Self, JournalError> {
        let path = folder.join(JOURNAL_FILE);
        let mut file = OpenOptions::new().write(true).open(&path).map_err(io("open", &path))?;
        file.set_len(told.whole_bytes).and_then(|()| file.seek(SeekFrom::End(0))).map_err(io("write", &path))?;
        Ok(Self { folder: folder.to_owned(), file, lock, lines: told.lines.clone(), clock: (now, Instant::now()) })
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What was written so far, also what the disk would not take.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The time by this run's clock: its beginning plus what went by.
    pub fn now(&self) -> Timestamp {
        let (began, instant) = self.clock;
        SignedDuration::try_from(instant.elapsed()).ok().and_then(|gone| began.checked_add(gone).ok()).unwrap_or(began)
    }

    /// Writes a record and syncs it. It counts as told even if the disk would not take it, so that clean-up misses nothing.
    pub fn write(&mut self, record: Record) -> Result<(), JournalError> {
        let name = record.name();
        kill::point(&format!("before-{name}"));
        let line = Line { n: self.lines.len() as u64 + 1, at: self.now(), record };
        let text = serde_json::to_string(&line).map_err(JournalError::Json);
        self.lines.push(line);
        let mut text = text?;
        text.push('\n');
        let path = self.folder.join(JOURNAL_FILE);
        if kill::tears(&format!("torn-{name}")) {
            let half = text.len() / 2;
            let _ = self.file.write_all(text.as_bytes().get(..half).unwrap_or_default());
            let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
        }
        self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data()).map_err(io("write", &path))?;
        kill::point(&format!("after-{name}"));
        Ok(())
    }

    /// Writes `run-ended` and closes the folder. With left-overs the lock file stays: the next sweep tries again.
    pub fn close(mut self, how: How, verdict: Option<Verdict>, left_over: &[String]) -> Result<(), JournalError> {
        self.write(Record::RunEnded { how, verdict, left_over: left_over.to_vec() })?;
        if left_over.is_empty() { self.seal() } else { Ok(()) }
    }

    /// Removes the lock file: the folder is closed for good. The lock itself goes with `self`.
    pub(super) fn seal(self) -> Result<(), JournalError> {
        let path = self.folder.join(LOCK_FILE);
        fs::remove_file(&path).map_err(io("remove", &path))?;
        sync_folder(&self.folder)?;
        drop(self.lock);
        Ok(())
    }
}

/// Reads the journal in a run's folder.
pub fn read_journal(folder: &Path) -> Result<Told, JournalError> {
    let path = folder.join(JOURNAL_FILE);
    let mut bytes = Vec::new();
    File::open(&path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes)).map_err(io("read", &path))?;
    tell(&bytes, &path)
}

fn tell(bytes: &[u8], path: &Path) -> Result<Told, JournalError> {
    let mut told = Told { lines: Vec::new(), whole_bytes: 0, damaged_at: None };
    let mut rest = bytes;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, behind) = rest.split_at(end + 1);
        let number = told.lines.len() + 1;
        if number == 1 {
            refuse_newer(line, path)?;
        }
        match serde_json::from_slice::<Line>(line) {
            Ok(line) if line.n == number as u64 => told.lines.push(line),
            // A last line that was torn and padded by the file system is a torn end; with more behind it, it is damage.
            _ if behind.is_empty() => break,
            _ => {
                told.damaged_at = Some(number);
                break;
            }
        }
        told.whole_bytes += end as u64 + 1;
        rest = behind;
    }
    Ok(told)
}

fn refuse_newer(line: &[u8], path: &Path) -> Result<(), JournalError> {
    #[derive(serde::Deserialize)]
    struct Format {
        format: u32,
    }
    match serde_json::from_slice::<Format>(line) {
        Ok(Format { format }) if format > JOURNAL_FORMAT => {
            Err(JournalError::Newer { path: path.to_owned(), found: format, known: JOURNAL_FORMAT })
        }
        _ => Ok(()),
    }
}
