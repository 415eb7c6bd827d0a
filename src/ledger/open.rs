//! Opening: make or check the folder and the file, migrate, and close runs whose process is gone.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use sqlx::migrate::MigrateError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool};

use super::error::{BUSY_SECONDS, sorted};
use super::{FILE, Ledger, LedgerError, folder, schema, sql};
use crate::process::{self, Process};

impl Ledger {
    /// Opens the ledger in `folder`, which is made (0700) when it is absent, and migrates it.
    ///
    /// Runs that say "running" and whose process is gone are closed as interrupted at `now`; those of a living process stay.
    /// A file that is damaged, foreign or newer is refused and left as it is.
    pub async fn open(folder: &Path, now: Timestamp, me: Process) -> Result<Self, LedgerError> {
        let host = process::host().map_err(|source| LedgerError::Folder {
            folder: folder.into(),
            what: "the name of this host cannot be read",
            source,
        })?;
        folder::prepare(folder)?;
        let file = folder.join(FILE);
        let alone = alone(folder, &file).await?;
        if !file.exists() {
            refuse_orphans(&file)?;
            create(folder, &file).await?;
        }
        check(&file).await?;
        let writer = pool(&file, false, 1).await?;
        migrate(&writer, &file).await?;
        drop(alone);
        let reader = pool(&file, true, 4).await?;
        let ledger = Self { writer, reader, folder: folder.into(), file, me, host, held: Arc::new(Mutex::default()) };
        ledger.close_interrupted(now).await?;
        Ok(ledger)
    }
}

/// How long another process may make, check and migrate before we give up: the check reads the whole file.
const OPEN_SECONDS: u64 = 30;

/// One process at a time makes, checks and migrates.
async fn alone(folder: &Path, file: &Path) -> Result<File, LedgerError> {
    let cannot = |source| LedgerError::Folder { folder: folder.into(), what: "its lock file cannot be used", source };
    let lock = File::options().create(true).truncate(false).write(true).open(folder.join("ledger.lock")).map_err(cannot)?;
    let begun = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(source)) => return Err(cannot(source)),
            Err(TryLockError::WouldBlock) if begun.elapsed() > Duration::from_secs(OPEN_SECONDS) => {
                return Err(LedgerError::Busy { file: file.into(), seconds: OPEN_SECONDS });
            }
            Err(TryLockError::WouldBlock) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// A journal without its database means that the database was taken away. A new one would silently replace it.
fn refuse_orphans(file: &Path) -> Result<(), LedgerError> {
    for suffix in ["-wal", "-journal"] {
        let journal = beside(file, suffix);
        if journal.metadata().is_ok_and(|about| about.len() > 0) {
            let said = format!("it is gone, and its journal {} is still there", journal.display());
            return Err(LedgerError::Damaged { file: file.into(), said });
        }
    }
    Ok(())
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Makes the file under another name and renames it, so that it is never there half made: an empty `ledger.sqlite` is damage.
async fn create(folder: &Path, file: &Path) -> Result<(), LedgerError> {
    let making = folder.join("ledger.sqlite.making");
    let cannot = |source| LedgerError::Folder { folder: folder.into(), what: "the ledger cannot be made in it", source };
    for left in [making.clone(), beside(&making, "-wal"), beside(&making, "-shm"), beside(&making, "-journal")] {
        match std::fs::remove_file(&left) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(cannot(error)),
            _ => {}
        }
    }
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_with(options(&making).create_if_missing(true))
        .await
        .map_err(|error| sorted(&making, &error))?;
    migrate(&pool, file).await?;
    pool.close().await;
    std::fs::rename(&making, file).map_err(cannot)?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(cannot)
}

/// Looks before anything is written: whose file it is, how new, and whether it is whole.
async fn check(file: &Path) -> Result<(), LedgerError> {
    if file.metadata().is_ok_and(|about| about.len() == 0) {
        return Err(LedgerError::Damaged { file: file.into(), said: "it is empty".into() });
    }
    let wrong = |error: sqlx::Error| sorted(file, &error);
    let looking = SqliteConnectOptions::new().filename(file).read_only(true).busy_timeout(Duration::from_secs(BUSY_SECONDS));
    let mut connection = looking.connect().await.map_err(wrong)?;
    let result = checks(&mut connection, file).await;
    connection.close().await.map_err(wrong)?;
    result
}

async fn checks(connection: &mut SqliteConnection, file: &Path) -> Result<(), LedgerError> {
    let wrong = |error: sqlx::Error| sorted(file, &error);
    let application: i64 = sqlx::query_scalar(sql::APPLICATION_ID).fetch_one(&mut *connection).await.map_err(wrong)?;
    let migrations: i64 = sqlx::query_scalar(sql::HAS_MIGRATIONS).fetch_one(&mut *connection).await.map_err(wrong)?;
    if application != schema::APPLICATION_ID || migrations == 0 {
        let tables: i64 = sqlx::query_scalar(sql::TABLES).fetch_one(&mut *connection).await.map_err(wrong)?;
        let said = format!("application id {application:#x} with {tables} tables, ours is {:#x}", schema::APPLICATION_ID);
        return Err(LedgerError::Foreign { file: file.into(), said });
    }
    let found: i64 = sqlx::query_scalar(sql::SCHEMA_VERSION).fetch_one(&mut *connection).await.map_err(wrong)?;
    if found > schema::newest() {
        return Err(LedgerError::Newer { file: file.into(), found, known: schema::newest() });
    }
    let said: Vec<String> = sqlx::query_scalar(sql::QUICK_CHECK).fetch_all(connection).await.map_err(wrong)?;
    if said.iter().any(|line| line != "ok") {
        return Err(LedgerError::Damaged { file: file.into(), said: said.join("; ") });
    }
    Ok(())
}

async fn migrate(pool: &SqlitePool, file: &Path) -> Result<(), LedgerError> {
    schema::migrator().run(pool).await.map_err(|error| match error {
        MigrateError::VersionMissing(found) => LedgerError::Newer { file: file.into(), found, known: schema::newest() },
        MigrateError::VersionMismatch(version) => {
            LedgerError::Foreign { file: file.into(), said: format!("migration {version} in it is not the one of this program") }
        }
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => sorted(file, &error),
        other => LedgerError::Sql { file: file.into(), said: other.to_string() },
    })
}

fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(false)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(BUSY_SECONDS))
}

async fn pool(file: &Path, read_only: bool, connections: u32) -> Result<SqlitePool, LedgerError> {
    let options = if read_only {
        SqliteConnectOptions::new().filename(file).read_only(true).busy_timeout(Duration::from_secs(BUSY_SECONDS))
    } else {
        options(file)
    };
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_secs(30))
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(options)
        .await
        .map_err(|error| sorted(file, &error))
}
