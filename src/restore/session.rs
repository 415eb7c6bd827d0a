//! One connection to the restored PostgreSQL: over the socket in the sandbox, or through a port that leads to it. Simple protocol:
//! every type comes back as text.

use std::path::PathBuf;
use std::time::Duration;

use futures::StreamExt;
use sqlx::postgres::{PgConnectOptions, PgRow, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Either, PgConnection, Row, ValueRef};

use super::sandbox::Sandbox;
use crate::domain::Secret;

/// How the restored PostgreSQL is reached.
#[derive(Clone, Debug)]
pub enum Door {
    /// The folder of its socket. Whoever reaches that is let in.
    Socket(PathBuf),
    /// A port of this machine that leads to it.
    Port {
        /// On 127.0.0.1.
        port: u16,
        /// The password of whoever comes.
        password: Secret,
    },
}

impl From<&Sandbox> for Door {
    fn from(sandbox: &Sandbox) -> Self {
        Self::Socket(sandbox.socket())
    }
}

/// A connection.
pub struct Session(PgConnection);

/// What holds for every session.
const FIRM: &[(&str, &str)] =
    &[("local_preload_libraries", ""), ("role", "none"), ("jit", "off"), ("idle_in_transaction_session_timeout", "0")];
/// A superuser of the restored cluster must not run what was planted there: with the usual search_path an operator of the schema
/// public that fits better than the system's is taken. What ALTER ROLE and ALTER DATABASE say of time and writing gives way too.
const SUPERUSER: &[(&str, &str)] = &[
    ("session_preload_libraries", ""),
    ("session_replication_role", "origin"),
    ("search_path", "pg_catalog, pg_temp"),
    ("default_transaction_read_only", "off"),
    ("default_transaction_isolation", "read committed"),
    ("default_transaction_deferrable", "off"),
    ("statement_timeout", "5min"),
    ("lock_timeout", "30s"),
];
/// The user's own statements find the user's own tables.
const READER: &[(&str, &str)] = &[("search_path", "\"$user\", public")];

/// As whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum As<'a> {
    /// The restored cluster's superuser.
    Superuser(&'a str),
    /// Our role that may only read; what it must not load is set on the role itself, since only a superuser may say so here.
    Reader(&'a str),
}

/// What an answer begins with, and how long it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Rows.
    pub rows: u64,
    /// First column of the first row; `None` = no row, or NULL.
    pub first: Option<String>,
    /// The first row's columns.
    pub columns: usize,
}

impl Session {
    /// Connects as a role to a database. What ALTER ROLE or ALTER DATABASE set in the restored cluster (libraries to load, above
    /// all) gives way to what the client asks for.
    pub async fn open(door: &Door, role: As<'_>, database: &str, extra: &[(&str, String)]) -> Result<Self, sqlx::Error> {
        let (role, own) = match role {
            As::Superuser(role) => (role, SUPERUSER),
            As::Reader(role) => (role, READER),
        };
        let options = PgConnectOptions::new_without_pgpass()
            .username(role)
            .database(database)
            .ssl_mode(PgSslMode::Disable)
            .application_name("dalsegno")
            .statement_cache_capacity(0)
            .options(FIRM.iter().chain(own).copied())
            .options(extra.iter().map(|(name, value)| (*name, value.as_str())))
            .disable_statement_logging();
        let options = match door {
            Door::Socket(folder) => options.host("localhost").port(5432).socket(folder),
            Door::Port { port, password } => options.host("127.0.0.1").port(*port).password(password.expose()),
        };
        let connect = PgConnection::connect_with(&options);
        match tokio::time::timeout(Duration::from_secs(10), connect).await {
            Ok(connection) => connection.map(Self),
            Err(_) => Err(sqlx::Error::Io(std::io::Error::from(std::io::ErrorKind::TimedOut))),
        }
    }

    /// The first row, as text; the statement is ours.
    pub async fn row(&mut self, sql: &'static str) -> Result<Vec<Option<String>>, sqlx::Error> {
        let row = sqlx::raw_sql(sql).fetch_one(&mut self.0).await?;
        Ok(texts(&row))
    }

    /// All rows of a small answer; the statement is ours.
    pub async fn rows(&mut self, sql: &'static str) -> Result<Vec<Vec<Option<String>>>, sqlx::Error> {
        let rows = sqlx::raw_sql(sql).fetch_all(&mut self.0).await?;
        Ok(rows.iter().map(texts).collect())
    }

    /// Runs a statement of ours.
    pub async fn run(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(sql).execute(&mut self.0).await.map(|_| ())
    }

    /// Runs a statement that we made; names in it must be quoted.
    pub async fn run_made(&mut self, sql: String) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut self.0).await.map(|_| ())
    }

    /// Runs a user's statement. The role may only read, so the text needs no parsing; rows are counted, not kept.
    pub async fn ask(&mut self, sql: &str) -> Result<Answer, sqlx::Error> {
        let mut answer = Answer::default();
        let mut rows = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).fetch_many(&mut self.0);
        while let Some(item) = rows.next().await {
            if let Either::Right(row) = item? {
                if answer.rows == 0 {
                    let mut columns = texts(&row).into_iter();
                    answer.columns = columns.len();
                    answer.first = columns.next().flatten();
                }
                answer.rows = answer.rows.saturating_add(1);
            }
        }
        Ok(answer)
    }

    /// Says good-bye.
    pub async fn close(self) {
        // A server that is gone already needs no good-bye.
        let _ = self.0.close().await;
    }
}

fn texts(row: &PgRow) -> Vec<Option<String>> {
    (0..row.len())
        .map(|index| {
            let value = row.try_get_raw(index).ok()?;
            if value.is_null() {
                return None;
            }
            value.as_str().ok().map(|text| text.chars().take(10_000).collect())
        })
        .collect()
}

/// The SQLSTATE of an error of the server.
pub fn sqlstate(error: &sqlx::Error) -> Option<String> {
    error.as_database_error().and_then(|error| error.code().map(std::borrow::Cow::into_owned))
}

/// The server's words without the driver's.
pub fn words(error: &sqlx::Error) -> String {
    error.as_database_error().map_or_else(|| error.to_string(), |error| error.message().to_owned())
}
