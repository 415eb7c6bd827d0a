//! Recovery points: what could be restored, and how that is known.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Place, Subject};

/// How a subject is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// Base backup plus WAL archive.
    BaseAndWal,
}

impl Mechanism {
    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BaseAndWal => "base+wal",
        }
    }
}

/// What could be restored from one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecoveryPoint {
    /// What would come back.
    pub subject: Subject,
    /// Where it lies.
    pub place: Place,
    /// How it is covered.
    pub mechanism: Mechanism,
    /// Its name in that mechanism: the base backup's id.
    pub name: String,
    /// Earliest moment.
    pub from: Timestamp,
    /// The latest moment up to which nothing can be missing.
    pub covered_until: Option<Timestamp>,
    /// Bytes it occupies in the store.
    pub stored_bytes: u64,
}
