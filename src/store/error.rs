//! What can go wrong with a store, each kind with its own words and its own hint.
//!
//! Which code means what: s3-dialects of AWS, MinIO, Cloudflare R2, Ceph and Garage.
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html>, <https://developers.cloudflare.com/r2/api/error-codes/>

use super::error_words;
use super::keys::printable;
use crate::domain::{Denied, Exit, ExitCode, Explained};
use crate::tap::{CallError, FailureKind};

/// A clock that is off by more than this is refused by S3.
pub const SKEW_LIMIT_SECONDS: f64 = 900.0;

/// Where it happened: both what was asked, and of whom.
#[derive(Clone, Debug, PartialEq)]
pub struct At {
    /// The store's name.
    pub store: String,
    /// Its endpoint.
    pub endpoint: String,
    /// Its bucket.
    pub bucket: String,
    /// The region we sign with.
    pub region: String,
    /// The call: `ListObjectsV2`.
    pub verb: &'static str,
    /// Key or prefix; may be empty.
    pub key: String,
    /// What the store, or the connection, said.
    pub detail: String,
    /// The store's own code.
    pub code: Option<String>,
    /// The store's id of the request.
    pub request_id: Option<String>,
}

impl At {
    /// An answer that makes no sense.
    pub fn malformed(&self, detail: impl Into<String>) -> StoreError {
        StoreError::Malformed { at: Box::new(Self { detail: detail.into(), ..self.clone() }) }
    }

    /// `minio: GetObject of dr-backups/cnpg/base/x`.
    pub(super) fn place(&self) -> String {
        let slash = if self.key.is_empty() { "" } else { "/" };
        format!("{}: {} on {}{slash}{}", self.store, self.verb, self.bucket, printable(&self.key))
    }
}

/// Why a store did not give what was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[error("{}", error_words::text(self))]
#[allow(missing_docs, reason = "the field `at` is where it happened, in every variant")]
pub enum StoreError {
    /// There is no such object.
    NoSuchKey { at: Box<At> },
    /// There is no such bucket.
    NoSuchBucket { at: Box<At> },
    /// There is no such multipart upload. To a made-up id it means: the key may write.
    NoSuchUpload { at: Box<At> },
    /// The setting is not set on this bucket.
    NotSet { at: Box<At> },
    /// The key may not make this call here.
    AccessDenied { at: Box<At> },
    /// The keys themselves are wrong, expired or unknown.
    Auth { at: Box<At>, code: String },
    /// The region that we sign with is not the one that the store wants.
    Region { at: Box<At>, wanted: Option<String> },
    /// Our clock and the store's differ too much; seconds that the store is ahead, when it told.
    ClockSkew { at: Box<At>, seconds: Option<f64> },
    /// The name does not resolve.
    Dns { at: Box<At> },
    /// TLS failed.
    Tls { at: Box<At> },
    /// Nobody listens, or the connection was cut before an answer came.
    Refused { at: Box<At> },
    /// No answer in time.
    Timeout { at: Box<At> },
    /// The store asks us to slow down.
    Throttled { at: Box<At>, status: u16, retry_after: Option<u64> },
    /// The store answered with an error that has no kind of its own here.
    Server { at: Box<At>, status: u16, code: Option<String> },
    /// The store does not have this call, or not this header.
    NotImplemented { at: Box<At> },
    /// A condition was not met: the object changed, or is there already.
    PreconditionFailed { at: Box<At> },
    /// The range lies behind the end.
    RangeOutside { at: Box<At> },
    /// The object is larger than what we take into memory.
    TooLarge { at: Box<At>, size: u64, cap: u64 },
    /// The body ended early, and the store thought that this was all.
    Truncated { at: Box<At>, got: u64, promised: u64 },
    /// The body broke off.
    Cut { at: Box<At>, got: u64, promised: u64 },
    /// The answer makes no sense.
    Malformed { at: Box<At> },
    /// The replay has no answer for this.
    NotRecorded { at: Box<At> },
    /// The request could not be made: a bad endpoint, a bad certificate file.
    Config { at: Box<At> },
    /// We refuse to write there.
    Guard { at: Box<At>, hint: String },
}

impl StoreError {
    /// Gives a failed call its meaning.
    pub fn of(error: &CallError, at: &At) -> Self {
        let skew = error.skew_seconds;
        let at = Box::new(At {
            detail: error.detail.clone(),
            code: error.code.clone(),
            request_id: error.request_id.clone(),
            ..at.clone()
        });
        match error.kind {
            FailureKind::Answered => Self::of_answer(error, at, skew),
            FailureKind::Dns => Self::Dns { at },
            FailureKind::Tls => Self::Tls { at },
            FailureKind::Refused | FailureKind::Reset => Self::Refused { at },
            FailureKind::Timeout => Self::Timeout { at },
            FailureKind::Cut => Self::Cut { at, got: 0, promised: 0 },
            FailureKind::Malformed => Self::Malformed { at },
            FailureKind::NotSent => Self::Config { at },
            FailureKind::NotRecorded => Self::NotRecorded { at },
        }
    }

    /// Gives a failure inside a body its meaning.
    pub(super) fn of_body(error: &CallError, at: &At, got: u64, promised: u64) -> Self {
        match error.kind {
            FailureKind::Reset | FailureKind::Cut | FailureKind::Refused | FailureKind::Malformed => {
                Self::Cut { at: Box::new(At { detail: error.detail.clone(), ..at.clone() }), got, promised }
            }
            _ => Self::of(error, at),
        }
    }

    fn of_answer(error: &CallError, at: Box<At>, skew: Option<f64>) -> Self {
        let status = error.status.unwrap_or_default();
        let code = error.code.clone().unwrap_or_default();
        match code.as_str() {
            "NoSuchKey" => return Self::NoSuchKey { at },
            "NoSuchBucket" => return Self::NoSuchBucket { at },
            "NoSuchUpload" => return Self::NoSuchUpload { at },
            "NoSuchLifecycleConfiguration"
            | "ObjectLockConfigurationNotFoundError"
            | "ReplicationConfigurationNotFoundError"
            | "NoSuchBucketPolicy" => return Self::NotSet { at },
            "RequestTimeTooSkewed" | "RequestExpired" => return Self::ClockSkew { at, seconds: skew },
            "InvalidAccessKeyId"
            | "SignatureDoesNotMatch"
            | "InvalidToken"
            | "ExpiredToken"
            | "TokenRefreshRequired"
            | "InvalidSecurity"
            | "Unauthorized"
            | "InvalidArgumentSessionToken" => return Self::Auth { at, code },
            "PermanentRedirect" | "TemporaryRedirect" | "InvalidRegionName" | "IllegalLocationConstraintException" => {
                return Self::Region { at, wanted: error.region.clone() };
            }
            "AuthorizationHeaderMalformed" => {
                let wanted = error.region.clone().or_else(|| region_in(&at.detail));
                return if wanted.is_some() || at.detail.to_ascii_lowercase().contains("region") {
                    Self::Region { at, wanted }
                } else {
                    Self::Auth { at, code }
                };
            }
            "InvalidRange" => return Self::RangeOutside { at },
            "PreconditionFailed" => return Self::PreconditionFailed { at },
            "NotImplemented" | "MethodNotAllowed" => return Self::NotImplemented { at },
            "TooManyRequests" | "ServerBusy" | "ErrTooManyRequest" | "RequestLimitExceeded" => {
                return Self::Throttled { at, status, retry_after: error.retry_after };
            }
            _ if code.starts_with("SlowDown") => return Self::Throttled { at, status, retry_after: error.retry_after },
            _ => {}
        }
        Self::of_status(status, error, at, skew)
    }

    /// HEAD answers carry no code, and some proxies none at all: then only the status tells.
    fn of_status(status: u16, error: &CallError, at: Box<At>, skew: Option<f64>) -> Self {
        match status {
            301 | 307 => Self::Region { at, wanted: error.region.clone() },
            400 if error.region.as_ref().is_some_and(|region| *region != at.region) && error.code.is_none() => {
                Self::Region { at, wanted: error.region.clone() }
            }
            401 => Self::Auth { at, code: error.code.clone().unwrap_or_else(|| "401".to_owned()) },
            403 if error.code.is_none() && skew.is_some_and(|seconds| seconds.abs() > SKEW_LIMIT_SECONDS) => {
                Self::ClockSkew { at, seconds: skew }
            }
            403 => Self::AccessDenied { at },
            404 if at.verb == "HeadBucket" => Self::NoSuchBucket { at },
            404 if at.key.is_empty() => Self::Server { at, status, code: error.code.clone() },
            404 => Self::NoSuchKey { at },
            412 => Self::PreconditionFailed { at },
            416 => Self::RangeOutside { at },
            405 | 501 => Self::NotImplemented { at },
            429 => Self::Throttled { at, status, retry_after: error.retry_after },
            503 if error.code.as_deref().is_none_or(|code| code == "ServiceUnavailable") => {
                Self::Throttled { at, status, retry_after: error.retry_after }
            }
            _ => Self::Server { at, status, code: error.code.clone() },
        }
    }

    /// Where it happened.
    pub fn at(&self) -> &At {
        match self {
            Self::NoSuchKey { at }
            | Self::NoSuchBucket { at }
            | Self::NoSuchUpload { at }
            | Self::NotSet { at }
            | Self::AccessDenied { at }
            | Self::Auth { at, .. }
            | Self::Region { at, .. }
            | Self::ClockSkew { at, .. }
            | Self::Dns { at }
            | Self::Tls { at }
            | Self::Refused { at }
            | Self::Timeout { at }
            | Self::Throttled { at, .. }
            | Self::Server { at, .. }
            | Self::NotImplemented { at }
            | Self::PreconditionFailed { at }
            | Self::RangeOutside { at }
            | Self::TooLarge { at, .. }
            | Self::Truncated { at, .. }
            | Self::Cut { at, .. }
            | Self::Malformed { at }
            | Self::NotRecorded { at }
            | Self::Config { at }
            | Self::Guard { at, .. } => at,
        }
    }

    /// The gap that it leaves, and the store's own code.
    pub fn denied(&self) -> (Denied, Option<String>) {
        let at = self.at();
        let verb = || at.verb.to_owned();
        let why = match self {
            Self::AccessDenied { .. } | Self::Auth { .. } | Self::ClockSkew { .. } | Self::Region { .. } => {
                Denied::Denied { verb: verb() }
            }
            Self::NotImplemented { .. } | Self::NotSet { .. } => Denied::AbsentApi,
            Self::Timeout { .. } => Denied::Timeout,
            Self::Tls { .. } => Denied::Tls,
            Self::Dns { .. } => Denied::Dns,
            Self::Refused { .. } => Denied::Refused,
            Self::Malformed { .. } | Self::RangeOutside { .. } | Self::PreconditionFailed { .. } => Denied::Malformed,
            Self::Truncated { .. } | Self::Cut { .. } => Denied::Truncated,
            Self::NotRecorded { .. } | Self::Config { .. } | Self::Guard { .. } | Self::TooLarge { .. } => Denied::NotAsked,
            Self::NoSuchKey { .. }
            | Self::NoSuchBucket { .. }
            | Self::NoSuchUpload { .. }
            | Self::Throttled { .. }
            | Self::Server { .. } => Denied::Broken,
        };
        (why, at.code.clone().or_else(|| self.own_code()))
    }

    /// The code for answers that carried none, such as HEAD.
    fn own_code(&self) -> Option<String> {
        let code = match self {
            Self::NoSuchKey { .. } => "NoSuchKey",
            Self::NoSuchBucket { .. } => "NoSuchBucket",
            Self::AccessDenied { .. } => "AccessDenied",
            Self::ClockSkew { .. } => "RequestTimeTooSkewed",
            Self::Throttled { .. } => "SlowDown",
            Self::Region { .. } => "AuthorizationHeaderMalformed",
            _ => return None,
        };
        Some(code.to_owned())
    }

    /// Whether the same question may be answered a little later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Timeout { .. } | Self::Refused { .. } | Self::Throttled { .. } | Self::Truncated { .. } | Self::Cut { .. } => {
                true
            }
            Self::Server { status, code, .. } => {
                *status >= 500 && *status != 507
                    || matches!(code.as_deref(), Some("ConditionalRequestConflict" | "RequestTimeout" | "OperationAborted"))
            }
            _ => false,
        }
    }
}

/// `the region 'us-east-1' is wrong; expecting 'eu-west-1'` names the region last.
fn region_in(message: &str) -> Option<String> {
    let (_, behind) = message.rsplit_once("expecting")?;
    let text: String = behind
        .chars()
        .skip_while(|c| !c.is_ascii_alphanumeric())
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_')
        .collect();
    (!text.is_empty()).then_some(text)
}

impl Explained for StoreError {
    fn code(&self) -> &'static str {
        error_words::code(self)
    }

    fn hint(&self) -> Option<String> {
        Some(error_words::hint(self))
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Guard { .. } | Self::Config { .. } => ExitCode::Usage,
            _ => ExitCode::CouldNotLook,
        }
    }
}
