//! The one folder of a process below which everything of the lab lives, and the janitor that
//! removes it, with the servers in it, when the process ends in whatever way (SIGKILL too).
//!
//! The janitor is a shell that reads a pipe whose other end only this process holds: end of file
//! means that we are gone. It is in a process group of its own, so that Ctrl-C does not reach it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::LabError;

/// Folders of the lab are named so, with the process's id.
const PREFIX: &str = "dalsegno-lab-";

/// Ends what is noted in `running/` (signal, pid, start time of the process; a pid that has been
/// given to another process has another start time), unmounts what is mounted in the folder, then removes it.
const JANITOR: &str = r#"
cat >/dev/null
started() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
send() { for f in "$1"/running/*; do [ -e "$f" ] || continue; read -r signal pid start < "$f"
  [ "$(started "$pid")" = "$start" ] && kill -s "${2:-$signal}" "$3$pid" 2>/dev/null && found=1; done; }
found=; send "$1" "" ""
if [ -n "$found" ]; then sleep 1.5; send "$1" KILL -; fi
while read -r _ at _; do case "$at" in "$1"/*) umount "$at" 2>/dev/null || umount -l "$at" 2>/dev/null;; esac; done < /proc/self/mounts
rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }
"#;

struct Home {
    path: PathBuf,
    _janitor: Child,
}

static HOME: OnceLock<Result<Home, String>> = OnceLock::new();
static NEXT: AtomicU32 = AtomicU32::new(1);

/// The lab's folder of this process, made at the first call.
pub fn path() -> Result<&'static Path, LabError> {
    HOME.get_or_init(|| make().map_err(|e| e.to_string()))
        .as_ref()
        .map(|home| home.path.as_path())
        .map_err(|e| LabError::Other(format!("the lab's folder: {e}")))
}

/// The lab's folder that a path lies in, and the process that it belongs to.
pub(crate) fn owner(path: &Path) -> Option<(PathBuf, u32)> {
    let root = std::env::temp_dir();
    let name = path.strip_prefix(&root).ok()?.components().next()?.as_os_str().to_str()?;
    let pid = name.strip_prefix(PREFIX)?.parse().ok()?;
    Some((root.join(name), pid))
}

fn make() -> std::io::Result<Home> {
    let path = std::env::temp_dir().join(format!("{PREFIX}{}", std::process::id()));
    if path.exists() {
        fs::remove_dir_all(&path)?; // of an earlier process with our pid
    }
    fs::create_dir_all(path.join("running"))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    let janitor = Command::new("/bin/sh")
        .args(["-c", JANITOR, "lab-janitor"])
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        .process_group(0)
        .spawn()?;
    Ok(Home { path, _janitor: janitor })
}

/// A fresh folder of the lab, removed when dropped (or with the process).
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes `<home>/<name>-<n>/`, readable by everybody.
    pub fn new(name: &str) -> Result<Folder, LabError> {
        let path = path()?.join(format!("{name}-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir_all(&path).map_err(LabError::file(&path))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(LabError::file(&path))?;
        Ok(Folder { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Best effort: the janitor removes what a dying server still wrote.
        let _ = fs::remove_dir_all(&self.path);
    }
}
