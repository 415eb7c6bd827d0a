//! The files of a recording: one row type each, shared by the writer and the reader. Format 1.
//!
//! Optional fields may be missing in a recording made by hand; unknown fields are ignored, so that a newer writer can add some.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::objects::{WireHead, WireObject};
use super::{CallError, FailureKind};
use crate::domain::sha256_hex;

/// The format this program writes and reads.
pub const FORMAT: u32 = 1;

/// `recording.yaml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// 1.
    pub format: u32,
    /// The site it was made at.
    #[serde(default)]
    pub site: String,
    /// Which program and version made it.
    #[serde(default)]
    pub made_by: String,
    /// Passes, oldest first.
    pub passes: Vec<Pass>,
}

/// One pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// Its folder: `000`.
    pub dir: String,
    /// The time it judged by.
    pub now: Timestamp,
}

/// What can go wrong with the files themselves.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// Reading or writing failed.
    #[error("{}: {why}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}{}: {why}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
    Malformed {
        /// Where.
        path: PathBuf,
        /// The line, from 1.
        line: Option<usize>,
        /// Why.
        why: String,
    },
    /// A recording of another format.
    #[error("{}: format {found}, this program reads {FORMAT}", path.display())]
    Format {
        /// Where.
        path: PathBuf,
        /// What it says.
        found: u32,
    },
}

impl crate::domain::Explained for RecordingError {
    fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "recording-io",
            Self::Malformed { .. } => "recording-malformed",
            Self::Format { .. } => "recording-format",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { .. } => "check the folder and its rights".to_owned(),
            Self::Malformed { .. } => "make it anew: dalsegno check --record DIR".to_owned(),
            Self::Format { .. } => "use the version of dalsegno that made it, or a newer one".to_owned(),
        })
    }

    fn exit(&self) -> crate::domain::Exit {
        crate::domain::ExitCode::Usage
    }
}

/// `NNN/denied.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeniedRow {
    /// `store/minio`, `http/pve`, `tls/host_443`.
    pub source: String,
    /// Key, prefix, path; `*` or nothing = everything of the source. A text that ends in `/` covers what lies below.
    #[serde(default)]
    pub what: String,
    /// `denied`, `absent_api`, `timeout`, `tls`, `dns`, `refused`, `malformed`, `cut`, `broken`.
    pub kind: String,
    /// The call; missing = any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// In the other side's words.
    #[serde(default)]
    pub detail: String,
    /// The other side's own code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The other clock minus ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew_seconds: Option<f64>,
    /// The region that was named (S3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
}

impl DeniedRow {
    /// A failure as a row.
    pub fn of(source: &str, verb: &str, what: &str, error: &CallError) -> Self {
        Self {
            source: source.to_owned(),
            what: what.to_owned(),
            kind: kind_word(error).to_owned(),
            verb: Some(verb.to_owned()),
            detail: error.detail.clone(),
            code: error.code.clone(),
            status: error.status,
            skew_seconds: error.skew_seconds,
            region: error.region.clone(),
        }
    }

    /// Whether it is about this call.
    pub fn covers(&self, source: &str, verb: &str, what: &str) -> bool {
        let same_source = self.source == source || self.source.split('@').next() == Some(source);
        let same_verb = self.verb.as_deref().is_none_or(|mine| mine == verb);
        let below = self.what.ends_with('/') && what.starts_with(&self.what);
        same_source && same_verb && (self.what.is_empty() || self.what == "*" || self.what == what || below)
    }

    /// The failure that it replays.
    pub fn error(&self) -> CallError {
        let plain = |kind| CallError::new(kind, self.detail.clone());
        let answered = |status, code: &str| {
            let code = self.code.clone().or_else(|| Some(code.to_owned()));
            CallError::answered(self.status.unwrap_or(status), code, self.detail.clone())
        };
        let error = match self.kind.as_str() {
            "denied" => answered(403, "AccessDenied"),
            "absent_api" => answered(501, "NotImplemented"),
            "broken" => answered(500, "InternalError"),
            "timeout" => plain(FailureKind::Timeout),
            "tls" => plain(FailureKind::Tls),
            "dns" => plain(FailureKind::Dns),
            "refused" => plain(FailureKind::Refused),
            "cut" => plain(FailureKind::Cut),
            _ => plain(FailureKind::Malformed),
        };
        error.with(|broken| {
            broken.skew_seconds = self.skew_seconds;
            broken.region.clone_from(&self.region);
        })
    }
}

fn kind_word(error: &CallError) -> &'static str {
    match error.kind {
        FailureKind::Answered => match error.status {
            Some(401 | 403) => "denied",
            Some(405 | 501) => "absent_api",
            _ => "broken",
        },
        FailureKind::Dns => "dns",
        FailureKind::Tls => "tls",
        FailureKind::Refused | FailureKind::Reset => "refused",
        FailureKind::Timeout => "timeout",
        FailureKind::Cut => "cut",
        FailureKind::Malformed | FailureKind::NotSent | FailureKind::NotRecorded => "malformed",
    }
}

/// `list.meta.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListMeta {
    /// When.
    #[serde(default)]
    pub at: Option<Timestamp>,
    /// Whether every listing went to its end.
    #[serde(default = "yes")]
    pub complete: bool,
    /// How many requests it took.
    #[serde(default)]
    pub requests: u64,
    /// What `list.jsonl` holds all keys of. Missing = the whole bucket (a recording made by hand).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<Vec<Covered>>,
    /// Folders below a prefix, where only one level was listed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, Vec<String>>,
    /// The first key below a prefix, where only that was asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub firsts: BTreeMap<String, Option<String>>,
    /// Prefixes whose unfinished uploads were listed; missing = all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uploads: Option<Vec<String>>,
    /// Prefixes whose versions were listed; missing = all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Vec<String>>,
}

const fn yes() -> bool {
    true
}

/// Keys below `prefix`, from behind `after` on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covered {
    /// The prefix.
    pub prefix: String,
    /// The key behind which it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A row of `list.jsonl`.
pub type ListRow = WireObject;

/// A row of `heads.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadRow {
    /// The key.
    pub key: String,
    /// `content-length`, `etag`, `last-modified` (RFC 3339) and the headers that somebody reads.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// There is no such object.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
}

impl HeadRow {
    /// From an answer.
    pub fn of(key: &str, head: &WireHead) -> Self {
        let mut headers = head.headers.clone();
        // Metadata of other people's objects is theirs; nobody here reads it.
        headers.retain(|name, _| !name.starts_with("x-amz-meta-"));
        headers.insert("content-length".to_owned(), head.size.to_string());
        headers.insert("etag".to_owned(), head.etag.clone());
        if let Some(time) = head.last_modified {
            headers.insert("last-modified".to_owned(), time.to_string());
        }
        Self { key: key.to_owned(), headers, absent: false }
    }

    /// Back to an answer.
    pub fn head(&self) -> WireHead {
        let mut headers = self.headers.clone();
        WireHead {
            size: headers.remove("content-length").and_then(|text| text.parse().ok()).unwrap_or(-1),
            etag: headers.remove("etag").unwrap_or_default(),
            last_modified: headers.remove("last-modified").and_then(|text| text.parse().ok()),
            headers,
        }
    }
}

/// A row of `reads.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadRow {
    /// The key.
    pub key: String,
    /// The `Range` header as sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    /// Size of the whole object.
    #[serde(default)]
    pub size: i64,
    /// ETag without quotes.
    #[serde(default)]
    pub etag: String,
    /// Last modification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<Timestamp>,
    /// The bytes lie in this file below `reads/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Derived from the bytes, which are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<Value>,
    /// There is no such object.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
}

/// The name of a body's file: keys may be 1,024 bytes long, so never the key itself.
pub fn read_name(key: &str, range: Option<&str>) -> String {
    sha256_hex(format!("{key}\n{}", range.unwrap_or_default()))
}

/// A name that is safe as one part of a path.
pub fn safe_name(text: &str) -> String {
    let safe: String = text.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
    if safe.trim_matches('.').is_empty() { format!("_{}", safe.len()) } else { safe }
}

/// Reads a file of JSON lines, plain or `.zst`; `None` when there is neither.
pub fn read_lines<T: serde::de::DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<Vec<T>>, RecordingError> {
    let Some((path, bytes)) = read_plain_or_zst(folder, name)? else { return Ok(None) };
    let mut rows = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let row = serde_json::from_slice(line).map_err(|error| RecordingError::Malformed {
            path: path.clone(),
            line: Some(index + 1),
            why: error.to_string(),
        })?;
        rows.push(row);
    }
    Ok(Some(rows))
}

/// Reads a JSON file, plain or `.zst`.
pub fn read_json<T: serde::de::DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<T>, RecordingError> {
    let Some((path, bytes)) = read_plain_or_zst(folder, name)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| RecordingError::Malformed {
        path,
        line: Some(error.line()),
        why: error.to_string(),
    })
}

fn read_plain_or_zst(folder: &Path, name: &str) -> Result<Option<(PathBuf, Vec<u8>)>, RecordingError> {
    for (path, packed) in [(folder.join(name), false), (folder.join(format!("{name}.zst")), true)] {
        match std::fs::read(&path) {
            Ok(bytes) if packed => {
                let bytes = zstd::decode_all(bytes.as_slice()).map_err(|why| RecordingError::Io { path: path.clone(), why })?;
                return Ok(Some((path, bytes)));
            }
            Ok(bytes) => return Ok(Some((path, bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(why) => return Err(RecordingError::Io { path, why }),
        }
    }
    Ok(None)
}
