//! Where something lies: store, prefix, place.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name a store has in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoreId(pub String);

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A key prefix inside a bucket: no leading slash, a trailing slash unless empty, so that `pg` never covers `pg-main`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Prefix(String);

impl Prefix {
    /// Normalises: leading slashes go, one trailing slash comes.
    pub fn new(text: &str) -> Self {
        let text = text.trim_start_matches('/').trim_end_matches('/');
        Self(if text.is_empty() { String::new() } else { format!("{text}/") })
    }

    /// The text to put before a key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the whole bucket is meant.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The prefix of one more folder below this one.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        Self::new(&format!("{}{name}", self.0))
    }

    /// Whether one lies inside the other, or both are the same.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0) || other.0.starts_with(&self.0)
    }
}

impl From<String> for Prefix {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<Prefix> for String {
    fn from(prefix: Prefix) -> Self {
        prefix.0
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where backups lie. A proof holds for one place only. Its JSON is canonical (the kind first, then the fields in the order they
/// are written here): the ledger compares places by it, so no field is ever moved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Place {
    /// A PostgreSQL archive in an object store.
    Archive(ArchivePlace),
}

impl Place {
    /// The store that it lies on, if it lies on one.
    pub const fn store(&self) -> Option<&StoreId> {
        match self {
            Self::Archive(place) => Some(&place.store),
        }
    }
}

impl From<ArchivePlace> for Place {
    fn from(place: ArchivePlace) -> Self {
        Self::Archive(place)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(place) => place.fmt(f),
        }
    }
}

/// Where a PostgreSQL archive lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ArchivePlace {
    /// The store, as configured.
    pub store: StoreId,
    /// Its bucket.
    pub bucket: String,
    /// The path of the archive's URL.
    pub prefix: Prefix,
    /// barman's server name: the folder below the prefix.
    pub server: String,
}

impl ArchivePlace {
    /// The prefix that holds `base/` and `wals/`.
    pub fn root(&self) -> Prefix {
        self.prefix.child(&self.server)
    }
}

impl fmt::Display for ArchivePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.store, self.bucket, self.root())
    }
}
