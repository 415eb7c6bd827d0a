//! What is asked of a store in one pass.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::{Known, LifecycleRule, Memory, Prefix, Right, Setting, StorePart, UploadSeen};
use crate::store::{Listed, Store, StoreError};

/// So many unfinished uploads are told per prefix.
const UPLOADS: usize = 1000;
/// So many pages of versions are read (1,000 each); more are not summed, and not guessed.
const VERSION_PAGES: usize = 20;
/// Versions are summed once in so many seconds: LIST costs money on R2 and time elsewhere.
const VERSIONS_EVERY: f64 = 86_400.0;

/// Everything that was answered.
pub(super) struct Look {
    /// The first key under the first prefix that is used; `None` = nothing is there.
    pub(super) listed: Result<Option<Listed>, StoreError>,
    pub(super) read: Right,
    pub(super) bucket_region: Option<String>,
    pub(super) skew_seconds: Option<f64>,
    pub(super) server: Option<String>,
    pub(super) versioning: Setting<String>,
    pub(super) object_lock: Setting<Option<(String, i32)>>,
    pub(super) lifecycle: Setting<Vec<LifecycleRule>>,
    pub(super) uploads: Setting<Vec<UploadSeen>>,
    pub(super) list_versions: Right,
    pub(super) version_bytes: Option<(u64, u64)>,
    /// What was asked and got no answer. A refusal, and a call that the store does not have, are answers.
    pub(super) unseen: Vec<(StorePart, StoreError)>,
    pub(super) memory: Option<Memory>,
}

impl Look {
    const fn nothing() -> Self {
        Self {
            listed: Ok(None),
            read: Right::Unknown,
            bucket_region: None,
            skew_seconds: None,
            server: None,
            versioning: Setting::NotAsked,
            object_lock: Setting::NotAsked,
            lifecycle: Setting::NotAsked,
            uploads: Setting::NotAsked,
            list_versions: Right::Unknown,
            version_bytes: None,
            unseen: Vec::new(),
            memory: None,
        }
    }

    /// A look at a store that could not even be opened.
    pub(super) fn not_asked(error: StoreError) -> Self {
        Self { listed: Err(error), ..Self::nothing() }
    }

    /// Whether there is anything to make a fact of: the store answered at least once, if only with a refusal.
    pub(super) fn says_something(&self) -> bool {
        self.skew_seconds.is_some() || self.listed.is_ok() || matches!(self.listed, Err(StoreError::AccessDenied { .. }))
    }

    /// The answer, or a note that there was none. What a recording does not hold was not asked when it was made: nothing to note.
    fn answered<T>(&mut self, part: StorePart, answer: Result<T, StoreError>) -> Option<T> {
        match answer {
            Ok(value) => return Some(value),
            Err(StoreError::AccessDenied { .. } | StoreError::NotImplemented { .. } | StoreError::NotRecorded { .. }) => {}
            Err(error) => self.unseen.push((part, error)),
        }
        None
    }
}

/// What we keep for the next pass.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    versions_at: Option<Timestamp>,
    #[serde(default)]
    version_bytes: Option<(u64, u64)>,
    /// The key may not list versions.
    #[serde(default)]
    denied: bool,
}

/// Asks. Nothing here writes.
pub(super) async fn look(store: &Store, prefixes: &[Prefix], known: &Known, now: Timestamp) -> Look {
    let first = prefixes.first().map_or("", Prefix::as_str);
    let listed = store.peek(first).await;
    let mut look = Look { listed, ..Look::nothing() };
    // A store that does not answer, or not to these keys, is not asked eight times more.
    if matches!(look.listed, Ok(_) | Err(StoreError::AccessDenied { .. })) {
        ask_more(store, prefixes, known, now, &mut look).await;
    }
    let seen = store.last_seen();
    look.skew_seconds = seen.skew_seconds;
    look.server = seen.server;
    look
}

async fn ask_more(store: &Store, prefixes: &[Prefix], known: &Known, now: Timestamp, look: &mut Look) {
    let key = look.listed.as_ref().ok().and_then(Option::as_ref).map(|object| object.key.as_str());
    let (region, read, versioning, object_lock, lifecycle, uploads) = tokio::join!(
        store.head_bucket(),
        may_read(store, key),
        store.versioning(),
        store.object_lock(),
        store.lifecycle(),
        uploads(store, prefixes),
    );
    look.bucket_region = look.answered(StorePart::Region, region).flatten();
    look.read = look.answered(StorePart::Reading, read).unwrap_or(Right::Unknown);
    // What a setting is could not be asked this time: that is "not asked", never "absent".
    look.versioning = look.answered(StorePart::Versioning, versioning).unwrap_or(Setting::NotAsked);
    look.object_lock = look.answered(StorePart::ObjectLock, object_lock).unwrap_or(Setting::NotAsked);
    look.lifecycle = look.answered(StorePart::Lifecycle, lifecycle).unwrap_or(Setting::NotAsked);
    look.uploads = look.answered(StorePart::Uploads, uploads).unwrap_or(Setting::NotAsked);
    if matches!(look.versioning, Setting::Set(_)) {
        sum_versions(store, prefixes, known, now, look).await;
    }
}

/// Once a day, unless the budget of requests is used up; a sum that failed is asked for again at the next pass, and the one before stands until then.
async fn sum_versions(store: &Store, prefixes: &[Prefix], known: &Known, now: Timestamp, look: &mut Look) {
    let memory = known.memory.as_ref();
    let mut kept: Kept = memory.and_then(|memory| serde_json::from_value(memory.0.clone()).ok()).unwrap_or_default();
    let due = kept.versions_at.is_none_or(|at| now.duration_since(at).as_secs_f64() >= VERSIONS_EVERY);
    if due && !known.budget_is_used(store.id()) {
        let answer = version_bytes(store, prefixes).await;
        let denied = matches!(answer, Err(StoreError::AccessDenied { .. }));
        if let Some(version_bytes) = look.answered(StorePart::Versions, answer.or_else(refused)) {
            kept = Kept { versions_at: Some(now), version_bytes, denied };
        }
    }
    look.list_versions = match (kept.denied, kept.versions_at) {
        (true, _) => Right::No,
        (false, Some(_)) => Right::Yes,
        (false, None) => Right::Unknown,
    };
    look.version_bytes = kept.version_bytes;
    look.memory = serde_json::to_value(&kept).ok().map(Memory);
}

/// A refusal, and a call that the store does not have, stand for a day like every other answer.
fn refused(error: StoreError) -> Result<Option<(u64, u64)>, StoreError> {
    match error {
        StoreError::AccessDenied { .. } | StoreError::NotImplemented { .. } => Ok(None),
        error => Err(error),
    }
}

/// GetObject, by a HEAD of a key that is there: nothing of it is transferred.
async fn may_read(store: &Store, key: Option<&str>) -> Result<Right, StoreError> {
    let Some(key) = key else { return Ok(Right::Unknown) };
    match store.head(key).await {
        Ok(_) => Ok(Right::Yes),
        Err(StoreError::AccessDenied { .. }) => Ok(Right::No),
        Err(StoreError::NoSuchKey { .. }) => Ok(Right::Unknown), // deleted since it was listed
        Err(error) => Err(error),
    }
}

async fn uploads(store: &Store, prefixes: &[Prefix]) -> Result<Setting<Vec<UploadSeen>>, StoreError> {
    let mut found = Vec::new();
    for prefix in outermost(prefixes) {
        match store.uploads(prefix.as_str(), UPLOADS).await {
            Ok((uploads, _)) => {
                found.extend(uploads.into_iter().map(|upload| UploadSeen { key: upload.key, initiated: upload.initiated }));
            }
            Err(StoreError::AccessDenied { .. }) => return Ok(Setting::Denied),
            Err(StoreError::NotImplemented { .. }) => return Ok(Setting::NotImplemented),
            Err(error) => return Err(error),
        }
    }
    Ok(Setting::Set(found))
}

/// Bytes of current and of older versions; `None` when there are more than we read.
async fn version_bytes(store: &Store, prefixes: &[Prefix]) -> Result<Option<(u64, u64)>, StoreError> {
    let (mut current, mut old, mut pages) = (0_u64, 0_u64, 0_usize);
    for prefix in outermost(prefixes) {
        let mut marker = None;
        loop {
            pages += 1;
            if pages > VERSION_PAGES {
                return Ok(None);
            }
            let page = store.versions(prefix.as_str(), marker.as_ref()).await?;
            for version in page.versions {
                let bytes = u64::try_from(version.size).unwrap_or_default();
                let sum = if version.latest { &mut current } else { &mut old };
                *sum = sum.saturating_add(bytes);
            }
            if page.next.is_some() && page.next == marker {
                return Ok(None);
            }
            match page.next {
                Some(next) => marker = Some(next),
                None => break,
            }
        }
    }
    Ok(Some((current, old)))
}

/// Prefixes that lie in no other of them; the whole bucket when none is known.
fn outermost(prefixes: &[Prefix]) -> Vec<Prefix> {
    let mut all: Vec<Prefix> = prefixes.to_vec();
    all.sort();
    let mut outer: Vec<Prefix> = Vec::new();
    for prefix in all {
        if !outer.iter().any(|known| prefix.as_str().starts_with(known.as_str())) {
            outer.push(prefix);
        }
    }
    if outer.is_empty() { vec![Prefix::new("")] } else { outer }
}
