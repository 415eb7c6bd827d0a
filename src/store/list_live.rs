//! ListObjectsV2 on the wire, signed with aws-sigv4 and read by [`super::list_page`].
//!
//! Why not the SDK: it reads about 50,000 keys a second on one core where the server gives 200,000, and takes half a page for a
//! whole one. Signing, retries and trust are the same.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use aws_sdk_s3::config::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningParams, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_smithy_runtime_api::client::identity::Identity;
use backon::{BackoffBuilder, ExponentialBuilder};
use jiff::Timestamp;

use super::StoreConfig;
use super::list_page::{Body, ErrorBody, read};
use super::s3_wire::skew;
use crate::tap::failure::read_chain;
use crate::tap::objects::{ListAsk, ListPage, Seen};
use crate::tap::tls::{Trust, client_config};
use crate::tap::{Answer, CallError, FailureKind};

/// A page has at most 1,000 keys of 1,024 bytes, three times as long when encoded; what is larger is no listing.
const LARGEST_PAGE: usize = 32 << 20;
/// From this on the clock is corrected, as the SDK does.
const SKEW_WORTH_CORRECTING: f64 = 240.0;

/// While nothing was ever answered, no further attempt begins after so long: the store is most likely not there.
const UNANSWERED: Duration = Duration::from_secs(15);

/// The client.
#[derive(Debug)]
pub(super) struct ListClient {
    http: reqwest::Client,
    base: String,
    region: String,
    identity: Identity,
    attempts: u32,
    /// Seconds to add to our clock when signing, learnt from the store.
    offset: AtomicI64,
    /// Whether anything was ever answered.
    answered: AtomicBool,
}

impl ListClient {
    pub(super) fn new(config: &StoreConfig, credentials: Credentials) -> Result<Self, CallError> {
        let broken = |error: reqwest::Error| CallError::new(FailureKind::NotSent, read_chain(&error).1);
        let builder = reqwest::Client::builder()
            .user_agent(concat!("dalsegno/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(config.connect_timeout)
            .read_timeout(config.read_timeout);
        let trust = match &config.ca_pem {
            _ if !config.endpoint.starts_with("https") => Trust::Nobody,
            Some(pem) => Trust::Also(pem),
            None => Trust::System,
        };
        let builder = builder.tls_backend_preconfigured(client_config(trust)?);
        Ok(Self {
            http: builder.build().map_err(broken)?,
            base: format!("{}/{}", config.endpoint.trim_end_matches('/'), encode(&config.bucket)),
            region: config.region.clone(),
            identity: credentials.into(),
            attempts: config.attempts.max(1),
            offset: AtomicI64::new(0),
            answered: AtomicBool::new(false),
        })
    }

    /// One page; tries again where that may help.
    pub(super) async fn page(&self, ask: &ListAsk) -> Result<Answer<ListPage>, CallError> {
        let url = self.url(ask);
        let backoff = ExponentialBuilder::new()
            .with_min_delay(Duration::from_secs(1))
            .with_max_delay(Duration::from_secs(20))
            .with_jitter()
            .with_max_times(usize::try_from(self.attempts.saturating_sub(1)).unwrap_or_default());
        let mut waits = backoff.build();
        let mut attempts = 0;
        let began = Instant::now();
        loop {
            attempts += 1;
            let mut error = match self.once(&url).await {
                Ok((value, seen)) => return Ok(Answer { value, seen: Seen { attempts, ..seen } }),
                Err(error) => error,
            };
            error.attempts = attempts;
            let wait = waits.next();
            if self.corrected(&error) && attempts < 2 + self.attempts {
                continue;
            }
            let given_up = |wait: Duration| !self.answered.load(Ordering::Relaxed) && began.elapsed() + wait > UNANSWERED;
            match wait.filter(|wait| may_pass(&error) && !given_up(*wait)) {
                Some(wait) => tokio::time::sleep(wait.max(Duration::from_secs(error.retry_after.unwrap_or(0).min(20)))).await,
                None => return Err(error),
            }
        }
    }

    fn url(&self, ask: &ListAsk) -> String {
        let mut query = vec![("list-type", "2".to_owned()), ("encoding-type", "url".to_owned()), ("prefix", ask.prefix.clone())];
        let mut add = |name, value: &Option<String>| query.extend(value.iter().map(|value| (name, value.clone())));
        add("continuation-token", &ask.token);
        add("delimiter", &ask.delimiter);
        add("max-keys", &ask.max_keys.map(|count| count.to_string()));
        if ask.token.is_none() {
            add("start-after", &ask.start_after);
        }
        query.sort_unstable();
        let pairs: Vec<String> = query.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        format!("{}?{}", self.base, pairs.join("&"))
    }

    /// Whether the store refused our clock and told its own, so that the next signature will do.
    fn corrected(&self, error: &CallError) -> bool {
        let Some(skew) = error.skew_seconds else { return false };
        let refused = error.has_code("RequestTimeTooSkewed");
        #[expect(clippy::cast_possible_truncation, reason = "seconds between two clocks")]
        let offset = skew as i64;
        refused && skew.abs() > SKEW_WORTH_CORRECTING && self.offset.swap(offset, Ordering::Relaxed).abs_diff(offset) > 60
    }

    async fn once(&self, url: &str) -> Result<(ListPage, Seen), CallError> {
        let request = self.signed(url)?;
        let mut response = self.http.execute(request).await.map_err(broken)?;
        self.answered.store(true, Ordering::Relaxed);
        let status = response.status().as_u16();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let seen = Seen {
            skew_seconds: header("date").and_then(|date| skew(&date, Timestamp::now())),
            server: header("server"),
            region: header("x-amz-bucket-region"),
            request_id: header("x-amz-request-id"),
            attempts: 1,
            bytes_in: 0,
        };
        let retry_after = header("retry-after").and_then(|text| text.trim().parse().ok());
        let body = whole(&mut response).await?;
        let seen = Seen { bytes_in: body.len() as u64, ..seen };
        match read(&body) {
            Ok(Body::Page(page)) if status == 200 => Ok((page, seen)),
            Ok(Body::Error(error)) => Err(answered(status, error, &seen, retry_after)),
            Err(why) if status == 200 => {
                Err(CallError::new(FailureKind::Malformed, why).with(|broken| broken.skew_seconds = seen.skew_seconds))
            }
            Ok(Body::Page(_)) | Err(_) => Err(answered(status, ErrorBody::default(), &seen, retry_after)),
        }
    }

    fn signed(&self, url: &str) -> Result<reqwest::Request, CallError> {
        let not_sent = |error: &(dyn std::error::Error + 'static)| CallError::new(FailureKind::NotSent, read_chain(error).1);
        let request = self.http.get(url).build().map_err(|error| not_sent(&error))?;
        let mut settings = SigningSettings::default();
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        let params: SigningParams<'_> = aws_sigv4::sign::v4::SigningParams::builder()
            .identity(&self.identity)
            .region(&self.region)
            .name("s3")
            .time(self.now())
            .settings(settings)
            .build()
            .map_err(|error| not_sent(&error))?
            .into();
        let signable = SignableRequest::new("GET", request.url().as_str(), std::iter::empty(), SignableBody::Bytes(&[]));
        let signable = signable.map_err(|error| not_sent(&error))?;
        let (instructions, _) = sign(signable, &params).map_err(|error| not_sent(&error))?.into_parts();
        let mut request = request;
        for (name, value) in instructions.headers() {
            let name = reqwest::header::HeaderName::from_bytes(name.as_bytes()).map_err(|error| not_sent(&error))?;
            let mut value = reqwest::header::HeaderValue::from_str(value).map_err(|error| not_sent(&error))?;
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
        Ok(request)
    }

    /// The edge of the program: signatures carry the real time, corrected by what the store told.
    fn now(&self) -> SystemTime {
        let offset = self.offset.load(Ordering::Relaxed);
        let by = Duration::from_secs(offset.unsigned_abs());
        if offset < 0 { SystemTime::now() - by } else { SystemTime::now() + by }
    }
}

async fn whole(response: &mut reqwest::Response) -> Result<Vec<u8>, CallError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(cut)? {
        if body.len() + chunk.len() > LARGEST_PAGE {
            return Err(CallError::new(FailureKind::Malformed, format!("a page of more than {LARGEST_PAGE} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn answered(status: u16, error: ErrorBody, seen: &Seen, retry_after: Option<u64>) -> CallError {
    CallError::answered(status, error.code, error.message).with(|broken| {
        broken.retry_after = retry_after;
        broken.region = seen.region.clone().or(error.region);
        broken.skew_seconds = seen.skew_seconds;
        broken.request_id = error.request_id.or_else(|| seen.request_id.clone());
    })
}

fn broken(error: reqwest::Error) -> CallError {
    let timeout = error.is_timeout();
    let (kind, words) = read_chain(&error.without_url());
    CallError::new(kind.unwrap_or(if timeout { FailureKind::Timeout } else { FailureKind::Reset }), words)
}

fn cut(error: reqwest::Error) -> CallError {
    let timeout = error.is_timeout();
    let words = read_chain(&error.without_url()).1;
    CallError::new(if timeout { FailureKind::Timeout } else { FailureKind::Cut }, words)
}

/// What the SDK retries as well.
fn may_pass(error: &CallError) -> bool {
    match error.kind {
        FailureKind::Refused | FailureKind::Reset | FailureKind::Timeout | FailureKind::Cut => true,
        FailureKind::Answered => {
            matches!(error.status, Some(429 | 500 | 502 | 503 | 504))
                || error.code.as_deref().is_some_and(|code| code.starts_with("SlowDown") || code == "RequestTimeout")
        }
        _ => false,
    }
}

/// RFC 3986: everything but the unreserved characters.
fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
