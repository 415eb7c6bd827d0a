//! What Cloudflare R2 refuses and the server behind the gateway would take.

use axum::body::Body;
use axum::http::Response;
use jiff::{SignedDuration, Timestamp};

use super::Memory;
use super::answers::error;
use super::rules::Seen;

/// The refusal, or none; sizes of parts and times of writes are remembered on the way.
pub(super) fn refuse(memory: &mut Memory, seen: &Seen, now: Timestamp) -> Option<Response<Body>> {
    region(memory.rules.only_auto, seen)
        .or_else(|| headers(memory.rules.no_checksums, seen))
        .or_else(|| features(seen))
        .or_else(|| parts(memory, seen))
        .or_else(|| rate(memory, seen, now))
}

/// `auto`, empty and `us-east-1` are taken; a mode takes only `auto`.
fn region(only_auto: bool, seen: &Seen) -> Option<Response<Body>> {
    let region = seen.scope()?.region;
    let fine = region == "auto" || (!only_auto && (region.is_empty() || region == "us-east-1"));
    let message = format!("The region name '{region}' is not valid. Must be one of: wnam, enam, weur, eeur, apac, auto");
    (!fine).then(|| error(400, "InvalidRegionName", &message, seen))
}

fn headers(no_checksums: bool, seen: &Seen) -> Option<Response<Body>> {
    let payload = seen.header("x-amz-content-sha256");
    if payload.starts_with("STREAMING-") {
        return Some(error(501, "NotImplemented", &format!("{payload} not implemented"), seen));
    }
    for name in [
        "x-amz-tagging",
        "x-amz-acl",
        "x-amz-server-side-encryption",
        "x-amz-server-side-encryption-aws-kms-key-id",
        "x-amz-expected-bucket-owner",
    ] {
        if seen.headers.contains_key(name) {
            return Some(error(
                501,
                "NotImplemented",
                &format!("Header '{name}' with value '{}' not implemented", seen.header(name)),
                seen,
            ));
        }
    }
    if seen.method != "PUT" {
        return None;
    }
    let checksums: Vec<&str> = seen.headers.keys().map(axum::http::HeaderName::as_str).filter(|name| is_checksum(name)).collect();
    if checksums.len() > 1 {
        return Some(error(400, "InvalidRequest", "You can only specify one non-default checksum at a time.", seen));
    }
    let named = checksums
        .first()
        .copied()
        .or_else(|| seen.headers.contains_key("x-amz-sdk-checksum-algorithm").then_some("x-amz-sdk-checksum-algorithm"));
    match named {
        Some(name) if no_checksums => Some(error(400, "InvalidArgument", &format!("Header '{name}' is not supported"), seen)),
        _ => None,
    }
}

fn is_checksum(name: &str) -> bool {
    name.starts_with("x-amz-checksum-")
        && !matches!(name, "x-amz-checksum-mode" | "x-amz-checksum-type" | "x-amz-checksum-algorithm")
}

/// Versioning, S3 object lock, tags, ACLs, policies, notifications, replication: 501.
fn features(seen: &Seen) -> Option<Response<Body>> {
    const ABSENT: [&str; 11] = [
        "versioning",
        "versions",
        "object-lock",
        "retention",
        "legal-hold",
        "tagging",
        "acl",
        "policy",
        "notification",
        "replication",
        "website",
    ];
    let feature = ABSENT.iter().find(|name| seen.parameter(name).is_some())?;
    Some(error(501, "NotImplemented", &format!("{feature} not implemented"), seen))
}

/// All parts but the last of equal size, judged when the upload is completed.
fn parts(memory: &mut Memory, seen: &Seen) -> Option<Response<Body>> {
    let upload = seen.parameter("uploadId")?.to_owned();
    match seen.method.as_str() {
        "PUT" => {
            let number = seen.parameter("partNumber")?.parse().ok()?;
            let size = seen.header("content-length").parse().ok()?;
            let sizes = memory.parts.entry(upload).or_default();
            sizes.retain(|(n, _)| *n != number);
            sizes.push((number, size));
            None
        }
        "POST" => {
            let mut sizes = memory.parts.remove(&upload)?;
            sizes.sort_unstable();
            sizes.pop();
            let first = sizes.first()?.1;
            let equal = sizes.iter().all(|(_, size)| *size == first);
            (!equal).then(|| error(400, "InvalidPart", "All non-trailing parts must have the same length.", seen))
        }
        _ => {
            memory.parts.remove(&upload);
            None
        }
    }
}

/// One write per second and key: 429.
fn rate(memory: &mut Memory, seen: &Seen, now: Timestamp) -> Option<Response<Body>> {
    let writes = seen.method == "PUT" && !seen.key.is_empty() && seen.parameter("uploadId").is_none();
    if !memory.rules.one_write_a_second || !writes {
        return None;
    }
    let name = format!("{}/{}", seen.bucket, seen.key);
    let last = memory.writes.insert(name, now);
    let early = last.is_some_and(|last| now.duration_since(last) < SignedDuration::from_secs(1));
    early.then(|| error(429, "TooManyRequests", "Reduce your concurrent request rate for the same object.", seen))
}
