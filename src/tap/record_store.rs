//! Recording of a store: `NNN/store/<store>@<key ref>/`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::format::{Covered, HeadRow, ListMeta, ReadRow, read_name, safe_name};
use super::keep::Kept;
use super::objects::{
    DefaultRetention, GetAnswer, GetAsk, ListAsk, ListPage, ObjectBody, PutAsk, UploadsPage, Versioning, VersionsPage, WireHead,
};
use super::record::{Files, Settings};
use super::{Answer, CallError, FailureKind, Keep, ObjectCalls};
use crate::domain::LifecycleRule;

/// Bodies above this are never gathered for a recording.
const LARGEST_KEPT: usize = 2 << 20;

/// Hands on and writes down.
pub(super) struct RecordingObjects {
    files: Arc<Files>,
    source: String,
    folder: String,
    inner: Arc<dyn ObjectCalls>,
    keep: Arc<dyn Keep>,
    notes: Arc<Notes>,
}

/// What is written at the end of the pass.
pub(super) struct Notes {
    folder: String,
    state: Mutex<NoteState>,
}

#[derive(Default)]
struct NoteState {
    meta: ListMeta,
    settings: Settings,
    /// Listings on their way: (prefix, start after).
    begun: BTreeSet<(String, Option<String>)>,
}

impl Notes {
    pub(super) fn write(&self, files: &Files) {
        let Ok(mut state) = self.state.lock() else { return };
        // A listing that nobody read to its end covers nothing, and says so.
        state.meta.complete = state.meta.complete && state.begun.is_empty();
        files.json(&format!("{}/list.meta.json", self.folder), &state.meta);
        if !state.settings.is_empty() {
            files.json(&format!("{}/settings.json", self.folder), &state.settings);
        }
    }

    fn change(&self, change: impl FnOnce(&mut NoteState)) {
        if let Ok(mut state) = self.state.lock() {
            change(&mut state);
        }
    }
}

impl RecordingObjects {
    pub(super) fn new(
        files: Arc<Files>,
        store: &str,
        key_ref: &str,
        inner: Arc<dyn ObjectCalls>,
        keep: Arc<dyn Keep>,
        at: Timestamp,
    ) -> Self {
        let name = format!("{}@{}", safe_name(store), safe_name(key_ref));
        let folder = format!("store/{name}");
        let meta = ListMeta {
            at: Some(at),
            complete: true,
            covered: Some(Vec::new()),
            uploads: Some(Vec::new()),
            versions: Some(Vec::new()),
            ..ListMeta::default()
        };
        let state = Mutex::new(NoteState { meta, ..NoteState::default() });
        let notes = Arc::new(Notes { folder: folder.clone(), state });
        Self { files, source: folder.clone(), folder, inner, keep, notes }
    }

    pub(super) fn notes(&self) -> Arc<Notes> {
        self.notes.clone()
    }

    fn line<T: Serialize>(&self, name: &str, row: &T) {
        self.files.line(&format!("{}/{name}", self.folder), row);
    }

    /// Notes a failure, or what came with an answer.
    fn note<T>(&self, verb: &str, what: &str, result: &Result<Answer<T>, CallError>) {
        match result {
            Ok(answer) => {
                let seen = json!({"skew_seconds": answer.seen.skew_seconds, "server": answer.seen.server});
                self.notes.change(|notes| {
                    notes.settings.insert("seen".to_owned(), seen);
                });
            }
            Err(error) => self.files.denied(&self.source, verb, what, error),
        }
    }

    fn listed(&self, ask: &ListAsk, page: &ListPage, attempts: u32) {
        self.files.touch(&format!("{}/list.jsonl", self.folder));
        for object in &page.objects {
            self.line("list.jsonl", object);
        }
        let key = (ask.prefix.clone(), ask.start_after.clone());
        self.notes.change(|notes| {
            notes.meta.requests += u64::from(attempts);
            if ask.delimiter.is_some() {
                notes.meta.levels.entry(ask.prefix.clone()).or_default().extend(page.folders.iter().cloned());
            } else if ask.max_keys == Some(1) {
                let first = page.objects.first().map(|object| object.key.clone());
                notes.meta.firsts.insert(ask.prefix.clone(), first);
            } else if page.truncated {
                notes.begun.insert(key);
            } else {
                notes.begun.remove(&key);
                let (prefix, after) = key;
                notes.meta.covered.get_or_insert_default().push(Covered { prefix, after });
            }
        });
    }

    /// A setting: its value, or the word for why there is none.
    fn setting<T: Serialize>(&self, name: &str, verb: &str, result: &Result<Answer<T>, CallError>) {
        let value = match result {
            Ok(answer) => serde_json::to_value(&answer.value).unwrap_or(Value::Null),
            Err(error) => match absent_word(error) {
                Some(word) => Value::from(word),
                None => return self.note(verb, "", result),
            },
        };
        self.notes.change(|notes| {
            notes.settings.insert(name.to_owned(), value);
        });
    }
}

/// Codes that are answers about a setting.
fn absent_word(error: &CallError) -> Option<&'static str> {
    match (error.code.as_deref().unwrap_or_default(), error.status) {
        ("NoSuchLifecycleConfiguration" | "ObjectLockConfigurationNotFoundError", _) => Some("absent"),
        (_, Some(501)) => Some("not_implemented"),
        ("AccessDenied", _) => Some("denied"),
        _ => None,
    }
}

#[async_trait]
impl ObjectCalls for RecordingObjects {
    async fn list(&self, ask: &ListAsk) -> Result<Answer<ListPage>, CallError> {
        let result = self.inner.list(ask).await;
        self.note("ListObjectsV2", &ask.prefix, &result);
        match &result {
            Ok(answer) => self.listed(ask, &answer.value, answer.seen.attempts.max(1)),
            // Broke off half-way: what came before is there, and the listing is not whole.
            Err(error) if ask.token.is_some() => {
                let cut = error.clone().with(|broken| broken.kind = FailureKind::Cut);
                self.files.denied(&self.source, "ListObjectsV2", &ask.prefix, &cut);
                self.notes.change(|notes| notes.meta.complete = false);
            }
            Err(_) => {}
        }
        result
    }

    async fn uploads(&self, prefix: &str, marker: Option<&(String, String)>) -> Result<Answer<UploadsPage>, CallError> {
        let result = self.inner.uploads(prefix, marker).await;
        self.note("ListMultipartUploads", prefix, &result);
        if let Ok(answer) = &result {
            self.files.touch(&format!("{}/uploads.jsonl", self.folder));
            for upload in &answer.value.uploads {
                self.line("uploads.jsonl", upload);
            }
            self.notes.change(|notes| notes.meta.uploads.get_or_insert_default().push(prefix.to_owned()));
        }
        result
    }

    async fn versions(&self, prefix: &str, marker: Option<&(String, String)>) -> Result<Answer<VersionsPage>, CallError> {
        let result = self.inner.versions(prefix, marker).await;
        self.note("ListObjectVersions", prefix, &result);
        if let Ok(answer) = &result {
            self.files.touch(&format!("{}/versions.jsonl", self.folder));
            for version in &answer.value.versions {
                self.line("versions.jsonl", version);
            }
            self.notes.change(|notes| notes.meta.versions.get_or_insert_default().push(prefix.to_owned()));
        }
        result
    }

    async fn head(&self, key: &str) -> Result<Answer<WireHead>, CallError> {
        let result = self.inner.head(key).await;
        match &result {
            Err(error) if error.status == Some(404) => {
                self.line("heads.jsonl", &HeadRow { key: key.to_owned(), headers: BTreeMap::new(), absent: true });
            }
            other => self.note("HeadObject", key, other),
        }
        if let Ok(answer) = &result {
            self.line("heads.jsonl", &HeadRow::of(key, &answer.value));
        }
        result
    }

    async fn get(&self, ask: &GetAsk) -> Result<Answer<GetAnswer>, CallError> {
        let range = ask.range_header();
        let row = ReadRow {
            key: ask.key.clone(),
            range,
            size: 0,
            etag: String::new(),
            last_modified: None,
            file: None,
            derived: None,
            absent: false,
        };
        match self.inner.get(ask).await {
            Ok(answer) => {
                let head = &answer.value.head;
                let row = ReadRow { size: head.size, etag: head.etag.clone(), last_modified: head.last_modified, ..row };
                let body = RecordingBody {
                    inner: answer.value.body,
                    files: self.files.clone(),
                    folder: self.folder.clone(),
                    source: self.source.clone(),
                    keep: self.keep.clone(),
                    row: Some(row),
                    promised: answer.value.length.unwrap_or_default(),
                    got: 0,
                    from: ask.range.map_or(0, |(from, _)| from),
                    gathered: Some(Vec::new()),
                };
                let value = GetAnswer { body: Box::new(body), ..answer.value };
                Ok(Answer { value, seen: answer.seen })
            }
            Err(error) => {
                if error.has_code("NoSuchKey") {
                    self.line("reads.jsonl", &ReadRow { absent: true, ..row });
                } else {
                    self.files.denied(&self.source, "GetObject", &ask.key, &error);
                }
                Err(error)
            }
        }
    }

    async fn put(&self, ask: &PutAsk) -> Result<Answer<String>, CallError> {
        self.inner.put(ask).await // what we write ourselves is no fact about the world
    }

    async fn delete(&self, key: &str) -> Result<Answer<()>, CallError> {
        self.inner.delete(key).await
    }

    async fn create_upload(&self, key: &str, metadata: &BTreeMap<String, String>) -> Result<Answer<String>, CallError> {
        self.inner.create_upload(key, metadata).await
    }

    async fn upload_part(&self, key: &str, upload_id: &str, part: i32, bytes: Bytes) -> Result<Answer<String>, CallError> {
        self.inner.upload_part(key, upload_id, part, bytes).await
    }

    async fn complete_upload(&self, key: &str, upload_id: &str, parts: &[(i32, String)]) -> Result<Answer<String>, CallError> {
        self.inner.complete_upload(key, upload_id, parts).await
    }

    async fn abort_upload(&self, key: &str, upload_id: &str) -> Result<Answer<()>, CallError> {
        self.inner.abort_upload(key, upload_id).await
    }

    async fn head_bucket(&self) -> Result<Answer<()>, CallError> {
        let result = self.inner.head_bucket().await;
        self.note("HeadBucket", "", &result);
        if let Ok(answer) = &result {
            let region = json!({"region": answer.seen.region});
            self.notes.change(|notes| {
                notes.settings.insert("head_bucket".to_owned(), region);
            });
        }
        result
    }

    async fn versioning(&self) -> Result<Answer<Versioning>, CallError> {
        let result = self.inner.versioning().await;
        match &result {
            Ok(Answer { value: None, .. }) => self.notes.change(|notes| {
                notes.settings.insert("versioning".to_owned(), Value::from("absent"));
            }),
            other => self.setting("versioning", "GetBucketVersioning", other),
        }
        result
    }

    async fn object_lock(&self) -> Result<Answer<DefaultRetention>, CallError> {
        let result = self.inner.object_lock().await;
        self.setting("object_lock", "GetObjectLockConfiguration", &result);
        result
    }

    async fn lifecycle(&self) -> Result<Answer<Vec<LifecycleRule>>, CallError> {
        let result = self.inner.lifecycle().await;
        self.setting("lifecycle", "GetBucketLifecycleConfiguration", &result);
        result
    }
}

/// Gathers a small body while it goes by, and keeps of it what may be kept.
struct RecordingBody {
    inner: Box<dyn ObjectBody>,
    files: Arc<Files>,
    folder: String,
    source: String,
    keep: Arc<dyn Keep>,
    row: Option<ReadRow>,
    promised: u64,
    got: u64,
    from: u64,
    gathered: Option<Vec<u8>>,
}

#[async_trait]
impl ObjectBody for RecordingBody {
    async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        let result = self.inner.next().await;
        match &result {
            Ok(Some(chunk)) => {
                self.got += chunk.len() as u64;
                let room = self.gathered.as_ref().is_some_and(|have| have.len() + chunk.len() <= LARGEST_KEPT);
                match &mut self.gathered {
                    Some(have) if room => have.extend_from_slice(chunk),
                    other => *other = None,
                }
            }
            Ok(None) => self.write(),
            Err(error) => {
                if let Some(row) = self.row.take() {
                    self.files.denied(&self.source, "GetObject", &row.key, error);
                }
            }
        }
        result
    }
}

impl RecordingBody {
    fn write(&mut self) {
        let Some(mut row) = self.row.take() else { return };
        if self.got < self.promised {
            let detail = format!("the body ended after {} of {} bytes", self.got, self.promised);
            let cut = CallError::new(FailureKind::Cut, detail);
            return self.files.denied(&self.source, "GetObject", &row.key, &cut);
        }
        let kept = self.gathered.take().map_or(Kept::Nothing, |body| self.keep.keep(&row.key, self.from, &body));
        match kept {
            Kept::Bytes(bytes) => {
                let name = read_name(&row.key, row.range.as_deref());
                self.files.bytes(&format!("{}/reads/{name}", self.folder), &bytes);
                row.file = Some(name);
            }
            Kept::Derived(value) => row.derived = Some(value),
            Kept::Nothing => {}
        }
        self.files.line(&format!("{}/reads.jsonl", self.folder), &row);
    }
}
