//! The replaying forms: answer from a folder. What is not in it is "not recorded", never empty.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

use super::format::{DeniedRow, FORMAT, Index, Pass, RecordingError, read_json, read_lines, safe_name};
use super::record_http::ReplayingHttp;
use super::replay_store::ReplayingObjects;
use super::{CallError, ChainSeen, FailureKind, HttpCalls, Keep, ObjectCalls, TlsCalls};
use crate::yaml;

/// A recording to be replayed.
#[derive(Clone, Debug)]
pub struct Recording {
    root: PathBuf,
    /// What it says of itself.
    pub index: Index,
}

impl Recording {
    /// Opens a recording.
    pub fn open(root: &Path) -> Result<Self, RecordingError> {
        let path = root.join("recording.yaml");
        let text = std::fs::read_to_string(&path).map_err(|why| RecordingError::Io { path: path.clone(), why })?;
        // A recording comes from somebody else: its index is read inside the limits of all YAML.
        let index: Index = yaml::read(&text).map_err(|broken| RecordingError::Malformed {
            path: path.clone(),
            line: usize::try_from(broken.at.line).ok().filter(|line| *line > 0),
            why: broken.what,
        })?;
        if index.format != FORMAT {
            return Err(RecordingError::Format { path, found: index.format });
        }
        Ok(Self { root: root.to_owned(), index })
    }

    /// Its folder, where `config.yaml`, `samples.jsonl`, `ledger.jsonl` and `expect.yaml` lie.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its passes, oldest first.
    pub fn passes(&self) -> impl Iterator<Item = PassReplay> + '_ {
        self.index.passes.iter().map(|pass| PassReplay { folder: self.root.join(safe_name(&pass.dir)), pass: pass.clone() })
    }
}

/// One pass to be replayed.
#[derive(Clone, Debug)]
pub struct PassReplay {
    folder: PathBuf,
    /// Which one; `now` is the time to judge by.
    pub pass: Pass,
}

impl PassReplay {
    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The calls of a store. `key_ref` as when it was recorded; a recording with one key only may leave `@<key ref>` out.
    pub fn store(&self, store: &str, key_ref: &str, keep: Arc<dyn Keep>) -> Result<Arc<dyn ObjectCalls>, RecordingError> {
        let exact = format!("{}@{}", safe_name(store), safe_name(key_ref));
        let plain = safe_name(store);
        let stores = self.folder.join("store");
        let name = if !stores.join(&exact).is_dir() && stores.join(&plain).is_dir() { plain } else { exact };
        Ok(Arc::new(ReplayingObjects::open(&self.folder, store, &name, keep)?))
    }

    /// Looks at certificates.
    pub fn tls(&self) -> Result<Arc<dyn TlsCalls>, RecordingError> {
        let denied = read_lines(&self.folder, "denied.jsonl")?.unwrap_or_default();
        Ok(Arc::new(ReplayingTls { folder: self.folder.join("tls"), denied }))
    }

    /// The reading calls of a Kubernetes cluster, under the name that the configuration gives it.
    pub fn kube(&self, name: &str) -> Result<Arc<dyn super::KubeCalls>, RecordingError> {
        Ok(Arc::new(super::kube_replay::ReplayingKube::open(&self.folder, name)?))
    }

    /// The HTTP calls of a provider.
    pub fn http(&self, provider: &str) -> Result<Arc<dyn HttpCalls>, RecordingError> {
        Ok(Arc::new(ReplayingHttp::open(&self.folder, provider)?))
    }
}

struct ReplayingTls {
    folder: PathBuf,
    denied: Vec<DeniedRow>,
}

#[async_trait]
impl TlsCalls for ReplayingTls {
    async fn look(&self, host: &str, port: u16) -> Result<ChainSeen, CallError> {
        let name = format!("{}_{port}", safe_name(host));
        if let Some(row) = self.denied.iter().find(|row| row.covers(&format!("tls/{name}"), "handshake", "*")) {
            return Err(row.error());
        }
        let read = read_json(&self.folder, &format!("{name}.json"));
        read.map_err(|error| CallError::new(FailureKind::Malformed, error.to_string()))?
            .ok_or_else(|| CallError::new(FailureKind::NotRecorded, format!("{host}:{port}: not recorded")))
    }
}
