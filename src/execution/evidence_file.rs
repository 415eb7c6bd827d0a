//! Evidence on disk: one immutable file per drill.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::error::{EvidenceError, JournalError};
use crate::domain::{EVIDENCE_FORMAT, Evidence, RunId, sha256_hex};
use crate::process::kill;

/// The evidence's name in the run's folder.
pub const EVIDENCE_FILE: &str = "evidence.json";
const LARGEST: u64 = 64 << 20;

/// Writes evidence into a run's folder: a temporary file, synced, renamed, read-only. Refused when there is one already.
pub fn write_evidence(folder: &Path, evidence: &Evidence) -> Result<PathBuf, EvidenceError> {
    let path = folder.join(EVIDENCE_FILE);
    let io = |what: &'static str| {
        let path = path.clone();
        move |source| EvidenceError::Io { what, path, source }
    };
    if path.exists() {
        return Err(EvidenceError::Exists { path });
    }
    let mut text = serde_json::to_string_pretty(evidence).map_err(|error| io("write")(error.into()))?;
    text.push('\n');
    let half = folder.join(format!(".{EVIDENCE_FILE}.tmp"));
    kill::point("before-evidence");
    // A half file of a killed process is simply written again.
    let _ = fs::remove_file(&half);
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&half).map_err(io("write"))?;
    file.write_all(text.as_bytes()).map_err(io("write"))?;
    file.set_permissions(Permissions::from_mode(0o444)).map_err(io("write"))?;
    file.sync_all().map_err(io("write"))?;
    kill::point("half-evidence");
    fs::rename(&half, &path).map_err(io("write"))?;
    File::open(folder).and_then(|open| open.sync_all()).map_err(io("write"))?;
    kill::point("after-evidence");
    Ok(path)
}

/// Reads an evidence file; a newer format is refused before anything else of it is believed.
pub fn read_evidence(path: &Path) -> Result<Evidence, EvidenceError> {
    read_evidence_and_digest(path).map(|(evidence, _)| evidence)
}

/// Also gives the SHA-256 of the very bytes that were read, hex.
pub fn read_evidence_and_digest(path: &Path) -> Result<(Evidence, String), EvidenceError> {
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(LARGEST).read_to_string(&mut text)).map_err(|source| EvidenceError::Io {
        what: "read",
        path: path.to_owned(),
        source,
    })?;
    let malformed = |why: String| EvidenceError::Malformed { path: path.to_owned(), why };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
    let found =
        value.get("format").and_then(serde_json::Value::as_u64).ok_or_else(|| malformed("it names no format".to_owned()))?;
    if found > u64::from(EVIDENCE_FORMAT) {
        return Err(EvidenceError::Newer { path: path.to_owned(), found, known: EVIDENCE_FORMAT });
    }
    let evidence = serde_json::from_value(value).map_err(|error| malformed(error.to_string()))?;
    Ok((evidence, sha256_hex(text)))
}

/// The evidence files below `drills`, oldest first.
pub fn list_evidence(drills: &Path) -> Result<Vec<(RunId, PathBuf)>, JournalError> {
    let runs = super::sweep::runs(drills)?;
    Ok(runs.into_iter().map(|(run, folder)| (run, folder.join(EVIDENCE_FILE))).filter(|(_, path)| path.exists()).collect())
}
