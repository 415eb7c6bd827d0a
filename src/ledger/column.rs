//! Between our nouns and SQLite's columns: times are epoch milliseconds, JSON is text, unsigned counts are INTEGER.

use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::sqlite::SqliteRow;
use sqlx::{ColumnIndex, Row as _, Sqlite};

use super::{LedgerError, error};

/// Milliseconds since the epoch.
pub(super) fn ms(at: Timestamp) -> i64 {
    at.as_millisecond()
}

/// A count as a column; beyond 2^63 it stays at the largest.
pub(super) fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count from a column.
pub(super) fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// A noun as JSON text.
pub(super) fn json<T: Serialize>(file: &Path, table: &'static str, noun: &T) -> Result<String, LedgerError> {
    serde_json::to_string(noun).map_err(|error| LedgerError::Row { file: file.into(), table, said: error.to_string() })
}

/// A word of a closed table as serde writes it, so that it can be read back.
pub(super) fn word<T: Serialize>(file: &Path, table: &'static str, noun: &T) -> Result<String, LedgerError> {
    json(file, table, noun).map(|text| text.trim_matches('"').to_owned())
}

/// Reads one row of one table, each column with words for what does not fit.
pub(super) struct Reading<'a> {
    pub(super) file: &'a Path,
    pub(super) table: &'static str,
    pub(super) row: &'a SqliteRow,
}

impl Reading<'_> {
    /// A column as SQLite has it.
    pub(super) fn get<'r, T>(&'r self, name: &'static str) -> Result<T, LedgerError>
    where
        T: sqlx::Decode<'r, Sqlite> + sqlx::Type<Sqlite>,
        &'static str: ColumnIndex<SqliteRow>,
    {
        self.row.try_get(name).map_err(|error| error::sorted(self.file, &error))
    }

    /// A moment.
    pub(super) fn at(&self, name: &'static str) -> Result<Timestamp, LedgerError> {
        self.moment(name, self.get(name)?)
    }

    /// A moment that may be absent.
    pub(super) fn at_opt(&self, name: &'static str) -> Result<Option<Timestamp>, LedgerError> {
        self.get::<Option<i64>>(name)?.map(|value| self.moment(name, value)).transpose()
    }

    /// A count.
    pub(super) fn count(&self, name: &'static str) -> Result<u64, LedgerError> {
        self.get(name).map(count)
    }

    /// JSON text as the noun it was written from.
    pub(super) fn json<T: DeserializeOwned>(&self, name: &'static str) -> Result<T, LedgerError> {
        let text: &str = self.get(name)?;
        serde_json::from_str(text).map_err(|error| self.bad(name, &error.to_string()))
    }

    /// A word of a closed table, as serde writes it.
    pub(super) fn word<T: DeserializeOwned>(&self, name: &'static str) -> Result<T, LedgerError> {
        let text: String = self.get(name)?;
        self.parse(name, text)
    }

    /// A word that may be absent.
    pub(super) fn word_opt<T: DeserializeOwned>(&self, name: &'static str) -> Result<Option<T>, LedgerError> {
        self.get::<Option<String>>(name)?.map(|text| self.parse(name, text)).transpose()
    }

    fn parse<T: DeserializeOwned>(&self, name: &'static str, text: String) -> Result<T, LedgerError> {
        let bad = format!("\"{text}\" is not known");
        serde_json::from_value(serde_json::Value::String(text)).map_err(|_| self.bad(name, &bad))
    }

    fn moment(&self, name: &'static str, value: i64) -> Result<Timestamp, LedgerError> {
        Timestamp::from_millisecond(value).map_err(|error| self.bad(name, &error.to_string()))
    }

    fn bad(&self, name: &'static str, said: &str) -> LedgerError {
        LedgerError::Row { file: self.file.into(), table: self.table, said: format!("column {name}: {said}") }
    }
}
