//! Objects: their head, their whole, and their body on its way.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;

use super::error::At;
use super::{Store, StoreError};
use crate::tap::ObjectBody;
use crate::tap::objects::WireHead;

/// What a store says of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Bytes.
    pub size: u64,
    /// ETag without quotes.
    pub etag: String,
    /// Last modification.
    pub last_modified: Option<Timestamp>,
    /// Metadata, retention, replication, storage class: names in lower case.
    pub headers: BTreeMap<String, String>,
}

/// A whole object, or a range of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The bytes that were asked for.
    pub bytes: Bytes,
    /// Size of the whole object.
    pub size: u64,
    /// ETag without quotes.
    pub etag: String,
    /// Last modification.
    pub last_modified: Option<Timestamp>,
}

/// The body of an object on its way. Dropping it closes the connection; nothing is resumed: the reader asks again from the
/// offset it has reached, with the ETag.
pub struct ObjectStream {
    pub(super) store: Store,
    pub(super) at: At,
    pub(super) head: Head,
    /// Bytes this body promises.
    pub(super) length: u64,
    pub(super) got: u64,
    pub(super) body: Box<dyn ObjectBody>,
}

impl std::fmt::Debug for ObjectStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectStream").field("at", &self.at).field("got", &self.got).finish_non_exhaustive()
    }
}

impl ObjectStream {
    /// Size of the whole object in bytes, also when it is read from an offset.
    pub const fn size(&self) -> u64 {
        self.head.size
    }

    /// Bytes that this body promises.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// ETag without quotes, for the next question.
    pub fn etag(&self) -> &str {
        &self.head.etag
    }

    /// Last modification.
    pub const fn last_modified(&self) -> Option<Timestamp> {
        self.head.last_modified
    }

    /// The next bytes; `None` when all that were promised have come.
    ///
    /// An end before that is [`StoreError::Truncated`], a broken connection [`StoreError::Cut`], more than promised
    /// [`StoreError::Malformed`].
    pub async fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        match self.body.next().await {
            Ok(Some(chunk)) => {
                let len = chunk.len() as u64;
                self.got = self.got.saturating_add(len);
                self.store.count_bytes_in(len);
                if self.got > self.length {
                    return Err(self.at.malformed(format!("sent {} bytes where {} were promised", self.got, self.length)));
                }
                Ok(Some(chunk))
            }
            Ok(None) if self.got < self.length => {
                Err(StoreError::Truncated { at: Box::new(self.at.clone()), got: self.got, promised: self.length })
            }
            Ok(None) => Ok(None),
            Err(error) => Err(StoreError::of_body(&error, &self.at, self.got, self.length)),
        }
    }
}

/// Sizes from outside may be negative.
pub(super) fn head_of(wire: WireHead, at: &At) -> Result<Head, StoreError> {
    let size = u64::try_from(wire.size).map_err(|_| at.malformed(format!("says that its size is {} bytes", wire.size)))?;
    Ok(Head { size, etag: wire.etag, last_modified: wire.last_modified, headers: wire.headers })
}
