//! From the ledger to the bucket: copy → compressed → a new object → `head.json` by If-Match. Killed anywhere, the head names a whole one.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::HomeError;
use super::conditions;
use super::head::{self, FORMAT, Head, Object, Seen};
use super::layout::{self, HEAD, key, kind, mark};
use crate::domain::{Holder, RunId, hex};
use crate::process::kill;
use crate::store::{Guarded, StoreError};
use crate::tap::objects::PutAsk;

/// zstd's own default: the ledger is small, and fetched more often than written.
const LEVEL: i32 = 3;
/// The head is written again so often when nobody knows whether it was.
const TRIES: u32 = 3;

/// What is kept.
pub(super) struct Keeping<'a> {
    /// Whose ledger it is.
    pub(super) site: &'a str,
    /// By which run.
    pub(super) run: RunId,
    /// When.
    pub(super) now: Timestamp,
    /// On which host.
    pub(super) host: &'a str,
    /// Who keeps the other kind away from now on.
    pub(super) holder: Option<Holder>,
    /// The copy of the ledger: a database of its own, closed.
    pub(super) copy: &'a Path,
    /// The effective configuration and its SHA-256.
    pub(super) config: (Vec<u8>, String),
}

/// Keeps it; gives the head as it lies there now. `before` is the head that the ledger came from.
pub(super) async fn keep(guarded: &Guarded, before: Option<&Seen>, what: Keeping<'_>) -> Result<Seen, HomeError> {
    let conditional = match before.map(|seen| &seen.head.conditional) {
        Some(shown) if conditions::shown(shown, guarded) => shown.clone(),
        _ => conditions::prove(guarded, what.site, what.now).await?,
    };
    kill::point("home-conditions-shown");
    let config = keep_config(guarded, before, &what).await?;
    kill::point("home-config-kept");
    let (packed, plain_bytes) = pack(what.copy).await?;
    kill::point("home-packed");
    let serial = before.map_or(1, |seen| seen.head.serial.saturating_add(1));
    let name = layout::snapshot(serial, what.run, uuid::Uuid::now_v7());
    let snapshot = Object { name, sha256: hex(&Sha256::digest(&packed)), bytes: packed.len() as u64 };
    let ask = PutAsk {
        key: key(guarded.own(), &snapshot.name),
        bytes: packed,
        metadata: mark(kind::SNAPSHOT, what.site),
        if_absent: true,
        ..PutAsk::default()
    };
    match guarded.put(ask).await {
        // The name holds a new id: what is there under it came from our own first try, whose answer was lost.
        Ok(_) | Err(StoreError::PreconditionFailed { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    kill::point("home-snapshot-kept");
    let head = Head {
        format: FORMAT,
        dalsegno: env!("CARGO_PKG_VERSION").to_owned(),
        site: what.site.to_owned(),
        serial,
        written: what.now,
        run: what.run,
        host: what.host.to_owned(),
        snapshot,
        plain_bytes,
        config,
        holder: what.holder,
        conditional,
    };
    let seen = swing(guarded, before.map(|seen| seen.etag.as_str()), head).await?;
    kill::point("home-head-kept");
    Ok(seen)
}

/// Its name is its digest: what is there already is the same.
async fn keep_config(guarded: &Guarded, before: Option<&Seen>, what: &Keeping<'_>) -> Result<Object, HomeError> {
    let (bytes, sha256) = &what.config;
    let object = Object { name: layout::config(sha256), sha256: sha256.clone(), bytes: bytes.len() as u64 };
    if before.is_some_and(|seen| seen.head.config == object) {
        return Ok(object);
    }
    let ask = PutAsk {
        key: key(guarded.own(), &object.name),
        bytes: Bytes::copy_from_slice(bytes),
        metadata: mark(kind::CONFIG, what.site),
        if_absent: true,
        ..PutAsk::default()
    };
    match guarded.put(ask).await {
        Ok(_) | Err(StoreError::PreconditionFailed { .. }) => Ok(object),
        Err(error) => Err(error.into()),
    }
}

/// Compresses the copy; gives the bytes, and how many they were.
async fn pack(copy: &Path) -> Result<(Bytes, u64), HomeError> {
    let copy: PathBuf = copy.to_owned();
    let path = copy.clone();
    let packed = tokio::task::spawn_blocking(move || -> std::io::Result<(Vec<u8>, u64)> {
        let mut file = File::open(&copy)?;
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), LEVEL)?;
        // The decoder then sees damage also where a digest is not asked.
        encoder.include_checksum(true)?;
        let mut buffer = vec![0; 256 * 1024];
        let mut plain = 0_u64;
        loop {
            let got = file.read(&mut buffer)?;
            if got == 0 {
                break;
            }
            encoder.write_all(buffer.get(..got).unwrap_or_default())?;
            plain = plain.saturating_add(got as u64);
        }
        Ok((encoder.finish()?, plain))
    });
    let io = |source| HomeError::File { what: "compress", path: path.clone(), source };
    let (bytes, plain) = packed.await.map_err(|error| io(std::io::Error::other(error)))?.map_err(io)?;
    Ok((bytes.into(), plain))
}

/// Swings the head over. Whoever finds another one there than the one they came from has lost.
async fn swing(guarded: &Guarded, before: Option<&str>, head: Head) -> Result<Seen, HomeError> {
    let mut text = serde_json::to_string_pretty(&head).unwrap_or_default();
    text.push('\n');
    let bytes = Bytes::from(text);
    let mut left = TRIES;
    loop {
        left -= 1;
        let ask = PutAsk {
            key: key(guarded.own(), HEAD),
            bytes: bytes.clone(),
            metadata: mark("head", &head.site),
            if_absent: before.is_none(),
            if_match: before.map(str::to_owned),
            ..PutAsk::default()
        };
        let error = match guarded.put(ask).await {
            Ok(etag) if !etag.is_empty() => return Ok(Seen { head, etag }),
            // No ETag came, or nobody knows whether it was written: what lies there decides.
            Ok(_) => None,
            Err(error) => Some(error),
        };
        let found = head::read(guarded.store(), guarded.own()).await?;
        match (found, error) {
            (Some(found), _) if found.head.snapshot == head.snapshot => return Ok(found),
            (found, Some(error)) if found.as_ref().map(|found| found.etag.as_str()) == before && left > 0 && may_pass(&error) => {
                tracing::debug!(%error, "head.json is written again");
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            }
            (found, Some(error)) if found.as_ref().map(|found| found.etag.as_str()) == before && !is_condition(&error) => {
                return Err(error.into());
            }
            (found, _) => return Err(lost(guarded, found.as_ref(), &head).await),
        }
    }
}

const fn is_condition(error: &StoreError) -> bool {
    matches!(error, StoreError::PreconditionFailed { .. })
}

/// 409 ConditionalRequestConflict, and everything of which nobody knows how it ended.
const fn may_pass(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Server { status: 409 | 500..=599, .. }
            | StoreError::Timeout { .. }
            | StoreError::Refused { .. }
            | StoreError::Throttled { .. }
            | StoreError::Malformed { .. }
    )
}

/// Our snapshot goes: it bears an id of our own and no head names it.
async fn lost(guarded: &Guarded, found: Option<&Seen>, ours: &Head) -> HomeError {
    if let Err(error) = guarded.delete(&key(guarded.own(), &ours.snapshot.name)).await {
        tracing::debug!(%error, "the snapshot that lost the race stays; a later pass removes it");
    }
    let winner = found.map_or_else(
        || "somebody who removed head.json".to_owned(),
        |found| format!("run {} on {} (serial {})", found.head.run.short(), found.head.host, found.head.serial),
    );
    HomeError::LostRace { place: head::place(guarded.store(), guarded.own(), HEAD), winner }
}
