//! [`Store`]: reads, and the meter of requests. Writing is in the guard.

use std::sync::{Arc, Mutex};

use super::error::At;
use super::stream::head_of;
use super::{Head, Object, ObjectStream, StoreConfig, StoreError, StoreIdentity, s3};
use crate::domain::{Dialect, LifecycleRule, Requests, Setting, StoreId};
use crate::tap::objects::{GetAsk, ListAsk, ListPage, Seen, VersionsPage, WireUpload};
use crate::tap::{Answer, CallError, FailureKind, ObjectCalls};

/// An object store. Cheap to clone; clones share the meter, [`Store::metered`] gives one of its own.
#[derive(Clone)]
pub struct Store {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) identity: StoreIdentity,
    pub(super) calls: Arc<dyn ObjectCalls>,
    meter: Mutex<Meter>,
}

#[derive(Clone, Default)]
struct Meter {
    requests: Requests,
    last: Seen,
    answered: bool,
}

/// What R2 bills a call as. <https://developers.cloudflare.com/r2/pricing/>
#[derive(Clone, Copy)]
pub(super) enum Class {
    A,
    B,
    Free,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("identity", &self.inner.identity).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the live form. Makes no request.
    #[expect(clippy::needless_pass_by_value, reason = "a store takes its keys over; nobody keeps a second copy by accident")]
    pub fn open(config: StoreConfig) -> Result<Self, StoreError> {
        let identity = config.identity();
        let at = place(&identity, "open", "");
        let calls = s3::S3::new(&config).map_err(|error| StoreError::of(&error, &at))?;
        Ok(Self::over(identity, Arc::new(calls)))
    }

    /// Why a store of this identity cannot be opened at all, before any request: a file that cannot be read, a value that is none.
    pub fn unopened(identity: &StoreIdentity, detail: impl Into<String>) -> StoreError {
        StoreError::Config { at: Box::new(At { detail: detail.into(), ..place(identity, "open", "") }) }
    }

    /// A store over any form of the calls: recording, replaying.
    pub fn over(identity: StoreIdentity, calls: Arc<dyn ObjectCalls>) -> Self {
        Self { inner: Arc::new(Inner { identity, calls, meter: Mutex::default() }) }
    }

    /// The same store with a meter of its own: for whoever must tell what they asked, beside others who ask at the same time.
    #[must_use]
    pub fn metered(&self) -> Self {
        Self::over(self.inner.identity.clone(), self.inner.calls.clone())
    }

    /// Its name in the configuration.
    pub fn id(&self) -> &StoreId {
        &self.inner.identity.id
    }

    /// Its bucket.
    pub fn bucket(&self) -> &str {
        &self.inner.identity.bucket
    }

    /// The configured family.
    pub fn dialect(&self) -> Dialect {
        self.inner.identity.dialect
    }

    /// All that is known of it without asking.
    pub fn identity(&self) -> &StoreIdentity {
        &self.inner.identity
    }

    /// Requests and bytes since it was opened, retries included.
    pub fn requests(&self) -> Requests {
        self.inner.meter.lock().map(|meter| meter.requests).unwrap_or_default()
    }

    /// The store's clock minus ours in seconds, from the last answer that had a `Date`.
    pub fn clock_skew(&self) -> Option<f64> {
        self.last_seen().skew_seconds
    }

    /// Whether anything was ever answered since it was opened, if only with a refusal.
    pub fn has_answered(&self) -> bool {
        self.inner.meter.lock().is_ok_and(|meter| meter.answered)
    }

    /// What came with the last answer.
    pub fn last_seen(&self) -> Seen {
        self.inner.meter.lock().map(|meter| meter.last.clone()).unwrap_or_default()
    }

    pub(super) fn at(&self, verb: &'static str, key: &str) -> At {
        place(&self.inner.identity, verb, key)
    }

    pub(super) fn count_bytes_in(&self, bytes: u64) {
        if let Ok(mut meter) = self.inner.meter.lock() {
            meter.requests.bytes_in = meter.requests.bytes_in.saturating_add(bytes);
        }
    }

    pub(super) fn count_bytes_out(&self, bytes: u64) {
        if let Ok(mut meter) = self.inner.meter.lock() {
            meter.requests.bytes_out = meter.requests.bytes_out.saturating_add(bytes);
        }
    }

    /// Counts a call and gives its failure a meaning.
    pub(super) fn counted<T>(&self, result: Result<Answer<T>, CallError>, class: Class, at: &At) -> Result<T, StoreError> {
        let attempts = u64::from(match &result {
            Ok(answer) => answer.seen.attempts.max(1),
            Err(error) => error.attempts.max(1),
        });
        if let Ok(mut meter) = self.inner.meter.lock() {
            match class {
                Class::A => meter.requests.class_a += attempts,
                Class::B => meter.requests.class_b += attempts,
                Class::Free => meter.requests.free += attempts,
            }
            meter.answered |= match &result {
                Ok(_) => true,
                Err(error) => matches!(error.kind, FailureKind::Answered | FailureKind::Malformed | FailureKind::Cut),
            };
            match &result {
                Ok(answer) => {
                    meter.requests.bytes_in = meter.requests.bytes_in.saturating_add(answer.seen.bytes_in);
                    meter.last = answer.seen.clone();
                }
                Err(error) if error.skew_seconds.is_some() => meter.last.skew_seconds = error.skew_seconds,
                Err(_) => {}
            }
        }
        result.map(|answer| answer.value).map_err(|error| StoreError::of(&error, at))
    }

    pub(super) async fn page(&self, ask: &ListAsk) -> Result<ListPage, StoreError> {
        self.counted(self.inner.calls.list(ask).await, Class::A, &self.at("ListObjectsV2", &ask.prefix))
    }

    /// HeadBucket; answers the region that the store names.
    pub async fn head_bucket(&self) -> Result<Option<String>, StoreError> {
        let answer = self.inner.calls.head_bucket().await;
        let region = answer.as_ref().ok().and_then(|answer| answer.seen.region.clone());
        self.counted(answer, Class::B, &self.at("HeadBucket", ""))?;
        Ok(region)
    }

    /// What the store says of an object, without its bytes.
    pub async fn head(&self, key: &str) -> Result<Head, StoreError> {
        let at = self.at("HeadObject", key);
        let wire = self.counted(self.inner.calls.head(key).await, Class::B, &at)?;
        head_of(wire, &at)
    }

    /// A whole object of at most `cap` bytes.
    pub async fn get(&self, key: &str, cap: u64) -> Result<Object, StoreError> {
        let stream = self.begin(GetAsk { key: key.to_owned(), ..GetAsk::default() }).await?;
        collect(stream, cap).await
    }

    /// `len` bytes from `from`; fewer when the object ends before.
    pub async fn get_range(&self, key: &str, from: u64, len: u64) -> Result<Object, StoreError> {
        let stream = self.begin(GetAsk { key: key.to_owned(), range: Some((from, Some(len))), if_match: None }).await?;
        collect(stream, len).await
    }

    /// The body from `from` on; with `if_match` only while the ETag is still this one ([`StoreError::PreconditionFailed`]).
    pub async fn get_stream(&self, key: &str, from: u64, if_match: Option<&str>) -> Result<ObjectStream, StoreError> {
        let range = (from > 0).then_some((from, None));
        self.begin(GetAsk { key: key.to_owned(), range, if_match: if_match.map(str::to_owned) }).await
    }

    async fn begin(&self, ask: GetAsk) -> Result<ObjectStream, StoreError> {
        let at = self.at("GetObject", &ask.key);
        let answer = self.counted(self.inner.calls.get(&ask).await, Class::B, &at)?;
        let head = head_of(answer.head, &at)?;
        let (from, len) = ask.range.unwrap_or((0, None));
        let rest = head.size.saturating_sub(from);
        let expected = len.map_or(rest, |len| len.min(rest));
        // What the store promises must be what was asked for: a proxy that ignores the range would hand out other bytes.
        if let Some(length) = answer.length
            && length != expected
        {
            return Err(at.malformed(format!("promises {length} bytes where {expected} were asked for")));
        }
        Ok(ObjectStream { store: self.clone(), at, head, length: expected, got: 0, body: answer.body })
    }

    /// Unfinished multipart uploads under `prefix`, at most `cap`; the flag says whether these are all.
    pub async fn uploads(&self, prefix: &str, cap: usize) -> Result<(Vec<WireUpload>, bool), StoreError> {
        let at = self.at("ListMultipartUploads", prefix);
        let mut found = Vec::new();
        let mut marker = None;
        loop {
            let answer = self.inner.calls.uploads(prefix, marker.as_ref()).await;
            let page = self.counted(answer, Class::A, &at)?;
            found.extend(page.uploads);
            if page.next.is_some() && page.next == marker {
                return Err(at.malformed("gave the same marker twice: the listing would never end"));
            }
            if found.len() >= cap {
                let whole = found.len() == cap && page.next.is_none();
                found.truncate(cap);
                return Ok((found, whole));
            }
            match page.next {
                Some(next) => marker = Some(next),
                None => return Ok((found, true)),
            }
        }
    }

    /// One page of versions under `prefix`.
    pub async fn versions(&self, prefix: &str, marker: Option<&(String, String)>) -> Result<VersionsPage, StoreError> {
        let answer = self.inner.calls.versions(prefix, marker).await;
        self.counted(answer, Class::A, &self.at("ListObjectVersions", prefix))
    }

    /// Versioning: `Enabled`, `Suspended`.
    pub async fn versioning(&self) -> Result<Setting<String>, StoreError> {
        let answer = self.counted(self.inner.calls.versioning().await, Class::B, &self.at("GetBucketVersioning", ""));
        setting(answer.map(|value| value.map_or(Setting::Absent, Setting::Set)))
    }

    /// Object lock: default retention as mode and days, `Set(None)` = lock without a default.
    pub async fn object_lock(&self) -> Result<Setting<Option<(String, i32)>>, StoreError> {
        let answer = self.counted(self.inner.calls.object_lock().await, Class::B, &self.at("GetObjectLockConfiguration", ""));
        setting(answer.map(Setting::Set))
    }

    /// Lifecycle rules.
    pub async fn lifecycle(&self) -> Result<Setting<Vec<LifecycleRule>>, StoreError> {
        let answer = self.counted(self.inner.calls.lifecycle().await, Class::B, &self.at("GetBucketLifecycleConfiguration", ""));
        setting(answer.map(Setting::Set))
    }
}

/// "Not set", "does not have it" and "may not ask" are answers about a setting; everything else is a failure.
fn setting<T>(answer: Result<Setting<T>, StoreError>) -> Result<Setting<T>, StoreError> {
    match answer {
        Err(StoreError::NotSet { .. }) => Ok(Setting::Absent),
        Err(StoreError::NotImplemented { .. }) => Ok(Setting::NotImplemented),
        Err(StoreError::AccessDenied { .. }) => Ok(Setting::Denied),
        other => other,
    }
}

async fn collect(mut stream: ObjectStream, cap: u64) -> Result<Object, StoreError> {
    if stream.length() > cap {
        return Err(StoreError::TooLarge { at: Box::new(stream.at.clone()), size: stream.length(), cap });
    }
    // The promise comes from outside: reserve a little, let the rest grow with what really arrives.
    let mut bytes = Vec::with_capacity(usize::try_from(stream.length()).unwrap_or_default().min(1 << 20));
    while let Some(chunk) = stream.next().await? {
        bytes.extend_from_slice(&chunk);
    }
    let Head { size, etag, last_modified, .. } = stream.head;
    Ok(Object { bytes: bytes.into(), size, etag, last_modified })
}

fn place(identity: &StoreIdentity, verb: &'static str, key: &str) -> At {
    At {
        store: identity.id.0.clone(),
        endpoint: identity.endpoint.clone(),
        bucket: identity.bucket.clone(),
        region: identity.region.clone(),
        verb,
        key: key.to_owned(),
        detail: String::new(),
        code: None,
        request_id: None,
    }
}
