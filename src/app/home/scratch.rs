//! A folder of one command's own, in which the ledger from the bucket lies while it works. Two commands on one machine never share
//! one: each has its own copy, and the bucket decides who wins.

use std::fs::{DirBuilder, File, TryLockError};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::HomeError;

/// Below the state folder.
const FOLDER: &str = "home";
const LOCK: &str = "lock";

/// The folder; removed when this goes. What a killed command left is removed by the next one.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    /// Held as long as we live: the kernel lets go of it, however we end.
    _lock: File,
}

fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> HomeError {
    let path = path.to_owned();
    move |source| HomeError::File { what, path, source }
}

impl Scratch {
    /// Makes one below `<state>/home/`, and removes those whose owner is gone.
    pub(super) fn make(state: &Path) -> Result<Self, HomeError> {
        let base = state.join(FOLDER);
        DirBuilder::new().recursive(true).mode(0o700).create(&base).map_err(io("make", &base))?;
        // While it is held nobody else makes or sweeps, so a folder without its lock is never seen.
        let door = base.join(LOCK);
        let held = File::options().create(true).truncate(false).write(true).open(&door).map_err(io("open", &door))?;
        held.lock().map_err(io("lock", &door))?;
        sweep(&base);
        let path = base.join(uuid::Uuid::now_v7().to_string());
        DirBuilder::new().mode(0o700).create(&path).map_err(io("make", &path))?;
        let file = path.join(LOCK);
        let lock = File::create(&file).map_err(io("make", &file))?;
        lock.lock().map_err(io("lock", &file))?;
        Ok(Self { path, _lock: lock })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            tracing::debug!(%error, folder = %self.path.display(), "scratch of the ledger stays; the next command removes it");
        }
    }
}

/// Removes folders that bear the name of an id and whose lock nobody holds.
fn sweep(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let path = entry.path();
        let ours = entry.file_name().to_str().is_some_and(|name| uuid::Uuid::try_parse(name).is_ok()) && path.is_dir();
        if !ours {
            continue;
        }
        let living = File::open(path.join(LOCK)).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)));
        if !living && let Err(error) = std::fs::remove_dir_all(&path) {
            tracing::debug!(%error, folder = %path.display(), "scratch of a dead command stays");
        }
    }
}
