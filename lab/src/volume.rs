//! A small real volume, mounted in a folder of the lab, that can really be full. It needs root, and says so.
//!
//! It is unmounted when dropped, by the janitor when the process ends in whatever way (see [`crate::home`]), and what
//! a process and its janitor left, both killed, is swept by the next that mounts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::home::{self, Folder};
use crate::process::{end_of, words};
use crate::{LabError, User};

/// What the volume is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Memory: quick, no reserve, `used + available = capacity`.
    Memory,
    /// ext4 in a file: as on a disk, with metadata and a reserve that only root may use.
    Ext4,
}

/// A mounted volume.
#[derive(Debug)]
pub struct Volume {
    path: PathBuf,
    _folder: Folder,
}

/// The numbers of a file system, as `statvfs` gives them to a user that is not root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Its size in bytes.
    pub capacity: u64,
    /// Bytes that can still be written.
    pub available: u64,
}

impl Volume {
    /// Mounts a volume of this many bytes, which belongs to the user that servers are run as.
    pub fn mount(kind: Kind, bytes: u64) -> Result<Volume, LabError> {
        if !nix::unistd::geteuid().is_root() {
            return Err(LabError::Other("a volume of its own needs root: only root may mount".into()));
        }
        sweep()?;
        let folder = Folder::new("volume")?;
        let path = folder.path().join("at");
        fs::create_dir_all(&path).map_err(LabError::file(&path))?;
        let mut command = Command::new("mount");
        match kind {
            Kind::Memory => {
                command.args(["-t", "tmpfs", "-o", &format!("size={bytes},mode=0755"), "dalsegno-lab"]).arg(&path);
            }
            Kind::Ext4 => {
                let image = folder.path().join("image");
                let file = fs::File::create(&image).map_err(LabError::file(&image))?;
                file.set_len(bytes).map_err(LabError::file(&image))?;
                run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image))?;
                command.args(["-o", "loop,nosuid,nodev"]).arg(&image).arg(&path);
            }
        }
        run(&mut command)?;
        let volume = Volume { path, _folder: folder };
        User::unprivileged()?.own(&volume.path)?;
        Ok(volume)
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its numbers now.
    pub fn space(&self) -> Result<Space, LabError> {
        let said =
            nix::sys::statvfs::statvfs(&self.path).map_err(|e| LabError::Other(format!("{}: {e}", self.path.display())))?;
        let unit = said.fragment_size();
        Ok(Space { capacity: said.blocks() * unit, available: said.blocks_available() * unit })
    }

    /// A larger memory volume from now on, as after an expansion of the claim.
    pub fn resize(&self, bytes: u64) -> Result<(), LabError> {
        run(Command::new("mount").args(["-o", &format!("remount,size={bytes}")]).arg(&self.path))
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        unmount(&self.path);
    }
}

/// A volume for a suite, or `None` after saying that the suite is skipped because this machine does not let us mount.
///
/// # Panics
/// When the environment has `CI` set: there a machine that mounts nothing is a failure, not a silence.
pub fn need(suite: &str, kind: Kind, bytes: u64) -> Option<Volume> {
    match Volume::mount(kind, bytes) {
        Ok(volume) => Some(volume),
        Err(e) => {
            crate::tools::skip(suite, "no volume can be mounted here (root may)", &e.to_string());
            None
        }
    }
}

/// Unmounts; when somebody still uses it, it goes from the tree now and for good with its last user.
fn unmount(path: &Path) {
    let until = Instant::now() + Duration::from_secs(2);
    while run(Command::new("umount").arg(path)).is_err() {
        if Instant::now() > until {
            let _ = run(Command::new("umount").arg("-l").arg(path)); // the janitor tries again
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Unmounts and removes what processes left that are gone, and gives how many volumes that were.
pub fn sweep() -> Result<usize, LabError> {
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(LabError::file("/proc/self/mounts"))?;
    let mut swept = 0;
    for at in mounts.lines().filter_map(|line| line.split(' ').nth(1)) {
        let path = PathBuf::from(at.replace("\\040", " "));
        let Some((folder, pid)) = home::owner(&path) else { continue };
        if Path::new("/proc").join(pid.to_string()).exists() {
            continue;
        }
        unmount(&path);
        let _ = fs::remove_dir_all(folder); // another process may sweep too
        swept += 1;
    }
    Ok(swept)
}

fn run(command: &mut Command) -> Result<(), LabError> {
    let name = words(command);
    let output = command.stdin(Stdio::null()).output().map_err(LabError::file(&name))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(LabError::Command { command: name, status: output.status.to_string(), output: end_of(&text) })
}
