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

use super::{CallError, FailureKind};

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

/// Calls that were made, by kind. A retried call counts once; each page of a list counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubeCounts {
    /// `/version` and `/apis`.
    pub about: u64,
    /// Pages of lists.
    pub pages: u64,
    /// Single objects.
    pub gets: u64,
    /// Logs.
    pub logs: u64,
    /// Through the proxy of a pod or a node.
    pub proxied: u64,
    /// Calls that change.
    pub acts: u64,
    /// Repeats after an answer that may pass (429, 5xx, 401).
    pub repeats: u64,
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

    /// Calls made so far; a form that makes none counts none.
    fn counts(&self) -> KubeCounts {
        KubeCounts::default()
    }
}

/// What a recording may keep of what an API server answers. Those who know the wire types decide: a field that nobody reads is never
/// stored, and a Secret never is.
pub trait KeepKube: Send + Sync {
    /// Whether objects of this kind are kept at all.
    fn keeps(&self, of: &Resource) -> bool;
    /// What is kept of an object; `None` = its name only.
    fn object(&self, of: &Resource, object: &Value) -> Option<Value>;
    /// What is kept of a log.
    fn log(&self, text: &str) -> Option<String>;
    /// What is kept of an exporter's answer.
    fn metrics(&self, text: &str) -> Option<String>;
    /// What is kept of a kubelet's `stats/summary`.
    fn kubelet(&self, body: &Value) -> Option<Value>;
}

/// Lists to the end, page by page. A token that has expired on the way (410) makes it begin again, once; more than `most` objects are
/// an error, never a short list.
pub async fn list_whole(kube: &dyn KubeCalls, of: &Resource, ask: &KubeAsk, most: usize) -> Result<Vec<Value>, CallError> {
    let mut begun_again = false;
    let mut items = Vec::new();
    let mut token = None;
    loop {
        let page = kube.list(of, &KubeAsk { token: token.clone(), ..ask.clone() }).await;
        match page {
            Ok(page) => {
                items.extend(page.items);
                if items.len() > most {
                    let detail = format!("{of}: more than {most} objects; they were not read further");
                    return Err(CallError::new(FailureKind::Cut, detail));
                }
                token = page.next.filter(|next| !next.is_empty());
                if token.is_none() {
                    return Ok(items);
                }
            }
            Err(error) if error.status == Some(410) && token.is_some() && !begun_again => {
                begun_again = true;
                token = None;
                items.clear();
            }
            Err(error) => return Err(error),
        }
    }
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
