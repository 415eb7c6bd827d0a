//! The sandbox folder: its name, its marker, how it is made and removed. What bears no marker of ours is never touched.

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};

use super::process::ProcessMark;
use super::tree::Owner;
use super::trouble::Trouble;
use crate::domain::RunId;
use crate::process::kill;

/// The marker's name inside the folder.
pub const MARKER: &str = ".dalsegno.json";
/// Where the keeper (`internal hold`) writes who it is.
pub const KEEPER: &str = "keeper.json";
/// Where the keeper writes who its postmaster is.
pub const POSTMASTER: &str = "postmaster.json";
/// What every sandbox is called first.
pub const NAME: &str = "dalsegno-";
/// The ending of its name while it is made.
pub const NEW: &str = "new";
/// The ending of its name while it goes.
pub const GONE: &str = "gone";
/// `sun_path` of Linux holds 108 bytes with the NUL (unix(7)).
const SOCKET_PATH_LIMIT: usize = 107;

/// How long a keeper that removes its sandbox may take.
const LETS_GO: Duration = Duration::from_secs(3);

/// What says that a folder is ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The run.
    pub run: RunId,
    /// The step.
    pub step: String,
    /// The process that made it.
    #[serde(flatten)]
    pub maker: ProcessMark,
    /// dalsegno's version.
    pub made_by: String,
}

/// A sandbox and the places inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    folder: PathBuf,
}

impl Sandbox {
    /// The sandbox of a step: the name is derived from run and step, so that it can be found again.
    pub fn of(parent: &Path, run: RunId, step: &str) -> Self {
        let step: String = step.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).take(20).collect();
        Self { folder: parent.join(format!("{NAME}{}-{step}", run.short())) }
    }

    /// A folder that is known already.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Whole, checked segments; `data/pg_wal` is a link to it.
    pub fn wal(&self) -> PathBuf {
        self.folder.join("wal")
    }

    /// The socket's folder.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("s")
    }

    /// Our own configuration of PostgreSQL.
    pub fn conf(&self) -> PathBuf {
        self.folder.join("conf")
    }

    /// What PostgreSQL says.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log/postgres.log")
    }

    /// Where a tablespace lies.
    pub fn tablespace(&self, oid: u32) -> PathBuf {
        self.folder.join("tablespaces").join(oid.to_string())
    }

    /// The marker, when it is there and can be read.
    pub fn marker(&self) -> Option<Marker> {
        read_json(&self.folder.join(MARKER))
    }

    /// Makes the folder with everything in it, marker first: under a passing name, which `rename` makes the final one.
    pub fn make(&self, marker: &Marker, owner: Owner) -> Result<(), Trouble> {
        let parent = self.folder.parent().unwrap_or(Path::new("/"));
        let open = if owner.is_some() { 0o711 } else { 0o700 };
        make_folder(parent, open).map_err(|e| Trouble::disk("make", parent, &e))?;
        if owner.is_some() {
            reachable(parent)?;
        }
        self.socket_fits()?;
        let passing = passing_name(&self.folder, NEW);
        let make = || -> io::Result<()> {
            match DirBuilder::new().mode(open).create(&passing) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => other?,
            }
            kill::point("sandbox-new");
            fs::set_permissions(&passing, Permissions::from_mode(open))?;
            write_json(&passing.join(MARKER), marker)?;
            kill::point("sandbox-marked");
            for name in ["data", "wal", "s", "conf", "log", "tablespaces"] {
                let path = passing.join(name);
                match DirBuilder::new().mode(0o700).create(&path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    other => other?,
                }
                if let Some((uid, gid)) = owner {
                    chown(&path, Some(uid.as_raw()), Some(gid.as_raw()))?;
                }
            }
            kill::point("sandbox-filled");
            fs::rename(&passing, &self.folder)?;
            kill::point("sandbox-made");
            Ok(())
        };
        make().map_err(|error| Trouble::disk("make the sandbox", &self.folder, &error))
    }

    /// The socket's path must fit before anything is made.
    pub fn socket_fits(&self) -> Result<(), Trouble> {
        let socket = self.socket().join(".s.PGSQL.5432");
        let length = socket.as_os_str().len();
        if length <= SOCKET_PATH_LIMIT {
            return Ok(());
        }
        Err(Trouble::could_not(
            format!("the socket {} would be {length} bytes long, Linux takes {SOCKET_PATH_LIMIT}", socket.display()),
            "set drill.folder to a shorter path, for example /var/tmp/dalsegno",
        ))
    }

    /// Takes the lock of the marker, which the keeper holds for its life: a process in another pid namespace looks dead by its
    /// number, and a lock tells nevertheless. `None`: somebody has it.
    pub fn lock(&self) -> io::Result<Option<File>> {
        let marker = fs::OpenOptions::new().read(true).custom_flags(OFlag::O_NOFOLLOW.bits()).open(self.folder.join(MARKER))?;
        match marker.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            // A file system without locks tells nothing: the process numbers must do.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(marker)),
        }
    }

    /// A keeper that is at work on the same removal lets go in a moment.
    fn lock_in_a_moment(&self) -> io::Result<Option<File>> {
        let until = Instant::now() + LETS_GO;
        loop {
            match self.lock()? {
                None if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
                taken => return Ok(taken),
            }
        }
    }

    /// Removes a sandbox of ours, the marker last: a kill in the middle leaves something that can still be recognised.
    pub fn remove(&self) -> io::Result<bool> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Ok(false);
        };
        if self.marker().is_none() {
            return Err(io::Error::other(format!("{} bears no marker of ours", self.folder.display())));
        }
        let Some(_lock) = self.lock_in_a_moment()? else {
            return Err(io::Error::other(format!(
                "{} is held by a process that cannot be seen from here (another container?)",
                self.folder.display()
            )));
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_name() == MARKER {
                continue;
            }
            let removed =
                if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let passing = passing_name(&self.folder, GONE);
        kill::point("sandbox-emptied");
        fs::rename(&self.folder, &passing)?;
        kill::point("sandbox-going");
        fs::remove_file(passing.join(MARKER))?;
        kill::point("sandbox-unmarked");
        fs::remove_dir(&passing)?;
        Ok(true)
    }
}

/// `.dalsegno-…​.new` while it is made, `.dalsegno-….gone` while it goes.
pub fn passing_name(folder: &Path, word: &str) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!(".{name}.{word}"))
}

/// Makes a folder and those above it that are missing, each with these rights whatever the umask takes away: as root, with a umask
/// of 077, PostgreSQL's user could not get into its own sandbox. What is there already stays as it is.
fn make_folder(folder: &Path, mode: u32) -> io::Result<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists()).collect();
    for made in missing.into_iter().rev() {
        match DirBuilder::new().mode(mode).create(made) {
            Ok(()) => fs::set_permissions(made, Permissions::from_mode(mode))?,
            // Another drill was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// When we are root, PostgreSQL's user must get to the sandbox through every folder above it.
pub(super) fn reachable(parent: &Path) -> Result<(), Trouble> {
    let real = parent.canonicalize().map_err(|error| Trouble::disk("open", parent, &error))?;
    for folder in real.ancestors() {
        let mode = fs::metadata(folder).map_err(|error| Trouble::disk("open", folder, &error))?.mode();
        if mode & 0o001 == 0 {
            return Err(Trouble::could_not(
                format!("{} cannot be entered by the user that PostgreSQL runs as", folder.display()),
                format!("chmod o+x {}, or set drill.folder to another place", folder.display()),
            ));
        }
    }
    Ok(())
}

/// Reads a small JSON file of ours.
pub fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Option<T> {
    let length = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?.len();
    if length > 64 * 1024 {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Writes one: beside, then renamed.
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let beside = path.with_extension("json.new");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    kill::point("sandbox-half-written");
    file.write_all(&serde_json::to_vec(value)?)?;
    fs::rename(&beside, path)
}
