//! Writes below one directory handle and nowhere else: component by component, never through a link, never over a file
//! that is there.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{Gid, Uid, fchown};

/// Deeper than any data directory; keeps a hostile tar from nesting for ever.
const MAX_DEPTH: usize = 32;

/// The user a tree is given to, when we are root.
pub type Owner = Option<(Uid, Gid)>;

/// A path that stays inside: relative, without `..`, without NUL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerPath(Vec<OsString>);

impl InnerPath {
    /// Reads a member's name. A leading `./` and doubled slashes mean nothing; the error says what is hostile.
    pub fn parse(name: &[u8]) -> Result<Self, &'static str> {
        if name.starts_with(b"/") {
            return Err("an absolute path");
        }
        if name.contains(&0) {
            return Err("a NUL byte in the path");
        }
        let mut parts = Vec::new();
        for part in name.split(|byte| *byte == b'/') {
            match part {
                b"" | b"." => {}
                b".." => return Err("a path that leaves its folder (..)"),
                part if part.len() > 255 => return Err("a path with a component above 255 bytes"),
                part => parts.push(OsStr::from_bytes(part).to_owned()),
            }
        }
        if parts.len() > MAX_DEPTH { Err("a path of more than 32 components") } else { Ok(Self(parts)) }
    }

    /// Whether it names the tree itself (`./`).
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path as text, for messages and for comparing with names that we know.
    pub fn text(&self) -> String {
        self.0.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
    }
}

/// A folder that can be written below.
#[derive(Debug)]
pub struct Tree {
    root: OwnedFd,
    owner: Owner,
    last: Option<(Vec<OsString>, OwnedFd)>,
}

impl Tree {
    /// Opens a folder of ours. Everything made below belongs to `owner`.
    pub fn open(path: &Path, owner: Owner) -> io::Result<Self> {
        let root = open(path, OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(Self { root, owner, last: None })
    }

    /// Makes a folder, and those above it.
    pub fn make_folder(&mut self, path: &InnerPath) -> io::Result<()> {
        self.enter(&path.0)
    }

    /// Makes a file that must not be there; mode 0600, whatever the archive said.
    pub fn create(&mut self, path: &InnerPath) -> io::Result<File> {
        let Some((name, folders)) = path.0.split_last() else {
            return Err(io::Error::from(Errno::EISDIR));
        };
        self.enter(folders)?;
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        let file = match &self.last {
            Some((_, folder)) => openat(folder, name.as_os_str(), flags, mode)?,
            None => openat(&self.root, name.as_os_str(), flags, mode)?,
        };
        if let Some((uid, gid)) = self.owner {
            fchown(&file, Some(uid), Some(gid))?;
        }
        Ok(File::from(file))
    }

    /// Makes `folders` current: members of a tar come folder by folder, so the last handle is mostly the right one.
    fn enter(&mut self, folders: &[OsString]) -> io::Result<()> {
        if folders.is_empty() {
            self.last = None;
            return Ok(());
        }
        if self.last.as_ref().is_some_and(|(known, _)| known == folders) {
            return Ok(());
        }
        let mut handle: Option<OwnedFd> = None;
        for name in folders {
            let next = match &handle {
                Some(above) => self.step(above, name)?,
                None => self.step(&self.root, name)?,
            };
            handle = Some(next);
        }
        self.last = handle.map(|handle| (folders.to_vec(), handle));
        Ok(())
    }

    fn step(&self, above: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
        let made = match mkdirat(above, name, Mode::S_IRWXU) {
            Ok(()) => true,
            Err(Errno::EEXIST) => false,
            Err(error) => return Err(error.into()),
        };
        let folder = openat(above, name, OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty())?;
        if let (true, Some((uid, gid))) = (made, self.owner) {
            fchown(&folder, Some(uid), Some(gid))?;
        }
        Ok(folder)
    }
}
