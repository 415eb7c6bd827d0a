//! Kubernetes: the seam of every provider that reads a cluster, and of the drills that act in one.
//!
//! Calls are of JSON: what a field means is the reader's business (`wire`). A page at a time, so that a recording and a limit see
//! each request. Every form fails with the same [`CallError`]; its `code` is the API's own reason (`Forbidden`, `NotFound`, `Expired`).

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use super::CallError;

/// A kind of object, as the API's paths spell it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Resource {
    /// API group; empty = core.
    pub group: String,
    /// Version: `v1`.
    pub version: String,
    /// Plural, lower case: `clusters`.
    pub plural: String,
}

impl Resource {
    /// Of its parts.
    pub fn new(group: &str, version: &str, plural: &str) -> Self {
        Self { group: group.to_owned(), version: version.to_owned(), plural: plural.to_owned() }
    }

    /// The path up to and with the group's version: `/api/v1`, `/apis/postgresql.cnpg.io/v1`.
    pub fn base_path(&self) -> String {
        if self.group.is_empty() { format!("/api/{}", self.version) } else { format!("/apis/{}/{}", self.group, self.version) }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() { f.write_str(&self.plural) } else { write!(f, "{}.{}", self.plural, self.group) }
    }
}

/// Which objects of a kind are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeAsk {
    /// One namespace; `None` = all.
    pub namespace: Option<String>,
    /// `labelSelector`.
    pub labels: Option<String>,
    /// `fieldSelector`.
    pub fields: Option<String>,
    /// Objects a page.
    pub limit: Option<u32>,
    /// Where the last page ended.
    pub token: Option<String>,
}

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KubePage {
    /// Its objects.
    pub items: Vec<Value>,
    /// Token of the next page; `None` = this was the last.
    pub next: Option<String>,
}

/// What the API server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubeAbout {
    /// `gitVersion`.
    pub version: String,
    /// Groups and the versions that are served: `postgresql.cnpg.io` → `v1`.
    pub groups: BTreeMap<String, Vec<String>>,
}

/// How an object is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeDelete {
    /// Only the object with this uid: another one of the same name stays.
    pub uid: String,
    /// `Background`, `Foreground` or `Orphan`.
    pub propagation: &'static str,
}

/// A two-way stream to a port of a pod.
pub trait KubeStream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> KubeStream for T {}

/// The calls that read.
#[async_trait]
pub trait KubeCalls: Send + Sync {
    /// `/version` and `/apis`.
    async fn about(&self) -> Result<KubeAbout, CallError>;

    /// A page of objects.
    async fn list(&self, of: &Resource, ask: &KubeAsk) -> Result<KubePage, CallError>;

    /// One object.
    async fn get(&self, of: &Resource, namespace: Option<&str>, name: &str) -> Result<Value, CallError>;

    /// The end of a container's log, at most so many lines.
    async fn log(&self, namespace: &str, pod: &str, container: &str, lines: u32) -> Result<String, CallError>;

    /// GET through the API server's proxy of a pod: `port` with an optional scheme in front (`https:9187`).
    async fn pod_proxy(&self, namespace: &str, pod: &str, port: &str, path: &str) -> Result<Bytes, CallError>;

    /// GET through the API server's proxy of a node: `stats/summary`.
    async fn node_proxy(&self, node: &str, path: &str) -> Result<Bytes, CallError>;
}

/// The calls that change. Only an act uses them, never a look; they are not recorded.
#[async_trait]
pub trait KubeActs: KubeCalls {
    /// Creates. With `dry_run` the server checks everything and keeps nothing.
    async fn create(&self, of: &Resource, namespace: Option<&str>, object: &Value, dry_run: bool) -> Result<Value, CallError>;

    /// Merge patch, of the object or of a subresource (`status`).
    async fn patch(
        &self,
        of: &Resource,
        namespace: Option<&str>,
        name: &str,
        subresource: Option<&str>,
        patch: &Value,
    ) -> Result<Value, CallError>;

    /// Deletes one object, guarded by its uid.
    async fn delete(&self, of: &Resource, namespace: Option<&str>, name: &str, how: &KubeDelete) -> Result<(), CallError>;

    /// Opens a stream to a port of a pod.
    async fn forward(&self, namespace: &str, pod: &str, port: u16) -> Result<Box<dyn KubeStream>, CallError>;
}
