//! The mark of who makes passes, for a ledger on a volume: a file beside it. In a bucket the mark stands in `head.json`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use jiff::Timestamp;

use super::HomeError;
use crate::domain::{Holder, Mode};

const FILE: &str = "holder.json";

/// The mark in a state folder. One that cannot be read keeps nobody away: it is a courtesy between two schedules, and SQLite's locks
/// keep the ledger whole.
pub(super) fn read(state: &Path) -> Result<Option<Holder>, HomeError> {
    let path = state.join(FILE);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(HomeError::File { what: "read", path, source }),
    }
}

/// Writes the mark: a new file, renamed.
pub(super) fn write(state: &Path, holder: &Holder) -> Result<(), HomeError> {
    let (path, half) = (state.join(FILE), state.join(format!(".{FILE}.tmp")));
    let text = serde_json::to_string(holder).unwrap_or_default();
    File::create(&half)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&half, &path))
        .map_err(|source| HomeError::File { what: "write", path, source })
}

/// Refuses where a mark of the other kind still holds.
pub(super) fn refuse(holder: Option<&Holder>, mode: Mode, now: Timestamp) -> Result<(), HomeError> {
    match holder {
        Some(holder) if holder.keeps_away(mode, now) => {
            Err(HomeError::Held { ours: mode, theirs: holder.mode, host: holder.host.clone(), until: holder.until })
        }
        _ => Ok(()),
    }
}
