//! The words of [`StoreError`]: one text, one hint, one code for each kind.

use super::StoreError as E;
use super::error::At;
use crate::domain::{bytes_in_words, duration_in_words};

/// What happened, with both sides of a mismatch.
pub(super) fn text(error: &E) -> String {
    let place = error.at().place();
    let said = said(error.at());
    match error {
        E::NoSuchKey { .. } => format!("{place}: there is no such object"),
        E::NoSuchBucket { at } => format!("{place}: there is no bucket \"{}\" at {}", at.bucket, at.endpoint),
        E::NoSuchUpload { .. } => format!("{place}: there is no such upload"),
        E::NotSet { .. } => format!("{place}: not set on this bucket"),
        E::AccessDenied { .. } => format!("{place}: the access key is known and may not do this{said}"),
        E::Auth { code, .. } => format!("{place}: the store does not accept our keys ({code}){said}"),
        E::Region { at, wanted: Some(wanted) } => {
            format!("{place}: we sign with region \"{}\", the store wants \"{wanted}\"", at.region)
        }
        E::Region { at, wanted: None } => {
            format!("{place}: the store does not accept the region \"{}\" that we sign with{said}", at.region)
        }
        E::ClockSkew { seconds: Some(seconds), .. } => {
            let side = if *seconds < 0.0 { "ahead of" } else { "behind" };
            format!("{place}: our clock is {} {side} the store's, it accepts 15 min", duration_in_words(seconds.abs()))
        }
        E::ClockSkew { seconds: None, .. } => format!("{place}: our clock and the store's differ by more than 15 min{said}"),
        E::Dns { at } => format!("{place}: the name in {} does not resolve{said}", at.endpoint),
        E::Tls { at } => format!("{place}: TLS with {} failed{said}", at.endpoint),
        E::Refused { at } => format!("{place}: no connection to {}{said}", at.endpoint),
        E::Timeout { at } => format!("{place}: no answer from {} in time{said}", at.endpoint),
        E::Throttled { status, retry_after: Some(wait), .. } => {
            format!("{place}: the store is overloaded or limits us ({status}), it asks to wait {wait} s{said}")
        }
        E::Throttled { status, .. } => format!("{place}: the store is overloaded or limits us ({status}){said}"),
        E::Server { status, code: Some(code), .. } => format!("{place}: the store answered {status} {code}{said}"),
        E::Server { status, .. } => format!("{place}: the store answered {status}{said}"),
        E::NotImplemented { .. } => format!("{place}: the store does not have this call{said}"),
        E::PreconditionFailed { .. } => format!("{place}: the object is not in the state that the request demands{said}"),
        E::RangeOutside { .. } => format!("{place}: the range lies behind the object's end"),
        E::TooLarge { size, cap, .. } => {
            format!("{place}: {} large, at most {} are read into memory", bytes_in_words(*size), bytes_in_words(*cap))
        }
        E::Truncated { got, promised, .. } => format!("{place}: the body ended after {got} of {promised} bytes"),
        E::Cut { got, promised: 0, .. } => format!("{place}: the answer broke off after {got} bytes{said}"),
        E::Cut { got, promised, .. } => format!("{place}: the body broke off after {got} of {promised} bytes{said}"),
        E::Malformed { at } => format!("{place}: {}", at.detail),
        E::NotRecorded { .. } => format!("{place}: not recorded{said}"),
        E::Config { .. } => format!("{place}: the request could not be made{said}"),
        E::Guard { at, .. } => format!("{place}: refused by dalsegno itself: {}", at.detail),
    }
}

/// What the other side said, if anything.
fn said(at: &At) -> String {
    let mut text = String::new();
    if !at.detail.is_empty() {
        text.push_str(": ");
        text.push_str(&super::keys::printable(&at.detail));
    }
    if let Some(id) = &at.request_id {
        text.push_str(" (request ");
        text.push_str(&super::keys::printable(id));
        text.push(')');
    }
    text
}

/// What to run or change.
pub(super) fn hint(error: &E) -> String {
    let at = error.at();
    let (store, bucket, endpoint) = (&at.store, &at.bucket, &at.endpoint);
    let probe = format!("dalsegno probe {store}");
    match error {
        E::NoSuchKey { .. } => "look what is there: dalsegno archive list".to_owned(),
        E::NoSuchBucket { .. } => format!("check `bucket` of store {store}; dalsegno never makes a bucket"),
        E::NoSuchUpload { .. } => "the upload was completed, aborted or cleaned up by the store; start it again".to_owned(),
        E::NotSet { .. } => "nothing to do unless you want the setting".to_owned(),
        E::AccessDenied { at } => format!("grant {} on bucket {bucket} to this access key, then: {probe}", s3_action(at.verb)),
        E::Auth { code, .. } if code == "SignatureDoesNotMatch" => format!(
            "the secret does not belong to the access key id: check both (a trailing newline in a file? keys of another account?), then: {probe}"
        ),
        E::Auth { code, .. } if code.contains("Token") => {
            format!("the session token is wrong or expired: make a new one, then: {probe}")
        }
        E::Auth { .. } => format!("check access-key-id and secret-access-key of store {store} at {endpoint}, then: {probe}"),
        E::Region { wanted: Some(wanted), .. } => format!("set `region: {wanted}` for store {store}, then: {probe}"),
        E::Region { .. } => {
            format!("set `region` of store {store} (R2: auto; Garage: its s3_region; AWS: the bucket's), then: {probe}")
        }
        E::ClockSkew { .. } => "set this machine's clock: timedatectl set-ntp true".to_owned(),
        E::Dns { .. } => format!("check the host in `endpoint: {endpoint}` and this machine's resolver"),
        E::Tls { at } if speaks_no_tls(&at.detail) => plain_endpoint(endpoint),
        E::Tls { .. } => format!("a private CA? set `ca:` of store {store}; see the chain with: {probe}"),
        E::Refused { .. } => format!("check host, port and scheme of `endpoint: {endpoint}`, and that the store runs"),
        E::Timeout { .. } => format!("check the network to {endpoint} (a firewall that drops? a proxy?), then: {probe}"),
        E::Throttled { .. } => {
            "wait, or ask less often: requests-per-day of the store; other clients may be using it up".to_owned()
        }
        E::Server { status: 507, .. } => "the store is full: make room or raise its quota".to_owned(),
        E::Server { status, .. } if *status >= 500 => {
            "the fault is on the store's side: look into its log for the request id".to_owned()
        }
        E::Server { .. } => format!("look closer with: {probe}"),
        E::NotImplemented { .. } => format!("see what this store can do with: {probe}"),
        E::PreconditionFailed { .. } => "somebody changed the object meanwhile; start again".to_owned(),
        E::RangeOutside { .. } => "the object is shorter than expected: look whether it was replaced".to_owned(),
        E::TooLarge { .. } => "the object is not what its name says, or is not meant to be read as a whole".to_owned(),
        E::Truncated { .. } | E::Cut { .. } => format!("try again; if it stays, check proxies and the store behind {endpoint}"),
        E::Malformed { .. } => format!("is {endpoint} really an S3 endpoint (not its console, not a proxy's page)? try: {probe}"),
        E::NotRecorded { .. } => "record it anew with: dalsegno check --record DIR".to_owned(),
        E::Config { .. } => format!("check endpoint and ca of store {store}: dalsegno config check"),
        E::Guard { hint, .. } => hint.clone(),
    }
}

/// Whether the other side answered a TLS greeting with something else, in the words of rustls: most likely it speaks plain http.
pub(super) fn speaks_no_tls(detail: &str) -> bool {
    ["corrupt message", "InvalidContentType", "InvalidMessage"].iter().any(|words| detail.contains(words))
}

/// What to do then.
pub(super) fn plain_endpoint(endpoint: &str) -> String {
    let host = endpoint.trim_start_matches("https://");
    format!("does this port speak plain http? then write endpoint: http://{host}; else check the port")
}

/// Stable words for machines.
pub(super) const fn code(error: &E) -> &'static str {
    match error {
        E::NoSuchKey { .. } => "store-no-such-key",
        E::NoSuchBucket { .. } => "store-no-such-bucket",
        E::NoSuchUpload { .. } => "store-no-such-upload",
        E::NotSet { .. } => "store-setting-absent",
        E::AccessDenied { .. } => "store-access-denied",
        E::Auth { .. } => "store-keys-refused",
        E::Region { .. } => "store-wrong-region",
        E::ClockSkew { .. } => "store-clock-skew",
        E::Dns { .. } => "store-name-unresolved",
        E::Tls { .. } => "store-tls-failed",
        E::Refused { .. } => "store-unreachable",
        E::Timeout { .. } => "store-timeout",
        E::Throttled { .. } => "store-throttled",
        E::Server { .. } => "store-error-answer",
        E::NotImplemented { .. } => "store-not-implemented",
        E::PreconditionFailed { .. } => "store-precondition-failed",
        E::RangeOutside { .. } => "store-range-outside",
        E::TooLarge { .. } => "store-object-too-large",
        E::Truncated { .. } => "store-body-truncated",
        E::Cut { .. } => "store-body-cut",
        E::Malformed { .. } => "store-answer-malformed",
        E::NotRecorded { .. } => "not-recorded",
        E::Config { .. } => "store-not-askable",
        E::Guard { .. } => "store-write-refused",
    }
}

/// The name of the right that a call needs, in the words of S3 policies.
fn s3_action(verb: &str) -> &'static str {
    match verb {
        "ListObjectsV2" | "HeadBucket" => "s3:ListBucket",
        "ListMultipartUploads" => "s3:ListBucketMultipartUploads",
        "ListObjectVersions" => "s3:ListBucketVersions",
        "GetObject" | "HeadObject" => "s3:GetObject (and s3:ListBucket, or a missing object looks like a denied one)",
        "DeleteObject" => "s3:DeleteObject",
        "AbortMultipartUpload" => "s3:AbortMultipartUpload",
        "GetBucketVersioning" => "s3:GetBucketVersioning",
        "GetObjectLockConfiguration" => "s3:GetBucketObjectLockConfiguration",
        "GetBucketLifecycleConfiguration" => "s3:GetLifecycleConfiguration",
        _ => "s3:PutObject",
    }
}
