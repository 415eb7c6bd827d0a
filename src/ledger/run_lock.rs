//! The lock of a run: which runs are held, seen across pid namespaces.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::domain::RunId;

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
