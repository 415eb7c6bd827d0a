//! Replay of a store from `NNN/store/<store>@<key ref>/`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::format::{DeniedRow, HeadRow, ListMeta, ListRow, ReadRow, RecordingError, read_json, read_lines};
use super::objects::{
    DefaultRetention, GetAnswer, GetAsk, ListAsk, ListPage, ObjectBody, PutAsk, Seen, UploadsPage, Versioning, VersionsPage,
    WireHead, WireObject, WireUpload, WireVersion,
};
use super::{Answer, CallError, FailureKind, Keep, ObjectCalls};
use crate::domain::LifecycleRule;

/// Keys a page has, as on real stores.
const PAGE: usize = 1000;

/// Answers from a folder.
pub(super) struct ReplayingObjects {
    folder: PathBuf,
    source: String,
    denied: Vec<DeniedRow>,
    keep: Arc<dyn Keep>,
    objects: Option<BTreeMap<String, WireObject>>,
    meta: ListMeta,
    uploads: Option<Vec<WireUpload>>,
    versions: Option<Vec<WireVersion>>,
    heads: HashMap<String, HeadRow>,
    reads: HashMap<(String, Option<String>), ReadRow>,
    settings: BTreeMap<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
struct SeenRow {
    #[serde(default)]
    skew_seconds: Option<f64>,
    #[serde(default)]
    server: Option<String>,
}

impl ReplayingObjects {
    pub(super) fn open(pass: &Path, store: &str, name: &str, keep: Arc<dyn Keep>) -> Result<Self, RecordingError> {
        let folder = pass.join("store").join(name);
        let rows: Option<Vec<ListRow>> = read_lines(&folder, "list.jsonl")?;
        let objects = rows.map(|rows| rows.into_iter().map(|row| (row.key.clone(), row)).collect());
        let heads: Vec<HeadRow> = read_lines(&folder, "heads.jsonl")?.unwrap_or_default();
        let reads: Vec<ReadRow> = read_lines(&folder, "reads.jsonl")?.unwrap_or_default();
        Ok(Self {
            source: format!("store/{store}"),
            denied: read_lines(pass, "denied.jsonl")?.unwrap_or_default(),
            keep,
            objects,
            meta: read_json(&folder, "list.meta.json")?.unwrap_or_else(|| ListMeta { complete: true, ..ListMeta::default() }),
            uploads: read_lines(&folder, "uploads.jsonl")?,
            versions: read_lines(&folder, "versions.jsonl")?,
            heads: heads.into_iter().map(|row| (row.key.clone(), row)).collect(),
            reads: reads.into_iter().map(|row| ((row.key.clone(), row.range.clone()), row)).collect(),
            settings: read_json(&folder, "settings.json")?.unwrap_or_default(),
            folder,
        })
    }

    /// What was refused then is refused now, whatever lies in the files. `cut` is for listings, which come as far as they came.
    fn check(&self, verb: &str, what: &str) -> Result<(), CallError> {
        match self.denied.iter().find(|row| row.kind != "cut" && row.covers(&self.source, verb, what)) {
            Some(row) => Err(row.error()),
            None => Ok(()),
        }
    }

    fn cut(&self, verb: &str, what: &str) -> Option<CallError> {
        self.denied.iter().find(|row| row.kind == "cut" && row.covers(&self.source, verb, what)).map(DeniedRow::error)
    }

    fn not_recorded(&self, verb: &str, what: &str) -> CallError {
        CallError::new(FailureKind::NotRecorded, format!("{} {verb} {what}", self.source))
    }

    fn answer<T>(&self, value: T) -> Answer<T> {
        let seen: SeenRow =
            self.settings.get("seen").and_then(|row| serde_json::from_value(row.clone()).ok()).unwrap_or_default();
        Answer { value, seen: Seen { skew_seconds: seen.skew_seconds, server: seen.server, attempts: 1, ..Seen::default() } }
    }

    /// Whether every key below the prefix, from behind `after` on, was listed.
    fn is_covered(&self, prefix: &str, after: Option<&str>) -> bool {
        match &self.meta.covered {
            None => true,
            Some(covered) => covered.iter().any(|row| {
                prefix.starts_with(&row.prefix)
                    && row.after.as_deref().is_none_or(|from| after.is_some_and(|after| after >= from))
            }),
        }
    }

    fn walk(&self, objects: &BTreeMap<String, WireObject>, ask: &ListAsk) -> Result<ListPage, CallError> {
        let from = ask.token.as_deref().or(ask.start_after.as_deref());
        let limit = ask.max_keys.and_then(|count| usize::try_from(count).ok()).unwrap_or(PAGE).min(PAGE);
        let below = objects.range(ask.prefix.clone()..).map(|(_, object)| object);
        let mut rows = below
            .take_while(|object| object.key.starts_with(&ask.prefix))
            .filter(|object| from.is_none_or(|from| object.key.as_str() > from));
        let page: Vec<WireObject> = rows.by_ref().take(limit).cloned().collect();
        if rows.next().is_some() {
            let next = page.last().map(|object| object.key.clone());
            return Ok(ListPage { objects: page, truncated: next.is_some(), next, ..ListPage::default() });
        }
        match self.cut("ListObjectsV2", &ask.prefix) {
            // The rows of the last page before the break are handed out first; the break comes with the next question.
            Some(error) if page.is_empty() => Err(error),
            Some(_) => {
                let next = page.last().map(|object| object.key.clone());
                Ok(ListPage { objects: page, truncated: true, next, ..ListPage::default() })
            }
            None => Ok(ListPage { objects: page, ..ListPage::default() }),
        }
    }

    fn level(&self, objects: &BTreeMap<String, WireObject>, prefix: &str, delimiter: &str) -> ListPage {
        let mut page = ListPage::default();
        for (key, object) in objects.range(prefix.to_owned()..) {
            let Some(rest) = key.strip_prefix(prefix) else { break };
            match rest.split_once(delimiter) {
                Some((folder, _)) => page.folders.push(format!("{prefix}{folder}{delimiter}")),
                None => page.objects.push(object.clone()),
            }
        }
        page.folders.extend(self.meta.levels.get(prefix).cloned().unwrap_or_default());
        page.folders.sort();
        page.folders.dedup();
        page
    }

    fn setting<T: serde::de::DeserializeOwned>(&self, name: &str, verb: &str, absent: &str) -> Result<Answer<T>, CallError> {
        self.check(verb, "")?;
        let error = |status, code: &str| Err(CallError::answered(status, Some(code.to_owned()), "recorded"));
        let value = self.settings.get(name).ok_or_else(|| self.not_recorded(verb, ""))?;
        match value.as_str() {
            Some("absent") => error(404, absent),
            Some("not_implemented") => error(501, "NotImplemented"),
            Some("denied") => error(403, "AccessDenied"),
            _ => serde_json::from_value(value.clone())
                .map(|value| self.answer(value))
                .map_err(|error| CallError::new(FailureKind::Malformed, format!("settings.json: {name}: {error}"))),
        }
    }

    fn write(&self, verb: &str, key: &str) -> CallError {
        self.not_recorded(verb, key)
    }
}

#[async_trait]
impl ObjectCalls for ReplayingObjects {
    async fn list(&self, ask: &ListAsk) -> Result<Answer<ListPage>, CallError> {
        const VERB: &str = "ListObjectsV2";
        self.check(VERB, &ask.prefix)?;
        let missing = || self.not_recorded(VERB, &ask.prefix);
        let objects = self.objects.as_ref().ok_or_else(missing)?;
        let covered = self.is_covered(&ask.prefix, ask.start_after.as_deref()) || self.cut(VERB, &ask.prefix).is_some();
        if let Some(delimiter) = &ask.delimiter {
            let known = covered || self.meta.levels.contains_key(&ask.prefix);
            return if known { Ok(self.answer(self.level(objects, &ask.prefix, delimiter))) } else { Err(missing()) };
        }
        if covered {
            return self.walk(objects, ask).map(|page| self.answer(page));
        }
        let first = self.meta.firsts.get(&ask.prefix).filter(|_| ask.max_keys == Some(1)).ok_or_else(missing)?;
        let objects = first.iter().filter_map(|key| objects.get(key).cloned()).collect();
        Ok(self.answer(ListPage { objects, ..ListPage::default() }))
    }

    async fn uploads(&self, prefix: &str, _marker: Option<&(String, String)>) -> Result<Answer<UploadsPage>, CallError> {
        const VERB: &str = "ListMultipartUploads";
        self.check(VERB, prefix)?;
        let known = self.meta.uploads.as_ref().is_none_or(|known| known.iter().any(|one| prefix.starts_with(one.as_str())));
        let all = self.uploads.as_ref().filter(|_| known).ok_or_else(|| self.not_recorded(VERB, prefix))?;
        let uploads = all.iter().filter(|upload| upload.key.starts_with(prefix)).cloned().collect();
        Ok(self.answer(UploadsPage { uploads, next: None }))
    }

    async fn versions(&self, prefix: &str, _marker: Option<&(String, String)>) -> Result<Answer<VersionsPage>, CallError> {
        const VERB: &str = "ListObjectVersions";
        self.check(VERB, prefix)?;
        let known = self.meta.versions.as_ref().is_none_or(|known| known.iter().any(|one| prefix.starts_with(one.as_str())));
        let all = self.versions.as_ref().filter(|_| known).ok_or_else(|| self.not_recorded(VERB, prefix))?;
        let versions = all.iter().filter(|version| version.key.starts_with(prefix)).cloned().collect();
        Ok(self.answer(VersionsPage { versions, next: None }))
    }

    async fn head(&self, key: &str) -> Result<Answer<WireHead>, CallError> {
        self.check("HeadObject", key)?;
        if let Some(row) = self.heads.get(key) {
            return if row.absent {
                Err(CallError::answered(404, None, "recorded as absent"))
            } else {
                Ok(self.answer(row.head()))
            };
        }
        // A whole listing knows what a HEAD of a plain object says.
        if let Some(object) = self.objects.as_ref().and_then(|objects| objects.get(key)) {
            let WireObject { size, etag, last_modified, .. } = object.clone();
            return Ok(self.answer(WireHead { size, etag, last_modified, headers: BTreeMap::new() }));
        }
        if self.objects.is_some() && self.is_covered(key, None) {
            return Err(CallError::answered(404, None, "not in the recorded listing"));
        }
        Err(self.not_recorded("HeadObject", key))
    }

    async fn get(&self, ask: &GetAsk) -> Result<Answer<GetAnswer>, CallError> {
        const VERB: &str = "GetObject";
        self.check(VERB, &ask.key)?;
        if let Some(error) = self.cut(VERB, &ask.key) {
            return Err(error);
        }
        let exact = self.reads.get(&(ask.key.clone(), ask.range_header()));
        let row = exact.or_else(|| self.reads.get(&(ask.key.clone(), None)));
        let Some(row) = row else {
            let gone =
                self.objects.as_ref().is_some_and(|objects| !objects.contains_key(&ask.key)) && self.is_covered(&ask.key, None);
            return Err(if gone {
                CallError::answered(404, Some("NoSuchKey".to_owned()), "not in the recorded listing")
            } else {
                self.not_recorded(VERB, &ask.key)
            });
        };
        if row.absent {
            return Err(CallError::answered(404, Some("NoSuchKey".to_owned()), "recorded as absent"));
        }
        if ask.if_match.as_ref().is_some_and(|etag| *etag != row.etag) {
            return Err(CallError::answered(412, Some("PreconditionFailed".to_owned()), "recorded with another ETag"));
        }
        let bytes = self.body(ask, row)?;
        // A rebuilt whole is as long as it is: padding behind a compressed stream would break it.
        let rebuilt = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let size = if row.derived.is_none() {
            row.size
        } else if ask.range.is_none() {
            rebuilt
        } else {
            row.size.max(rebuilt)
        };
        let head = WireHead { size, etag: row.etag.clone(), last_modified: row.last_modified, headers: BTreeMap::new() };
        let body = Box::new(Whole(Some(bytes)));
        Ok(self.answer(GetAnswer { head, length: None, body }))
    }

    async fn put(&self, ask: &PutAsk) -> Result<Answer<String>, CallError> {
        Err(self.write("PutObject", &ask.key))
    }

    async fn delete(&self, key: &str) -> Result<Answer<()>, CallError> {
        Err(self.write("DeleteObject", key))
    }

    async fn create_upload(&self, key: &str, _metadata: &BTreeMap<String, String>) -> Result<Answer<String>, CallError> {
        Err(self.write("CreateMultipartUpload", key))
    }

    async fn upload_part(&self, key: &str, _id: &str, _part: i32, _bytes: Bytes) -> Result<Answer<String>, CallError> {
        Err(self.write("UploadPart", key))
    }

    async fn complete_upload(&self, key: &str, _id: &str, _parts: &[(i32, String)]) -> Result<Answer<String>, CallError> {
        Err(self.write("CompleteMultipartUpload", key))
    }

    async fn abort_upload(&self, key: &str, _id: &str) -> Result<Answer<()>, CallError> {
        Err(self.write("AbortMultipartUpload", key))
    }

    async fn head_bucket(&self) -> Result<Answer<()>, CallError> {
        self.check("HeadBucket", "")?;
        let row = self.settings.get("head_bucket").ok_or_else(|| self.not_recorded("HeadBucket", ""))?;
        let mut answer = self.answer(());
        answer.seen.region = row.get("region").and_then(Value::as_str).map(str::to_owned);
        Ok(answer)
    }

    async fn versioning(&self) -> Result<Answer<Versioning>, CallError> {
        self.check("GetBucketVersioning", "")?;
        if self.settings.get("versioning").and_then(Value::as_str) == Some("absent") {
            return Ok(self.answer(None));
        }
        self.setting("versioning", "GetBucketVersioning", "")
    }

    async fn object_lock(&self) -> Result<Answer<DefaultRetention>, CallError> {
        self.setting("object_lock", "GetObjectLockConfiguration", "ObjectLockConfigurationNotFoundError")
    }

    async fn lifecycle(&self) -> Result<Answer<Vec<LifecycleRule>>, CallError> {
        self.setting("lifecycle", "GetBucketLifecycleConfiguration", "NoSuchLifecycleConfiguration")
    }
}

impl ReplayingObjects {
    /// The bytes that were asked for: from a file, or rebuilt from what was derived and padded to the length.
    fn body(&self, ask: &GetAsk, row: &ReadRow) -> Result<Bytes, CallError> {
        let size = u64::try_from(row.size).unwrap_or_default();
        let (from, len) = ask.range.unwrap_or((0, None));
        let wanted = len.unwrap_or(u64::MAX).min(size.saturating_sub(from));
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let missing = || self.not_recorded("GetObject", &ask.key);
        if let Some(name) = &row.file {
            let path = self.folder.join("reads").join(super::format::safe_name(name));
            let bytes = std::fs::read(&path)
                .map_err(|error| CallError::new(FailureKind::Malformed, format!("{}: {error}", path.display())))?;
            // A whole body answers a range of it; a filtered one is shorter than the object and is padded like a derived one.
            let skip = if row.range.is_none() { usize::try_from(from).unwrap_or(usize::MAX) } else { 0 };
            return Ok(padded(bytes.get(skip..).unwrap_or_default(), wanted, b'\n'));
        }
        let derived = row.derived.as_ref().ok_or_else(missing)?;
        let bytes = self.keep.restore(&ask.key, derived).ok_or_else(missing)?;
        Ok(if ask.range.is_none() { Bytes::from(bytes) } else { padded(&bytes, wanted.max(bytes.len()), 0) })
    }
}

fn padded(bytes: &[u8], wanted: usize, with: u8) -> Bytes {
    // Nobody reads gigabytes of padding: what was kept is small, and so was the range that it was kept of.
    let wanted = wanted.min(bytes.len().max(LARGEST_PADDED));
    let mut out = bytes.get(..wanted.min(bytes.len())).unwrap_or_default().to_vec();
    out.resize(wanted, with);
    Bytes::from(out)
}

const LARGEST_PADDED: usize = 4 << 20;

struct Whole(Option<Bytes>);

#[async_trait]
impl ObjectBody for Whole {
    async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        Ok(self.0.take().filter(|bytes| !bytes.is_empty()))
    }
}
