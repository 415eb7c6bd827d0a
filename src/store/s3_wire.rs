//! Between the SDK's types and ours: what came with an answer, and what an SDK error is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aws_sdk_s3::config::interceptors::{BeforeDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef};
use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::{BoxError, ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::DateTime;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use jiff::Timestamp;

use crate::domain::LifecycleRule;
use crate::tap::failure::read_chain;
use crate::tap::objects::{Seen, WireHead};
use crate::tap::{Answer, CallError, FailureKind};

/// Watches one call: how often it was tried, and the headers of the last answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Overheard(Arc<Mutex<Watched>>);

#[derive(Clone, Debug, Default)]
struct Watched {
    attempts: u32,
    headers: BTreeMap<String, String>,
    skew_seconds: Option<f64>,
}

impl Intercept for Overheard {
    fn name(&self) -> &'static str {
        "dalsegno-watch"
    }

    fn read_before_transmit(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Ok(mut watched) = self.0.lock() {
            watched.attempts += 1;
        }
        Ok(())
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // The edge of the program: the one place where the store's clock is held against ours.
        let now = Timestamp::now();
        let headers: BTreeMap<String, String> = context
            .response()
            .headers()
            .iter_bytes()
            .map(|(name, value)| (name.to_ascii_lowercase(), String::from_utf8_lossy(value).into_owned()))
            .collect();
        if let Ok(mut watched) = self.0.lock() {
            watched.skew_seconds = headers.get("date").and_then(|date| skew(date, now));
            watched.headers = headers;
        }
        Ok(())
    }
}

/// The other clock minus ours. `Date` has whole seconds, so half a second is added to be right on average.
pub(super) fn skew(date: &str, now: Timestamp) -> Option<f64> {
    let theirs = jiff::fmt::rfc2822::parse(date).ok()?.timestamp();
    Some(theirs.duration_since(now).as_secs_f64() + 0.5)
}

impl Overheard {
    fn watched(&self) -> Watched {
        self.0.lock().map(|watched| watched.clone()).unwrap_or_default()
    }

    /// What came with a good answer. `body` = the answer's body was read by the SDK and counts.
    pub(super) fn answer<T>(&self, value: T, body: bool) -> Answer<T> {
        let watched = self.watched();
        let header = |name: &str| watched.headers.get(name).cloned();
        let length = header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        Answer {
            value,
            seen: Seen {
                skew_seconds: watched.skew_seconds,
                server: header("server"),
                region: header("x-amz-bucket-region"),
                request_id: header("x-amz-request-id"),
                attempts: watched.attempts,
                bytes_in: if body { length } else { 0 },
            },
        }
    }

    /// The headers of an object that somebody reads.
    pub(super) fn object_headers(&self) -> BTreeMap<String, String> {
        let mut headers = self.watched().headers;
        headers.retain(|name, _| is_read(name));
        headers
    }

    /// Gives an SDK error its shape.
    #[expect(clippy::needless_pass_by_value, reason = "fits `map_err` at every call; the SDK's error ends here")]
    pub(super) fn failed<E>(&self, error: SdkError<E, HttpResponse>) -> CallError
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let watched = self.watched();
        let shape = match &error {
            SdkError::ServiceError(service) => {
                let meta = service.err().meta();
                let status = service.raw().status().as_u16();
                CallError::answered(status, meta.code().map(str::to_owned), meta.message().unwrap_or_default())
            }
            SdkError::ResponseError(response) => {
                let (kind, words) = read_chain(&error);
                let kind = kind.unwrap_or(FailureKind::Malformed);
                let status = response.raw().status().as_u16();
                CallError::new(kind, words).with(|broken| broken.status = Some(status))
            }
            SdkError::TimeoutError(_) => CallError::new(FailureKind::Timeout, read_chain(&error).1),
            SdkError::DispatchFailure(failure) => {
                let (kind, words) = read_chain(&error);
                let fallback = if failure.is_timeout() { FailureKind::Timeout } else { FailureKind::Reset };
                CallError::new(kind.unwrap_or(fallback), words)
            }
            SdkError::ConstructionFailure(_) => CallError::new(FailureKind::NotSent, read_chain(&error).1),
            _ => CallError::new(FailureKind::Malformed, read_chain(&error).1),
        };
        let header = |name: &str| error.raw_response().and_then(|raw| raw.headers().get(name)).map(str::to_owned);
        shape.with(|broken| {
            broken.retry_after = header("retry-after").and_then(|text| text.trim().parse().ok());
            broken.region = header("x-amz-bucket-region");
            broken.request_id = header("x-amz-request-id");
            broken.skew_seconds = watched.skew_seconds;
            broken.attempts = watched.attempts.max(1);
        })
    }
}

fn is_read(name: &str) -> bool {
    const READ: [&str; 9] = [
        "content-type",
        "content-encoding",
        "x-amz-version-id",
        "x-amz-storage-class",
        "x-amz-restore",
        "x-amz-replication-status",
        "x-amz-delete-marker",
        "x-amz-server-side-encryption",
        "x-amz-checksum-crc32",
    ];
    name.starts_with("x-amz-meta-") || name.starts_with("x-amz-object-lock-") || READ.contains(&name)
}

/// The SDK's moment as ours.
pub(super) fn moment(time: Option<&DateTime>) -> Option<Timestamp> {
    let time = time?;
    Timestamp::new(time.secs(), i32::try_from(time.subsec_nanos()).ok()?).ok()
}

/// An ETag without its quotes.
pub(super) fn etag(text: Option<&str>) -> String {
    text.unwrap_or_default().trim_matches('"').to_owned()
}

/// An ETag as a header wants it.
pub(super) fn quoted(etag: &str) -> String {
    format!("\"{etag}\"")
}

/// Head of an object from the headers that both HEAD and GET have.
pub(super) fn head(watch: &Overheard, size: i64, tag: Option<&str>, modified: Option<&DateTime>) -> WireHead {
    WireHead { size, etag: etag(tag), last_modified: moment(modified), headers: watch.object_headers() }
}

/// Size of the whole object from `Content-Range: bytes 0-39/16777216`.
pub(super) fn whole_size(content_range: Option<&str>) -> Option<i64> {
    content_range?.rsplit_once('/')?.1.trim().parse().ok()
}

/// One lifecycle rule, as far as it matters to a backup.
pub(super) fn lifecycle_rule(rule: &aws_sdk_s3::types::LifecycleRule) -> LifecycleRule {
    let filter = rule.filter();
    let and = filter.and_then(|filter| filter.and());
    #[allow(deprecated, reason = "old rules carry the prefix outside of the filter, and Garage refuses nothing else")]
    let old = rule.prefix();
    let prefix = filter.and_then(|filter| filter.prefix()).or_else(|| and.and_then(|and| and.prefix())).or(old);
    let narrowed = filter.is_some_and(|filter| {
        filter.tag().is_some() || filter.object_size_greater_than().is_some() || filter.object_size_less_than().is_some()
    }) || and.is_some_and(|and| {
        !and.tags().is_empty() || and.object_size_greater_than().is_some() || and.object_size_less_than().is_some()
    });
    let transition = rule.transitions().iter().find_map(|transition| {
        let class = transition.storage_class().map_or_else(String::new, |class| class.as_str().to_owned());
        transition.days().or_else(|| transition.date().map(|_| 0)).map(|days| (days, class))
    });
    LifecycleRule {
        id: rule.id().unwrap_or_default().to_owned(),
        enabled: rule.status().as_str() == "Enabled",
        prefix: prefix.unwrap_or_default().to_owned(),
        // A fixed date counts as "from day 0": what matters is that objects expire at all.
        expire_days: rule.expiration().and_then(|end| end.days().or_else(|| end.date().map(|_| 0))),
        noncurrent_days: rule
            .noncurrent_version_expiration()
            .and_then(aws_sdk_s3::types::NoncurrentVersionExpiration::noncurrent_days),
        abort_multipart_days: rule
            .abort_incomplete_multipart_upload()
            .and_then(aws_sdk_s3::types::AbortIncompleteMultipartUpload::days_after_initiation),
        transition,
        narrowed,
    }
}
