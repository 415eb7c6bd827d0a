//! What can go wrong with a journal or an evidence file.

use std::path::PathBuf;

use crate::domain::{Exit, ExitCode, Explained};

/// A journal that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file or folder did not do what was asked.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// `create`, `write`, `read`, `lock`.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// Another process holds the run.
    #[error("{} belongs to a living process", path.display())]
    Held {
        /// The run's folder.
        path: PathBuf,
    },
    /// A line in the middle is not a record: not a torn end, somebody changed the file or the disk lost it.
    #[error("{} is damaged: line {line} is not a record", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// Written by a newer program.
    #[error("{} has format {found}, this program reads up to {known}", path.display())]
    Newer {
        /// The journal.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// It does not begin with `run-begun`, or has none.
    #[error("{} holds no run", path.display())]
    Empty {
        /// The journal.
        path: PathBuf,
    },
    /// A record could not be written as JSON.
    #[error("a record cannot be written as JSON")]
    Json(#[source] serde_json::Error),
}

impl Explained for JournalError {
    fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "journal-io",
            Self::Held { .. } => "run-held",
            Self::Damaged { .. } => "journal-damaged",
            Self::Newer { .. } => "journal-newer",
            Self::Empty { .. } => "journal-empty",
            Self::Json(_) => "journal-json",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { path, .. } => {
                format!("see who owns the folder and whether there is space:  df -h {0} && ls -ld {0}", path.display())
            }
            Self::Held { .. } => "wait for that drill to end, or stop it with SIGTERM".to_owned(),
            Self::Damaged { path, .. } => {
                format!("read it, remove by hand what it made, then move the folder of {} away", path.display())
            }
            Self::Newer { .. } => "use the newer dalsegno that wrote it:  dalsegno drill gc".to_owned(),
            Self::Empty { path } => format!("nothing was done by it; it can be removed:  rm -r {}", path.display()),
            Self::Json(_) => "this is a bug of dalsegno: please report it".to_owned(),
        })
    }

    fn exit(&self) -> Exit {
        match self {
            // As a pass ends over the same folder: it is configuration that names it.
            Self::Io { source, .. } if is_unusable(source.kind()) => ExitCode::Usage,
            Self::Io { .. } => ExitCode::CouldNotLook,
            Self::Held { .. } | Self::Damaged { .. } | Self::Empty { .. } => ExitCode::Stuck,
            Self::Newer { .. } => ExitCode::Usage,
            Self::Json(_) => ExitCode::Bug,
        }
    }
}

/// Whether a folder or file is not ours to use, which no waiting mends.
fn is_unusable(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind as Kind;
    matches!(kind, Kind::PermissionDenied | Kind::NotADirectory | Kind::ReadOnlyFilesystem)
}

/// An evidence file that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// A file did not do what was asked.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// `write`, `read`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// There is one already, and evidence is never changed.
    #[error("{} is there already, and evidence is never changed", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// It is not an evidence file.
    #[error("{} is not an evidence file: {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Written by a newer program.
    #[error("{} has format {found}, this program reads up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// Ours.
        known: u32,
    },
}

impl Explained for EvidenceError {
    fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "evidence-io",
            Self::Exists { .. } => "evidence-exists",
            Self::Malformed { .. } => "evidence-malformed",
            Self::Newer { .. } => "evidence-newer",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { path, .. } => {
                let folder = path.parent().unwrap_or(path).display().to_string();
                format!("see who owns the folder and whether there is space:  df -h {folder} && ls -ld {folder}")
            }
            Self::Exists { .. } => "read it:  dalsegno drill report".to_owned(),
            Self::Malformed { .. } => {
                "it was changed after it was written: take a copy from the store, or drill again (its run names the runbook):  dalsegno history"
                    .to_owned()
            }
            Self::Newer { .. } => "read it with the newer dalsegno that wrote it".to_owned(),
        })
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Io { .. } => ExitCode::CouldNotLook,
            Self::Exists { .. } | Self::Malformed { .. } => ExitCode::Stuck,
            Self::Newer { .. } => ExitCode::Usage,
        }
    }
}
