//! Which process wrote a run, and whether it still lives.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::domain::RunId;

/// What tells one process from every other, also after its pid was given to somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Host name. Pids of another host (or of another pod on the same kernel) mean nothing here.
    pub host: String,
    /// The kernel's boot id: after a reboot every process of before is gone.
    pub boot: String,
    /// Process id.
    pub pid: u32,
    /// Clock ticks since boot at which it was started: field 22 of `/proc/PID/stat`, see proc_pid_stat(5).
    pub started: u64,
}

impl ProcessIdentity {
    /// Of this process.
    pub fn current() -> Result<Self, std::io::Error> {
        let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned());
        let pid = std::process::id();
        let started = started(pid).ok_or_else(|| std::io::Error::other("/proc/self/stat has no start time"))?;
        Ok(Self { host: read("/proc/sys/kernel/hostname")?, boot: read("/proc/sys/kernel/random/boot_id")?, pid, started })
    }

    /// Whether `self`, seen from the process `me`, is shown to be alive.
    pub(super) fn lives(&self, me: &Self) -> bool {
        self.boot == me.boot && self.host == me.host && started(self.pid) == Some(self.started)
    }
}

/// When a process was started, in clock ticks since boot; `None` when there is no such process, or only its zombie.
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold spaces and parentheses: everything counts from the last one.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// The file that a running process holds locked for its run. The kernel lets go of it when the process ends, however it ends,
/// and that is seen across pid namespaces too: a pod that is restarted has pid 1 again.
fn lock_path(folder: &Path, run: &str) -> PathBuf {
    folder.join("running").join(format!("{run}.lock"))
}

/// Takes the lock of a run that begins.
pub(super) fn hold(folder: &Path, run: RunId) -> std::io::Result<File> {
    std::fs::create_dir_all(folder.join("running"))?;
    let file = File::create(lock_path(folder, &run.to_string()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(std::io::Error::other("the run is held by another process")),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether somebody holds the lock of a run.
pub(super) fn held(folder: &Path, run: &str) -> bool {
    let Ok(file) = File::open(lock_path(folder, run)) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Removes the lock file of a run that is over.
pub(super) fn release(folder: &Path, run: &str) {
    if let Err(error) = std::fs::remove_file(lock_path(folder, run))
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::debug!(%error, run, "lock file of a finished run stays");
    }
}
