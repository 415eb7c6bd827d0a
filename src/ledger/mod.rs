//! What dalsegno remembers, in SQLite. The only SQL of ours.
//!
//! One file, `ledger.sqlite`, in the state folder. What was committed survives kill -9 and power cuts (WAL journal, `synchronous`
//! FULL). Writers of two processes take turns by SQLite's own locks; inside one process there is one writing connection.
//! A damaged or foreign file is refused and left as it is.

mod alerts;
mod column;
mod copy;
mod drills;
mod error;
mod export;
mod findings;
mod folder;
mod memory;
mod observation;
mod open;
mod outbox;
mod points;
mod requests;
mod run_lock;
mod runs;
mod samples;
mod schema;
mod show;
mod sql;
mod tidy;
mod verify;

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use sqlx::{Sqlite, SqliteConnection, SqlitePool, Transaction};

use crate::domain::RunId;
use crate::process::Process;

pub use alerts::KeptAck;
pub use drills::TakenIn;
pub use error::LedgerError;
pub use findings::{Committed, OpenFinding, Telling};
pub use folder::remote as remote_file_system;
pub use outbox::{ChannelKept, Queued, Undelivered, Waiting};
pub use points::KnownPoint;
pub use runs::{HistoryFilter, RunKind, RunLine, RunState};
pub use samples::HourOfSamples;
pub use show::{ChangeInRun, ShownFinding, ShownRun};
pub use tidy::{HOURLY_DAYS, RAW_DAYS};
pub use verify::Verified;

/// The name of the database in the state folder.
pub const FILE: &str = "ledger.sqlite";

/// The open ledger. Cheap to clone; all clones share the connections.
#[derive(Clone)]
pub struct Ledger {
    writer: SqlitePool,
    reader: SqlitePool,
    folder: PathBuf,
    file: PathBuf,
    me: Process,
    host: String,
    /// Lock files of the runs that this process began.
    held: Arc<Mutex<HashMap<RunId, File>>>,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Ledger {
    /// Where it lies.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Closes all connections; the last one folds the journal into the file.
    pub async fn close(self) {
        self.reader.close().await;
        self.writer.close().await;
    }

    /// A transaction that holds the write lock from its first moment: one that begins reading and turns to writing would get
    /// SQLITE_BUSY at once, whatever the busy timeout says. Dropped without commit, it is rolled back.
    async fn write(&self) -> Result<Transaction<'static, Sqlite>, LedgerError> {
        self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(self.sorted())
    }

    async fn commit(&self, transaction: Transaction<'static, Sqlite>) -> Result<(), LedgerError> {
        transaction.commit().await.map_err(self.sorted())
    }

    /// Turns errors of sqlx into ours.
    fn sorted(&self) -> impl Fn(sqlx::Error) -> LedgerError + '_ {
        |error| error::sorted(&self.file, &error)
    }

    /// The number of a run, inside a transaction.
    async fn number(&self, connection: &mut SqliteConnection, run: RunId) -> Result<i64, LedgerError> {
        sqlx::query_scalar::<_, i64>(sql::RUN_NUMBER)
            .bind(run.to_string())
            .fetch_optional(connection)
            .await
            .map_err(self.sorted())?
            .ok_or_else(|| LedgerError::NoSuchRun { asked: run.to_string() })
    }
}

/// Names and texts of all statements, for the test that runs each of them.
#[doc(hidden)]
pub fn statements() -> &'static [(&'static str, &'static str)] {
    sql::ALL
}
