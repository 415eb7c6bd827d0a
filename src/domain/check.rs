//! A user's check of a restored database: SQL with a typed expectation.

use serde::{Deserialize, Serialize};

/// What the first column of the answer must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Expectation {
    /// The query runs; the answer does not matter.
    Runs(bool),
    /// Exactly this many rows.
    Rows(u64),
    /// At least this many rows.
    RowsAtLeast(u64),
    /// The single value equals this text, as PostgreSQL prints it.
    Value(String),
    /// The single value is a number of at least this.
    AtLeast(f64),
    /// The single value is a number of at most this.
    AtMost(f64),
    /// The single value is a timestamp not older than this many seconds before `covered until`. Would fail on stale data.
    NewerThanSeconds(f64),
}

/// A check of a restored database. Runs read-only, with a statement timeout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SqlCheck {
    /// Its name, unique in the subject.
    pub name: String,
    /// The database to connect to.
    pub database: String,
    /// One statement.
    pub sql: String,
    /// What must come back.
    pub expect: Expectation,
    /// The user's word that stale data would fail it. `NewerThanSeconds` always would.
    pub tells_stale: bool,
    /// Statement timeout, in seconds.
    pub time_limit_seconds: u64,
}
