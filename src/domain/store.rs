//! Facts about an object store.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{StoreId, Subject};

/// Which family of stores an endpoint belongs to, by host name or by what its answers show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// Amazon S3.
    Aws,
    /// MinIO.
    Minio,
    /// Cloudflare R2.
    R2,
    /// Ceph RGW.
    Ceph,
    /// Garage.
    Garage,
    /// SeaweedFS.
    Seaweedfs,
    /// Something else that speaks S3.
    Other,
}

impl Dialect {
    /// The word for people and for the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Minio => "minio",
            Self::R2 => "r2",
            Self::Ceph => "ceph",
            Self::Garage => "garage",
            Self::Seaweedfs => "seaweedfs",
            Self::Other => "other",
        }
    }
}

/// A part of the look at a store, asked beside its listing: each is a call of its own that can fail alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StorePart {
    /// HeadBucket: the region that the bucket lies in.
    Region,
    /// HeadObject: whether objects can be read.
    Reading,
    /// GetBucketVersioning.
    Versioning,
    /// GetObjectLockConfiguration.
    ObjectLock,
    /// GetBucketLifecycleConfiguration.
    Lifecycle,
    /// ListMultipartUploads.
    Uploads,
    /// ListObjectVersions.
    Versions,
    /// The chain that the endpoint shows.
    Certificate,
}

impl StorePart {
    /// The words for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Region => "the bucket's region",
            Self::Reading => "whether objects can be read",
            Self::Versioning => "versioning",
            Self::ObjectLock => "object lock",
            Self::Lifecycle => "lifecycle rules",
            Self::Uploads => "unfinished uploads",
            Self::Versions => "old versions",
            Self::Certificate => "the certificate",
        }
    }
}

/// A claim about objects that cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Immutability {
    /// S3 object lock.
    ObjectLock,
    /// Bucket lock rules, as R2 has them.
    BucketLock,
    /// Nothing of the kind.
    None,
}

impl Immutability {
    /// The word for people and for the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ObjectLock => "object-lock",
            Self::BucketLock => "bucket-lock",
            Self::None => "none",
        }
    }
}

/// Whether a key may do something. Learnt without writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Right {
    /// It may.
    Yes,
    /// It was refused.
    No,
    /// Not tried, or the answer did not tell.
    Unknown,
}

/// What the key that we read with may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// ListObjectsV2.
    pub list: Right,
    /// GetObject.
    pub read: Right,
    /// PutObject, learnt from UploadPart with a made-up UploadId.
    pub write: Right,
    /// ListMultipartUploads.
    pub list_uploads: Right,
    /// ListObjectVersions; asked only where versioning is on.
    pub list_versions: Right,
}

/// A bucket setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "value", rename_all = "kebab-case")]
pub enum Setting<T> {
    /// It is set to this.
    Set(T),
    /// The store has the feature, it is not set here.
    Absent,
    /// The store does not have the feature (501).
    NotImplemented,
    /// The key may not ask.
    Denied,
    /// Not asked in this pass.
    NotAsked,
}

/// One lifecycle rule, as far as it matters to a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifecycleRule {
    /// Its name; may be empty.
    pub id: String,
    /// Whether it is switched on.
    pub enabled: bool,
    /// The key prefix it covers; empty = the whole bucket.
    pub prefix: String,
    /// Current objects expire after this many days.
    pub expire_days: Option<i32>,
    /// Non-current versions expire after this many days.
    pub noncurrent_days: Option<i32>,
    /// Unfinished multipart uploads are aborted after this many days.
    pub abort_multipart_days: Option<i32>,
    /// Objects move to a colder class (GLACIER and its like cannot be read at once) after this many days.
    pub transition: Option<(i32, String)>,
    /// The rule is narrowed by tags or sizes, so the prefix alone does not say what it covers.
    pub narrowed: bool,
}

/// An unfinished multipart upload. It never shows in a listing of objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadSeen {
    /// The key it would have made.
    pub key: String,
    /// When it was begun.
    pub initiated: Option<Timestamp>,
}

/// The certificate chain that the endpoint showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateSeen {
    /// Subject of the certificate that ends first.
    pub subject: String,
    /// Valid from.
    pub not_before: Timestamp,
    /// Valid until: the earliest of the chain and of a configured CA.
    pub not_after: Timestamp,
    /// SHA-256 of the leaf, hex.
    pub leaf_sha256: String,
    /// Who vouches: `system`, `ca:<ref>`, `pin`, `none`.
    pub verified_by: String,
}

/// What a look at a store showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreFact {
    /// `store/<name>`.
    pub subject: Subject,
    /// The store's name in the configuration.
    pub store: StoreId,
    /// Scheme, host and port. A path in it is a fault, and kept so that it can be named.
    pub endpoint: String,
    /// The bucket.
    pub bucket: String,
    /// The region we sign with.
    pub region: String,
    /// The region that HeadBucket names, if any (R2 answers a place such as `WNAM`).
    pub bucket_region: Option<String>,
    /// Which family it is.
    pub dialect: Dialect,
    /// The store's clock minus ours, in seconds, from the `Date` header.
    pub clock_skew_seconds: Option<f64>,
    /// The certificate, when the endpoint speaks TLS.
    pub certificate: Option<CertificateSeen>,
    /// What our reading key may do.
    pub rights: Rights,
    /// `Enabled`, `Suspended`.
    pub versioning: Setting<String>,
    /// Default retention: mode and days. `Set(None)` = object lock on, no default retention.
    pub object_lock: Setting<Option<(String, i32)>>,
    /// Lifecycle rules.
    pub lifecycle: Setting<Vec<LifecycleRule>>,
    /// Unfinished uploads under the prefixes that we know.
    pub uploads: Setting<Vec<UploadSeen>>,
    /// Bytes of current and of non-current versions under the prefixes that we know, where versions could be listed.
    pub version_bytes: Option<(u64, u64)>,
    /// What the configuration claims about immutability, to be held against the facts.
    pub claimed_immutability: Option<Immutability>,
}
