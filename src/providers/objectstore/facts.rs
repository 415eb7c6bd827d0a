//! What a store answered, in our words.

use super::client::Look;
use super::config::StoreSettings;
use crate::domain::{
    CertificateSeen, Denied, Explained, FactKind, Gap, Prefix, Right, Rights, Setting, StoreFact, StorePart, Subject,
};
use crate::store::dialect_shown;
use crate::store::{Listed, StoreError};
use crate::tap::{CallError, ChainSeen, FailureKind};

/// What could not be looked at, with the store's own code.
pub(super) fn gap(subject: &Subject, error: &StoreError) -> Gap {
    let (why, code) = error.denied();
    Gap {
        subject: subject.clone(),
        what: FactKind::Store,
        why,
        code,
        detail: error.to_string(),
        hint: error.hint().unwrap_or_default(),
    }
}

/// A part of the look that got no answer, while the store answers others.
pub(super) fn part_gap(subject: &Subject, part: StorePart, error: &StoreError) -> Gap {
    Gap { what: FactKind::StorePart(part), ..gap(subject, error) }
}

/// The certificate could not be looked at. `None` when the recording that is replayed does not hold it.
pub(super) fn certificate_gap(subject: &Subject, error: &CallError) -> Option<Gap> {
    let why = match error.kind {
        FailureKind::NotRecorded => return None,
        FailureKind::Answered => Denied::Broken,
        FailureKind::Dns => Denied::Dns,
        FailureKind::Tls => Denied::Tls,
        FailureKind::Refused | FailureKind::Reset => Denied::Refused,
        FailureKind::Timeout => Denied::Timeout,
        FailureKind::Cut => Denied::Truncated,
        FailureKind::Malformed => Denied::Malformed,
        FailureKind::NotSent => Denied::NotAsked,
    };
    Some(Gap {
        subject: subject.clone(),
        what: FactKind::StorePart(StorePart::Certificate),
        why,
        code: error.code.clone(),
        detail: format!("the certificate: {error}"),
        hint: "dalsegno doctor".to_owned(),
    })
}

/// A positive proof that the bucket answers listings.
pub(super) fn control(prefixes: &[Prefix], listed: Option<&Listed>) -> String {
    let place = match prefixes.first() {
        Some(prefix) if !prefix.is_root() => format!("\"{prefix}\""),
        _ => "the bucket's root".to_owned(),
    };
    match listed {
        Some(object) => format!("the listing of {place} answered \"{}\" first", crate::store::keys::printable(&object.key)),
        None => format!("the listing of {place} answered, with no key in it"),
    }
}

/// The fact.
pub(super) fn fact(settings: &StoreSettings, look: Look, chain: Option<&ChainSeen>) -> StoreFact {
    let list = match &look.listed {
        Ok(_) => Right::Yes,
        Err(StoreError::AccessDenied { .. }) => Right::No,
        Err(_) => Right::Unknown,
    };
    let list_uploads = match &look.uploads {
        Setting::Set(_) => Right::Yes,
        Setting::Denied => Right::No,
        _ => Right::Unknown,
    };
    StoreFact {
        subject: settings.subject.clone(),
        store: settings.id.clone(),
        endpoint: settings.endpoint.clone(),
        bucket: settings.bucket.clone(),
        region: settings.region.clone(),
        bucket_region: look.bucket_region,
        dialect: dialect_shown(settings.dialect, look.server.as_deref()),
        clock_skew_seconds: look.skew_seconds,
        certificate: chain.and_then(certificate),
        rights: Rights { list, read: look.read, write: Right::Unknown, list_uploads, list_versions: look.list_versions },
        versioning: look.versioning,
        object_lock: look.object_lock,
        lifecycle: look.lifecycle,
        uploads: look.uploads,
        version_bytes: look.version_bytes,
        claimed_immutability: settings.immutability,
    }
}

/// The certificate that ends first decides: the leaf, one above it, or the configured authority.
fn certificate(seen: &ChainSeen) -> Option<CertificateSeen> {
    let leaf = seen.chain.first()?;
    let first_to_end = seen.chain.iter().min_by_key(|line| line.not_after)?;
    Some(CertificateSeen {
        subject: first_to_end.subject.clone(),
        not_before: first_to_end.not_before,
        not_after: first_to_end.not_after,
        leaf_sha256: leaf.sha256.clone(),
        verified_by: seen.verified_by.clone(),
    })
}
