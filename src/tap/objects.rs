//! Calls to an object store, as they go over the wire: one method, one request (retries aside).
//!
//! The room `store` gives them meaning; here they only have a shape, so that they can be recorded and replayed.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::CallError;
use crate::domain::LifecycleRule;

/// What came with an answer besides its value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The store's clock minus ours, in seconds, from the `Date` header; good to about a second.
    pub skew_seconds: Option<f64>,
    /// The `Server` header.
    pub server: Option<String>,
    /// `x-amz-bucket-region`.
    pub region: Option<String>,
    /// The store's id of the request.
    pub request_id: Option<String>,
    /// How many requests it took.
    pub attempts: u32,
    /// Bytes of the answer's body, where the store told them (bodies of objects are counted by their reader).
    pub bytes_in: u64,
}

/// An answer and what came with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// What came with it.
    pub seen: Seen,
}

/// Which page of a listing is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListAsk {
    /// Keys that start with this.
    pub prefix: String,
    /// Keys behind this one.
    pub start_after: Option<String>,
    /// Where the last page ended.
    pub token: Option<String>,
    /// `/` to see folders instead of what lies in them.
    pub delimiter: Option<String>,
    /// At most so many; `None` = the store's own limit.
    pub max_keys: Option<i32>,
}

/// An object in a listing, as the store sent it: nothing is checked yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireObject {
    /// The key, decoded; control characters and `../` are left as they came.
    pub key: String,
    /// Size in bytes. Some stores send nonsense, so it is signed.
    pub size: i64,
    /// ETag without its quotes.
    pub etag: String,
    /// Last modification.
    pub last_modified: Option<Timestamp>,
}

/// A page of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// Objects.
    pub objects: Vec<WireObject>,
    /// Folders, with their trailing slash, when a delimiter was asked for.
    pub folders: Vec<String>,
    /// Keys that are no text after decoding, as they came, each with what is wrong.
    pub refused: Vec<(String, String)>,
    /// The store says that there is more.
    pub truncated: bool,
    /// Token of the next page.
    pub next: Option<String>,
}

/// An unfinished multipart upload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireUpload {
    /// The key.
    pub key: String,
    /// Its id.
    pub upload_id: String,
    /// When it was begun.
    pub initiated: Option<Timestamp>,
}

/// A page of unfinished uploads. The marker of the next page is (key, upload id).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadsPage {
    /// Uploads.
    pub uploads: Vec<WireUpload>,
    /// Where the next page begins; `None` = this was the last.
    pub next: Option<(String, String)>,
}

/// A version of an object, or a delete marker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireVersion {
    /// The key.
    pub key: String,
    /// Its version.
    pub version_id: String,
    /// Whether it is the current one.
    pub latest: bool,
    /// A delete marker has no bytes.
    pub delete_marker: bool,
    /// Bytes.
    pub size: i64,
    /// Last modification.
    pub last_modified: Option<Timestamp>,
}

/// A page of versions. The marker of the next page is (key, version).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionsPage {
    /// Versions and delete markers.
    pub versions: Vec<WireVersion>,
    /// Where the next page begins; `None` = this was the last.
    pub next: Option<(String, String)>,
}

/// What the store says of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireHead {
    /// Whole size in bytes, as sent.
    pub size: i64,
    /// ETag without its quotes.
    pub etag: String,
    /// Last modification.
    pub last_modified: Option<Timestamp>,
    /// The headers that somebody reads (metadata, retention, replication, storage class), names in lower case.
    pub headers: BTreeMap<String, String>,
}

/// What part of an object is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetAsk {
    /// The key.
    pub key: String,
    /// First byte and, if not to the end, how many.
    pub range: Option<(u64, Option<u64>)>,
    /// Only if the ETag (without quotes) is still this one.
    pub if_match: Option<String>,
}

impl GetAsk {
    /// The `Range` header as it is sent.
    pub fn range_header(&self) -> Option<String> {
        let (from, len) = self.range?;
        Some(match len {
            Some(len) => format!("bytes={from}-{}", from.saturating_add(len).saturating_sub(1)),
            None => format!("bytes={from}-"),
        })
    }
}

/// The body of an object on its way.
#[async_trait]
pub trait ObjectBody: Send {
    /// The next bytes; `None` at the end, whether or not all bytes that were promised came.
    async fn next(&mut self) -> Result<Option<Bytes>, CallError>;
}

/// The beginning of an object's answer, and its body.
pub struct GetAnswer {
    /// Size is the *whole* object's, also for a range.
    pub head: WireHead,
    /// Bytes that this body promises, if the store said.
    pub length: Option<u64>,
    /// The body.
    pub body: Box<dyn ObjectBody>,
}

impl std::fmt::Debug for GetAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GetAnswer").field("head", &self.head).field("length", &self.length).finish_non_exhaustive()
    }
}

/// Checksum headers on a write: how SDKs since January 2025 send them by default, and how we never do unless asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChecksumForm {
    /// None.
    #[default]
    None,
    /// `x-amz-checksum-crc32` as a header.
    Header,
    /// `aws-chunked` body with the checksum as a trailer.
    Trailer,
}

/// A write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutAsk {
    /// The key.
    pub key: String,
    /// The body.
    pub bytes: Bytes,
    /// `x-amz-meta-*`, names without that prefix.
    pub metadata: BTreeMap<String, String>,
    /// Only if nothing is there (`If-None-Match: *`).
    pub if_absent: bool,
    /// Only if the ETag (without quotes) is still this one.
    pub if_match: Option<String>,
    /// Checksum headers.
    pub checksum: ChecksumForm,
}

/// What `GetBucketVersioning` says; `None` = never switched on.
pub type Versioning = Option<String>;
/// What `GetObjectLockConfiguration` says: default retention as mode and days; `None` = lock on, no default.
pub type DefaultRetention = Option<(String, i32)>;

/// Every call that is made to an object store. The bucket belongs to the object that implements this.
#[async_trait]
pub trait ObjectCalls: Send + Sync {
    /// ListObjectsV2, one page.
    async fn list(&self, ask: &ListAsk) -> Result<Answer<ListPage>, CallError>;
    /// ListMultipartUploads, one page.
    async fn uploads(&self, prefix: &str, marker: Option<&(String, String)>) -> Result<Answer<UploadsPage>, CallError>;
    /// ListObjectVersions, one page.
    async fn versions(&self, prefix: &str, marker: Option<&(String, String)>) -> Result<Answer<VersionsPage>, CallError>;
    /// HeadObject. An error has a status and no code.
    async fn head(&self, key: &str) -> Result<Answer<WireHead>, CallError>;
    /// GetObject.
    async fn get(&self, ask: &GetAsk) -> Result<Answer<GetAnswer>, CallError>;
    /// PutObject; answers the ETag.
    async fn put(&self, ask: &PutAsk) -> Result<Answer<String>, CallError>;
    /// DeleteObject.
    async fn delete(&self, key: &str) -> Result<Answer<()>, CallError>;
    /// CreateMultipartUpload; answers the upload id.
    async fn create_upload(&self, key: &str, metadata: &BTreeMap<String, String>) -> Result<Answer<String>, CallError>;
    /// UploadPart; answers the part's ETag.
    async fn upload_part(&self, key: &str, upload_id: &str, part: i32, bytes: Bytes) -> Result<Answer<String>, CallError>;
    /// CompleteMultipartUpload with (part, ETag); answers the object's ETag.
    async fn complete_upload(&self, key: &str, upload_id: &str, parts: &[(i32, String)]) -> Result<Answer<String>, CallError>;
    /// AbortMultipartUpload.
    async fn abort_upload(&self, key: &str, upload_id: &str) -> Result<Answer<()>, CallError>;
    /// HeadBucket; the region stands in [`Seen`].
    async fn head_bucket(&self) -> Result<Answer<()>, CallError>;
    /// GetBucketVersioning.
    async fn versioning(&self) -> Result<Answer<Versioning>, CallError>;
    /// GetObjectLockConfiguration.
    async fn object_lock(&self) -> Result<Answer<DefaultRetention>, CallError>;
    /// GetBucketLifecycleConfiguration.
    async fn lifecycle(&self) -> Result<Answer<Vec<LifecycleRule>>, CallError>;
}
