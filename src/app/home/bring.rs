//! From the bucket to a file: the snapshot that the head names, whole or not at all.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::HomeError;
use super::head::{self, Head, Seen};
use super::layout::{SNAPSHOTS, key, serial_of};
use crate::domain::{Prefix, hex};
use crate::process::kill;
use crate::store::{Store, StoreError};

/// The head may move on while its snapshot is fetched, so often that it is read again.
const TRIES: u32 = 3;
/// Snapshots that are named to a person who must choose one.
const NAMED: usize = 3;

/// Reads the head and lays its snapshot at `file`. `None` = there is no ledger yet, and no file was made.
pub(super) async fn bring(store: &Store, prefix: &Prefix, file: &Path) -> Result<Option<Seen>, HomeError> {
    let mut last: Option<Seen> = None;
    for _ in 0..TRIES {
        let Some(seen) = head::read(store, prefix).await? else { return Ok(None) };
        kill::point("home-head-read");
        match fetch(store, prefix, &seen.head, file).await {
            Ok(()) => {
                kill::point("home-brought");
                return Ok(Some(seen));
            }
            // An old head names a snapshot that was let go meanwhile. The same head twice: it is gone.
            Err(HomeError::Store(StoreError::NoSuchKey { .. })) if last.as_ref() != Some(&seen) => last = Some(seen),
            Err(HomeError::Store(StoreError::NoSuchKey { .. })) => {
                let said = format!("head.json names it (serial {}), and it is gone", seen.head.serial);
                return Err(damaged(store, prefix, &seen.head, said).await);
            }
            Err(HomeError::Damaged { said, .. }) => return Err(damaged(store, prefix, &seen.head, said).await),
            Err(other) => return Err(other),
        }
    }
    let name = last.map_or_else(String::new, |seen| seen.head.snapshot.name);
    Err(HomeError::LostRace { place: head::place(store, prefix, &name), winner: "somebody who writes without pause".to_owned() })
}

/// Streams, decompresses and checks: what is not what the head says is damage.
async fn fetch(store: &Store, prefix: &Prefix, head: &Head, file: &Path) -> Result<(), HomeError> {
    let wrong =
        |said: String| HomeError::Damaged { place: head::place(store, prefix, &head.snapshot.name), said, others: Vec::new() };
    let io = |source| HomeError::File { what: "write", path: file.to_owned(), source };
    let mut stream = store.get_stream(&key(prefix, &head.snapshot.name), 0, None).await?;
    if stream.length() != head.snapshot.bytes {
        return Err(wrong(format!("it has {} bytes, head.json says {}", stream.length(), head.snapshot.bytes)));
    }
    let mut sum = Sha256::new();
    let out = Bounded { file: File::create(file).map_err(io)?, left: head.plain_bytes, over: false };
    let mut decoder = zstd::stream::write::Decoder::new(out).map_err(io)?;
    while let Some(chunk) = stream.next().await? {
        sum.update(&chunk);
        if let Err(error) = decoder.write_all(&chunk) {
            let space = matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded);
            return Err(if space { io(error) } else { wrong(format!("it does not decompress: {error}")) });
        }
    }
    decoder.flush().map_err(|error| wrong(format!("it does not decompress: {error}")))?;
    let found = hex(&sum.finalize());
    if found != head.snapshot.sha256 {
        return Err(wrong(format!("its SHA-256 is {found}, head.json says {}", head.snapshot.sha256)));
    }
    let out = decoder.into_inner();
    if out.over || out.left > 0 {
        return Err(wrong(format!("it is not the {} bytes that head.json says, once decompressed", head.plain_bytes)));
    }
    Ok(())
}

/// Takes as many bytes as were said and not one more: a hostile snapshot must not fill the disk.
struct Bounded {
    file: File,
    left: u64,
    over: bool,
}

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let take = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if take == 0 && !bytes.is_empty() {
            self.over = true;
            return Err(std::io::Error::other("more bytes than head.json says"));
        }
        let written = self.file.write(bytes.get(..take).unwrap_or_default())?;
        self.left = self.left.saturating_sub(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// The same damage, with what could be gone back to.
async fn damaged(store: &Store, prefix: &Prefix, head: &Head, said: String) -> HomeError {
    let place = head::place(store, prefix, &head.snapshot.name);
    // When they cannot be listed the damage is told without them.
    let mut others = snapshots(store, prefix).await.unwrap_or_default();
    others.retain(|(serial, name)| *serial < head.serial && *name != head.snapshot.name);
    others.sort_by(|a, b| b.cmp(a));
    let others = others.into_iter().take(NAMED).map(|(_, name)| name.trim_start_matches(SNAPSHOTS).to_owned()).collect();
    HomeError::Damaged { place, said, others }
}

/// Snapshots of ours, by serial number and name below the prefix.
pub(super) async fn snapshots(store: &Store, prefix: &Prefix) -> Result<Vec<(u64, String)>, StoreError> {
    let mut found = Vec::new();
    store
        .list(&key(prefix, SNAPSHOTS), None, &mut |object| {
            if let Some(name) = object.key.strip_prefix(prefix.as_str())
                && let Some(serial) = serial_of(name)
            {
                found.push((serial, name.to_owned()));
            }
            std::ops::ControlFlow::Continue(())
        })
        .await?;
    Ok(found)
}
