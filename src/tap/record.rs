//! The recording forms: each wraps another form, hands its answers on, and writes down what was seen.
//!
//! Nothing secret reaches a file: credentials never pass through these seams, bodies are kept only as far as [`Keep`] or a wire
//! type allows. A recording that cannot be written is noted and told by [`PassRecorder::finish`]; the looking goes on.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;

use super::format::{DeniedRow, FORMAT, Index, Pass, RecordingError, safe_name};
use super::{CallError, ChainSeen, Keep, ObjectCalls, TlsCalls};

/// A recording that is being made.
#[derive(Debug)]
pub struct Recorder {
    root: PathBuf,
    index: Index,
}

impl Recorder {
    /// Begins in a folder that is new or empty.
    pub fn create(root: &Path, site: &str) -> Result<Self, RecordingError> {
        let failed = |why| RecordingError::Io { path: root.to_owned(), why };
        std::fs::create_dir_all(root).map_err(failed)?;
        if std::fs::read_dir(root).map_err(failed)?.next().is_some() {
            return Err(failed(std::io::Error::other("is not empty")));
        }
        let made_by = concat!("dalsegno ", env!("CARGO_PKG_VERSION")).to_owned();
        Ok(Self { root: root.to_owned(), index: Index { format: FORMAT, site: site.to_owned(), made_by, passes: Vec::new() } })
    }

    /// Begins the next pass.
    pub fn pass(&mut self, now: Timestamp) -> Result<PassRecorder, RecordingError> {
        let dir = format!("{:03}", self.index.passes.len());
        let folder = self.root.join(&dir);
        std::fs::create_dir_all(&folder).map_err(|why| RecordingError::Io { path: folder.clone(), why })?;
        self.index.passes.push(Pass { dir, now });
        Ok(PassRecorder { files: Arc::new(Files::new(folder)), now, stores: Arc::default(), kubes: Arc::default() })
    }

    /// Writes `recording.yaml`, which makes it a recording.
    pub fn finish(self) -> Result<(), RecordingError> {
        let path = self.root.join("recording.yaml");
        let text = serde_saphyr::to_string(&self.index).map_err(|error| RecordingError::Malformed {
            path: path.clone(),
            line: None,
            why: error.to_string(),
        })?;
        std::fs::write(&path, text).map_err(|why| RecordingError::Io { path, why })
    }
}

/// One pass that is being recorded. Clones write to the same folder.
#[derive(Clone)]
pub struct PassRecorder {
    pub(super) files: Arc<Files>,
    now: Timestamp,
    stores: Arc<Mutex<Vec<Arc<super::record_store::Notes>>>>,
    kubes: Arc<Mutex<Vec<Arc<super::kube_record::Notes>>>>,
}

impl PassRecorder {
    /// Wraps the calls of a store. `key_ref` is how the configuration refers to its key (`env:R_ID`), never the key.
    pub fn store(&self, store: &str, key_ref: &str, inner: Arc<dyn ObjectCalls>, keep: Arc<dyn Keep>) -> Arc<dyn ObjectCalls> {
        let recording = super::record_store::RecordingObjects::new(self.files.clone(), store, key_ref, inner, keep, self.now);
        if let Ok(mut stores) = self.stores.lock() {
            stores.push(recording.notes());
        }
        Arc::new(recording)
    }

    /// Wraps looks at certificates.
    pub fn tls(&self, inner: Arc<dyn TlsCalls>) -> Arc<dyn TlsCalls> {
        Arc::new(RecordingTls { files: self.files.clone(), inner })
    }

    /// Wraps the HTTP calls of a provider.
    pub fn http(&self, provider: &str, inner: Arc<dyn super::HttpCalls>) -> Arc<dyn super::HttpCalls> {
        Arc::new(super::record_http::RecordingHttp::new(self.files.clone(), provider, inner))
    }

    /// Wraps the reading calls of a Kubernetes cluster, under the name that the configuration gives it.
    pub fn kube(
        &self,
        name: &str,
        inner: Arc<dyn super::KubeCalls>,
        keep: Arc<dyn super::KeepKube>,
    ) -> Arc<dyn super::KubeCalls> {
        let recording = super::kube_record::RecordingKube::new(self.files.clone(), name, inner, keep);
        if let Ok(mut kubes) = self.kubes.lock() {
            kubes.push(recording.notes());
        }
        Arc::new(recording)
    }

    /// Writes what is only known at the end. Tells the first file that could not be written.
    pub fn finish(&self) -> Result<(), RecordingError> {
        if let Ok(stores) = self.stores.lock() {
            for notes in stores.iter() {
                notes.write(&self.files);
            }
        }
        if let Ok(kubes) = self.kubes.lock() {
            for notes in kubes.iter() {
                notes.write(&self.files);
            }
        }
        self.files.close()
    }
}

/// The files of a pass, open for appending.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    state: Mutex<FileState>,
}

#[derive(Debug, Default)]
struct FileState {
    open: HashMap<PathBuf, std::io::BufWriter<File>>,
    failed: Option<RecordingError>,
}

impl Files {
    fn new(folder: PathBuf) -> Self {
        Self { folder, state: Mutex::default() }
    }

    /// Appends a JSON line to `NNN/<name>`.
    pub(super) fn line<T: Serialize>(&self, name: &str, row: &T) {
        let Ok(text) = serde_json::to_string(row) else { return };
        self.append(name, format!("{text}\n").as_bytes());
    }

    /// Makes sure that the file is there: an empty list is an answer, a missing file is none.
    pub(super) fn touch(&self, name: &str) {
        self.append(name, b"");
    }

    /// Writes a JSON file.
    pub(super) fn json<T: Serialize>(&self, name: &str, value: &T) {
        let Ok(text) = serde_json::to_string_pretty(value) else { return };
        self.bytes(name, format!("{text}\n").as_bytes());
    }

    /// Writes a file.
    pub(super) fn bytes(&self, name: &str, bytes: &[u8]) {
        let path = self.folder.join(name);
        let write = || -> std::io::Result<()> {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&path, bytes)
        };
        let result = write();
        self.note(path.clone(), result);
    }

    /// Notes a failure in `denied.jsonl`.
    pub(super) fn denied(&self, source: &str, verb: &str, what: &str, error: &CallError) {
        self.line("denied.jsonl", &DeniedRow::of(source, verb, what, error));
    }

    fn append(&self, name: &str, bytes: &[u8]) {
        let path = self.folder.join(name);
        let Ok(mut state) = self.state.lock() else { return };
        let mut write = || -> std::io::Result<()> {
            if !state.open.contains_key(&path) {
                if let Some(parent) = path.parent() {
                    std::fs::create_dir_all(parent)?;
                }
                let file = OpenOptions::new().create(true).append(true).open(&path)?;
                state.open.insert(path.clone(), std::io::BufWriter::new(file));
            }
            state.open.get_mut(&path).map_or(Ok(()), |file| file.write_all(bytes))
        };
        let result = write();
        drop(state);
        self.note(path, result);
    }

    fn note(&self, path: PathBuf, result: std::io::Result<()>) {
        let Err(why) = result else { return };
        if let Ok(mut state) = self.state.lock() {
            state.failed.get_or_insert(RecordingError::Io { path, why });
        }
    }

    fn close(&self) -> Result<(), RecordingError> {
        let Ok(mut state) = self.state.lock() else { return Ok(()) };
        let open = std::mem::take(&mut state.open);
        for (path, mut file) in open {
            if let Err(why) = file.flush() {
                state.failed.get_or_insert(RecordingError::Io { path, why });
            }
        }
        state.failed.take().map_or(Ok(()), Err)
    }
}

struct RecordingTls {
    files: Arc<Files>,
    inner: Arc<dyn TlsCalls>,
}

#[async_trait]
impl TlsCalls for RecordingTls {
    async fn look(&self, host: &str, port: u16) -> Result<ChainSeen, CallError> {
        let result = self.inner.look(host, port).await;
        let name = format!("{}_{port}", safe_name(host));
        match &result {
            Ok(seen) => self.files.json(&format!("tls/{name}.json"), seen),
            Err(error) => self.files.denied(&format!("tls/{name}"), "handshake", "*", error),
        }
        result
    }
}

/// Words for a map that JSON wants sorted.
pub(super) type Settings = BTreeMap<String, serde_json::Value>;
