//! What can go wrong with the ledger.

use std::path::PathBuf;

use crate::domain::{ExitCode, Explained};

/// Why the ledger could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The folder cannot be made or used.
    #[error("state folder {}: {what}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The folder lies on a file system on which SQLite's locks cannot be trusted.
    #[error("state folder {} lies on {kind}, where SQLite's locks cannot be trusted", folder.display())]
    RemoteFolder {
        /// The folder.
        folder: PathBuf,
        /// `NFS`, `CIFS`, `FUSE`.
        kind: &'static str,
    },
    /// A newer dalsegno wrote it.
    #[error("ledger {} has schema {found}, this dalsegno knows up to {known}", file.display())]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its schema.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// The file is not whole, or is no SQLite file. It is left as it is.
    #[error("ledger {} is damaged: {said}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What SQLite, or the check, said.
        said: String,
    },
    /// The file is an SQLite file of somebody else.
    #[error("{} is an SQLite file of another program: {said}", file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
        /// How it differs.
        said: String,
    },
    /// Another process holds it.
    #[error("ledger {} is held by another process for more than {seconds} s", file.display())]
    Busy {
        /// The file.
        file: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// The disk, or the quota, is full. Nothing of the transaction was kept.
    #[error("ledger {} could not be written: no space left", file.display())]
    Full {
        /// The file.
        file: PathBuf,
    },
    /// The file may not be opened or written.
    #[error("ledger {} may not be used: {said}", file.display())]
    NoAccess {
        /// The file.
        file: PathBuf,
        /// What SQLite said.
        said: String,
    },
    /// The run is not in the ledger.
    #[error("no run \"{asked}\" in the ledger")]
    NoSuchRun {
        /// What was asked for.
        asked: String,
    },
    /// More than one run ends so.
    #[error("more than one run answers to \"{asked}\"")]
    Ambiguous {
        /// What was asked for.
        asked: String,
    },
    /// Another evidence file of the same run was taken in before. Evidence is immutable.
    #[error("run {run} was taken in with evidence {known}, this file is {given}")]
    EvidenceDiffers {
        /// The run.
        run: String,
        /// SHA-256 of the file in the ledger.
        known: String,
        /// SHA-256 of the file given.
        given: String,
    },
    /// A newer dalsegno wrote the evidence.
    #[error("evidence of run {run} has format {found}, this dalsegno knows up to {known}")]
    EvidenceNewer {
        /// The run.
        run: String,
        /// Its format.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A row cannot be read as the noun it was written from.
    #[error("ledger {}: a row of {table} cannot be read: {said}", file.display())]
    Row {
        /// The file.
        file: PathBuf,
        /// The table.
        table: &'static str,
        /// What does not fit.
        said: String,
    },
    /// SQLite said something else.
    #[error("ledger {}: {said}", file.display())]
    Sql {
        /// The file.
        file: PathBuf,
        /// In SQLite's words.
        said: String,
    },
    /// The export could not be written where it should go.
    #[error("export could not be written")]
    Write(#[source] std::io::Error),
}

impl Explained for LedgerError {
    fn code(&self) -> &'static str {
        match self {
            Self::Folder { .. } => "ledger-folder",
            Self::RemoteFolder { .. } => "ledger-remote-folder",
            Self::Newer { .. } => "ledger-newer",
            Self::Damaged { .. } | Self::Row { .. } => "ledger-damaged",
            Self::Foreign { .. } => "ledger-foreign",
            Self::Busy { .. } => "ledger-busy",
            Self::Full { .. } => "ledger-full",
            Self::NoAccess { .. } => "ledger-no-access",
            Self::NoSuchRun { .. } | Self::Ambiguous { .. } => "ledger-run",
            Self::EvidenceDiffers { .. } => "evidence-differs",
            Self::EvidenceNewer { .. } => "evidence-newer",
            Self::Sql { .. } => "ledger-sql",
            Self::Write(_) => "ledger-export",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Folder { folder, .. } => {
                format!("make it writable for this user (ls -ld {}), or set state.folder to another one", folder.display())
            }
            Self::RemoteFolder { .. } => {
                "set state.folder to a folder on a local disk, or a volume that is mounted as a block device".into()
            }
            Self::Newer { .. } => "run the dalsegno that wrote it or a newer one; a ledger is never migrated back".into(),
            Self::Damaged { file, .. } | Self::Row { file, .. } => format!(
                "nothing was changed; keep a copy (cp {0}* elsewhere/), try: sqlite3 {0} .recover; then move it away to begin a new one: \
                 drills come back from their evidence files",
                file.display()
            ),
            Self::Foreign { file, .. } => format!("set state.folder to a folder of its own; {} was not touched", file.display()),
            Self::Busy { file, .. } => format!("see who holds it: fuser -v {}; then run again", file.display()),
            Self::Full { file } => {
                format!("make room: df -h {}; then run again, nothing that was said to be written is lost", file.display())
            }
            Self::NoAccess { file, .. } => format!("make it readable and writable for this user: ls -l {}*", file.display()),
            Self::NoSuchRun { .. } | Self::Ambiguous { .. } => "dalsegno history lists runs with their numbers".into(),
            Self::EvidenceDiffers { .. } => {
                "an evidence file is never changed after the drill; find out who wrote the second one".into()
            }
            Self::EvidenceNewer { .. } => "take it in with the dalsegno that wrote it or a newer one".into(),
            Self::Sql { file, .. } => format!("dalsegno ledger verify checks {}", file.display()),
            Self::Write(_) => "check the space and the rights of where the output goes".into(),
        })
    }

    fn exit(&self) -> ExitCode {
        match self {
            Self::Folder { .. }
            | Self::RemoteFolder { .. }
            | Self::Newer { .. }
            | Self::NoSuchRun { .. }
            | Self::Ambiguous { .. }
            | Self::EvidenceNewer { .. } => ExitCode::Usage,
            Self::Damaged { .. } | Self::Foreign { .. } | Self::Row { .. } | Self::EvidenceDiffers { .. } => ExitCode::Stuck,
            Self::Busy { .. } => ExitCode::LostRace,
            // Our own lack: says nothing about any backup.
            Self::Full { .. } | Self::NoAccess { .. } | Self::Write(_) => ExitCode::CouldNotLook,
            Self::Sql { .. } => ExitCode::Bug,
        }
    }
}

/// SQLite's primary result codes that mean something of their own to us: <https://www.sqlite.org/rescode.html>.
mod primary {
    pub(super) const PERM: i64 = 3;
    pub(super) const BUSY: i64 = 5;
    pub(super) const LOCKED: i64 = 6;
    pub(super) const READONLY: i64 = 8;
    pub(super) const CORRUPT: i64 = 11;
    pub(super) const FULL: i64 = 13;
    pub(super) const CANTOPEN: i64 = 14;
    pub(super) const NOTADB: i64 = 26;
}

/// How long a writer waits for another process.
pub(super) const BUSY_SECONDS: u64 = 5;

/// Sorts an error of sqlx by what it means to us.
pub(super) fn sorted(file: &std::path::Path, error: &sqlx::Error) -> LedgerError {
    let file = file.to_path_buf();
    let said = error.to_string();
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return LedgerError::Busy { file, seconds: BUSY_SECONDS };
    }
    if matches!(error, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)) {
        return LedgerError::Row { file, table: "the ledger", said };
    }
    let Some(database) = error.as_database_error() else {
        return LedgerError::Sql { file, said };
    };
    let said = database.message().to_owned();
    let code = database.code().and_then(|code| code.parse::<i64>().ok()).unwrap_or(0) & 0xff;
    match code {
        primary::BUSY | primary::LOCKED => LedgerError::Busy { file, seconds: BUSY_SECONDS },
        primary::CORRUPT | primary::NOTADB => LedgerError::Damaged { file, said },
        primary::FULL => LedgerError::Full { file },
        primary::PERM | primary::READONLY | primary::CANTOPEN => LedgerError::NoAccess { file, said },
        _ => LedgerError::Sql { file, said },
    }
}
