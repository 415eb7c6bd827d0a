//! The cache: `<root>/<name>-<version>/`, built once, whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::LabError;
use crate::process::{end_of, words};

/// The file that says an installation is whole; written last.
const COMPLETE: &str = ".complete";

/// `$XDG_CACHE_HOME/dalsegno-lab` (or `~/.cache/…`); `/var/cache/dalsegno-lab` when we are root and
/// other users may not pass through our home, since servers are then run as another user.
pub fn root() -> PathBuf {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    match base {
        Some(base) if !nix::unistd::geteuid().is_root() || super::open_to_all(&base) => base.join("dalsegno-lab"),
        _ => PathBuf::from("/var/cache/dalsegno-lab"),
    }
}

/// The folder of a whole installation; none while it is absent or half.
pub(super) fn whole(name: &str) -> Option<PathBuf> {
    let folder = root().join(name);
    folder.join(COMPLETE).is_file().then_some(folder)
}

/// Builds `<root>/<name>/` by `build` unless it is whole. A lock file beside it makes other
/// processes wait; a half one (we were killed) is removed and built again. It is built in place and
/// marked at the end, because a Python environment names its own folder and cannot be renamed.
pub(super) fn ensure(name: &str, build: impl FnOnce(&Path) -> Result<(), LabError>) -> Result<PathBuf, LabError> {
    let root = root();
    fs::create_dir_all(&root).map_err(LabError::file(&root))?;
    let lock_path = root.join(format!("{name}.lock"));
    let lock = fs::File::create(&lock_path).map_err(LabError::file(&lock_path))?;
    lock.lock().map_err(LabError::file(&lock_path))?;
    if let Some(folder) = whole(name) {
        return Ok(folder);
    }
    let folder = root.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(LabError::file(&folder))?;
    }
    fs::create_dir_all(&folder).map_err(LabError::file(&folder))?;
    build(&folder)?;
    let mark = folder.join(COMPLETE);
    fs::write(&mark, name).map_err(LabError::file(&mark))?;
    Ok(folder)
}

/// Runs a command of an installation to its end.
pub(super) fn sh(command: &mut Command) -> Result<String, LabError> {
    let name = words(command);
    let output = command.stdin(Stdio::null()).output().map_err(LabError::file(&name))?;
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(out);
    }
    let text = format!("{out}{}", String::from_utf8_lossy(&output.stderr));
    Err(LabError::Command { command: name, status: output.status.to_string(), output: end_of(&text) })
}
