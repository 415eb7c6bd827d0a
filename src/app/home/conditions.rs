//! Whether a store keeps two writers apart: tried, never believed. Some stores take the headers and overwrite all the same.
//!
//! The headers: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html>. Garage knew none of them on PutObject
//! (<https://garagehq.deuxfleurs.fr/documentation/reference-manual/s3-compatibility/>).

use bytes::Bytes;
use jiff::Timestamp;

use super::HomeError;
use super::head::Conditional;
use super::layout::{key, kind, mark, trial};
use crate::store::{Guarded, StoreError};
use crate::tap::objects::PutAsk;

/// An ETag that no object has.
const NOBODYS: &str = "00000000000000000000000000000000";

/// Writes one small object five times; three of them must be refused or taken as the conditions say. It is removed again.
pub(super) async fn prove(guarded: &Guarded, site: &str, now: Timestamp) -> Result<Conditional, HomeError> {
    let key = key(guarded.own(), &trial(uuid::Uuid::now_v7()));
    let tried = attempts(guarded, site, &key).await;
    // Also after a failure: what we made goes. That it stays is told by the next sweep, and is no reason to fail.
    if let Err(error) = guarded.delete(&key).await {
        tracing::debug!(%error, key, "the trial of conditional writes stays");
    }
    tried?;
    let identity = guarded.store().identity();
    Ok(Conditional { endpoint: identity.endpoint.clone(), bucket: identity.bucket.clone(), at: now })
}

/// Whether it was shown of this very store.
pub(super) fn shown(conditional: &Conditional, guarded: &Guarded) -> bool {
    let identity = guarded.store().identity();
    conditional.endpoint == identity.endpoint && conditional.bucket == identity.bucket
}

async fn attempts(guarded: &Guarded, site: &str, key: &str) -> Result<(), HomeError> {
    let store = guarded.store().id().0.clone();
    let refused = |said: String| HomeError::NoConditions { store: store.clone(), said };
    let ask = |body: &'static str| PutAsk {
        key: key.to_owned(),
        bytes: Bytes::from_static(body.as_bytes()),
        metadata: mark(kind::TRIAL, site),
        ..PutAsk::default()
    };
    let etag = match guarded.put(PutAsk { if_absent: true, ..ask("one") }).await {
        Ok(etag) => etag,
        Err(error) if is_unknown_header(&error) => return Err(refused(format!("If-None-Match is refused: {error}"))),
        Err(error) => return Err(error.into()),
    };
    match guarded.put(PutAsk { if_absent: true, ..ask("two") }).await {
        Err(StoreError::PreconditionFailed { .. }) => {}
        Ok(_) => return Err(refused("If-None-Match: * is ignored, an object that is there is overwritten".to_owned())),
        Err(error) if is_unknown_header(&error) => return Err(refused(format!("If-None-Match is refused: {error}"))),
        Err(error) => return Err(error.into()),
    }
    match guarded.put(PutAsk { if_match: Some(NOBODYS.to_owned()), ..ask("three") }).await {
        Err(StoreError::PreconditionFailed { .. }) => {}
        Ok(_) => return Err(refused("If-Match with another ETag is ignored, the object is overwritten".to_owned())),
        Err(error) if is_unknown_header(&error) => return Err(refused(format!("If-Match is refused: {error}"))),
        Err(error) => return Err(error.into()),
    }
    match guarded.put(PutAsk { if_match: Some(etag), ..ask("four") }).await {
        Ok(_) => Ok(()),
        Err(StoreError::PreconditionFailed { .. }) => Err(refused("If-Match with the right ETag is refused (412)".to_owned())),
        Err(error) if is_unknown_header(&error) => Err(refused(format!("If-Match is refused: {error}"))),
        Err(error) => Err(error.into()),
    }
}

/// 501 and 405, and the 400 of those who refuse the header.
fn is_unknown_header(error: &StoreError) -> bool {
    matches!(error, StoreError::NotImplemented { .. } | StoreError::Server { status: 400, .. })
}
