//! `head.json`: which snapshot is the ledger, and who wrote it last.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::HomeError;
use super::layout::{HEAD, key};
use crate::domain::{Holder, Prefix, RunId};
use crate::store::{Store, StoreError};

/// The format of `head.json` that this program writes.
pub(super) const FORMAT: u32 = 1;
/// A head is a page of text; what is larger is none.
const LARGEST: u64 = 64 * 1024;

/// An object below our prefix, and how to know it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Object {
    /// Its name below the prefix.
    pub(super) name: String,
    /// SHA-256 of its bytes, hex.
    pub(super) sha256: String,
    /// Its bytes.
    pub(super) bytes: u64,
}

/// That a store honours conditions, and of which store it was shown. Another endpoint or bucket has to show it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Conditional {
    /// Scheme, host and port.
    pub(super) endpoint: String,
    /// The bucket.
    pub(super) bucket: String,
    /// When it was tried.
    pub(super) at: Timestamp,
}

/// Which snapshot is the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// Its own format.
    pub(super) format: u32,
    /// The program that wrote it.
    pub(super) dalsegno: String,
    /// Whose ledger it is.
    pub(super) site: String,
    /// Counts writes.
    pub(super) serial: u64,
    /// When.
    pub(super) written: Timestamp,
    /// By which run.
    pub(super) run: RunId,
    /// On which host.
    pub(super) host: String,
    /// The ledger.
    pub(super) snapshot: Object,
    /// Bytes of the ledger when it is not compressed.
    pub(super) plain_bytes: u64,
    /// The effective configuration.
    pub(super) config: Object,
    /// Who keeps the other kind of passes away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) holder: Option<Holder>,
    /// That the store honours conditions.
    pub(super) conditional: Conditional,
}

/// A head as it lies there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// What it says.
    pub(super) head: Head,
    /// Its ETag, for the next write.
    pub(super) etag: String,
}

/// `r2: dr-own/dalsegno/head.json`, for people.
pub(super) fn place(store: &Store, prefix: &Prefix, name: &str) -> String {
    format!("{}: {}/{prefix}{name}", store.id(), store.bucket())
}

/// Reads the head; `None` when there is none. One that cannot be read is damage, never "none".
pub(super) async fn read(store: &Store, prefix: &Prefix) -> Result<Option<Seen>, HomeError> {
    let object = match store.get(&key(prefix, HEAD), LARGEST).await {
        Ok(object) => object,
        Err(StoreError::NoSuchKey { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let place = place(store, prefix, HEAD);
    let damaged = |said: String| HomeError::Damaged { place: place.clone(), said, others: Vec::new() };
    let value: serde_json::Value = serde_json::from_slice(&object.bytes)
        .map_err(|error| damaged(format!("{} bytes that are no JSON: {error}", object.size)))?;
    let format =
        value.get("format").and_then(serde_json::Value::as_u64).ok_or_else(|| damaged("it names no format".to_owned()))?;
    if format > u64::from(FORMAT) {
        return Err(HomeError::Newer { place, found: format, known: FORMAT });
    }
    let head: Head = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
    Ok(Some(Seen { head, etag: object.etag }))
}

/// Refuses the ledger of another site.
pub(super) fn must_be_of(seen: Option<&Seen>, site: &str, place: impl FnOnce() -> String) -> Result<(), HomeError> {
    match seen {
        Some(seen) if seen.head.site != site => {
            Err(HomeError::OtherSite { place: place(), ours: site.to_owned(), theirs: seen.head.site.clone() })
        }
        _ => Ok(()),
    }
}
