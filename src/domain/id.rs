//! Identifiers: of runs, of providers, of PostgreSQL systems.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A recorded pass or drill. UUID version 7, so that ids sort by time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RunId(uuid::Uuid);

impl RunId {
    /// A new id; the one place where the clock of the UUID crate is used.
    #[expect(clippy::new_without_default, reason = "two calls give two ids, a Default would hide that")]
    pub fn new() -> Self {
        Self(uuid::Uuid::now_v7())
    }

    /// Reads an id as [`fmt::Display`] writes it.
    pub fn parse(text: &str) -> Option<Self> {
        uuid::Uuid::try_parse(text).ok().map(Self)
    }

    /// The last eight hex digits: enough for folder names and tables.
    pub fn short(&self) -> String {
        let text = self.0.simple().to_string();
        text.get(24..).unwrap_or_default().to_owned()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for RunId {
    type Error = uuid::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        uuid::Uuid::try_parse(&text).map(Self)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A system we talk to, under the name the configuration gives it: `store/minio`, `postgres/keycloak-db`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderId(pub String);

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// PostgreSQL's system identifier: made at `initdb`, kept by every copy. Written in decimal, as `pg_controldata` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SystemId(pub u64);

impl fmt::Display for SystemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<SystemId> for String {
    fn from(id: SystemId) -> Self {
        id.0.to_string()
    }
}

impl TryFrom<String> for SystemId {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}
