//! backup.info: barman's record of a base backup.
//!
//! One `key=value` a line, keys sorted, values Python literals or plain words. Traps, all seen: `compression`, `encryption` and `size`
//! are `None` whatever was used, `server_name` is always `cloud`, the tar objects are recorded nowhere, a line without `=` makes the
//! whole file unreadable, and a run that fails late carries times and `end_wal` although its status is `FAILED`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};

use super::header::aws_chunked;
use super::literal::{self, Literal};
use super::name::{Lsn, SegmentName, SegmentSize};
use crate::domain::SystemId;

/// The most bytes of a backup.info that we read. The largest seen has 1,358.
pub const MAX_BACKUP_INFO: u64 = 1 << 20;
/// Linux' PATH_MAX.
const MAX_PATH: usize = 4096;

/// What `status` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordStatus {
    /// `DONE`, also `WAITING_FOR_WALS`: the data are complete.
    Done,
    /// `STARTED`, `EMPTY`, `SYNCING`: runs, or was killed.
    Started,
    /// `FAILED`.
    Failed,
}

/// A tablespace outside of the data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tablespace {
    /// Its name.
    pub name: String,
    /// Its OID: the name of its tar and of the link in `pg_tblspc`.
    pub oid: u32,
    /// Where it lay on the source. Text from outside: never a place to write to.
    pub path: String,
}

/// The record, as far as anything follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupInfo {
    /// `status`.
    pub status: RecordStatus,
    /// `error`; empty when there is none.
    pub error: String,
    /// `backup_name`, when one was given.
    pub name: Option<String>,
    /// `begin_time`.
    pub begin_time: Option<Timestamp>,
    /// `end_time`: the earliest moment it can be restored to.
    pub end_time: Option<Timestamp>,
    /// A time stood there without an offset and was read as UTC: it can be hours off.
    pub times_without_offset: bool,
    /// `begin_wal`.
    pub begin_wal: Option<String>,
    /// `end_wal`.
    pub end_wal: Option<String>,
    /// `begin_xlog`, as a number.
    pub begin_lsn: Option<u64>,
    /// `end_xlog`, as a number.
    pub end_lsn: Option<u64>,
    /// `timeline`.
    pub timeline: Option<u32>,
    /// `systemid`.
    pub system_id: Option<SystemId>,
    /// `version`: 150020 is PostgreSQL 15.20.
    pub server_version: Option<u32>,
    /// `xlog_segment_size`, in bytes, one of the sizes PostgreSQL knows.
    pub segment_size: Option<u64>,
    /// `cluster_size`, in bytes.
    pub cluster_size: Option<u64>,
    /// `tablespaces`.
    pub tablespaces: Vec<Tablespace>,
    /// `pgdata` of the source.
    pub data_directory: Option<String>,
    /// `config_file` of the source: outside of `pgdata` on Debian, and then not in the backup.
    pub config_file: Option<String>,
    /// `backup_label`, unquoted.
    pub backup_label: Option<String>,
}

/// Why a backup.info cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackupInfoError {
    /// More bytes than a record has.
    #[error("{got} bytes are more than a backup.info has (at most {MAX_BACKUP_INFO})")]
    TooLarge {
        /// How many.
        got: u64,
    },
    /// No bytes.
    #[error("the file is empty")]
    Empty,
    /// The body carries the upload's envelope.
    #[error("the file carries aws-chunked framing: its first line is \"{first}\"")]
    ChunkFraming {
        /// The first line.
        first: String,
    },
    /// Not UTF-8.
    #[error("byte {at} is not UTF-8")]
    NotText {
        /// Where.
        at: usize,
    },
    /// A line without `=`.
    #[error("line {line} is not key=value: \"{text}\"")]
    Line {
        /// Counted from 1.
        line: usize,
        /// Its beginning.
        text: String,
    },
    /// A value that makes no sense.
    #[error("{key} is {value:?}: {why}")]
    Value {
        /// Which key.
        key: &'static str,
        /// What stands there, cut.
        value: String,
        /// What is wrong.
        why: &'static str,
    },
    /// There is no status.
    #[error("has no line status=…")]
    NoStatus,
}

impl BackupInfo {
    /// Reads the file.
    pub fn parse(bytes: &[u8]) -> Result<Self, BackupInfoError> {
        if bytes.len() as u64 > MAX_BACKUP_INFO {
            return Err(BackupInfoError::TooLarge { got: bytes.len() as u64 });
        }
        if bytes.trim_ascii().is_empty() {
            return Err(BackupInfoError::Empty);
        }
        if aws_chunked(bytes) {
            let first = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
            return Err(BackupInfoError::ChunkFraming { first: String::from_utf8_lossy(first).into_owned() });
        }
        let text = std::str::from_utf8(bytes).map_err(|error| BackupInfoError::NotText { at: error.valid_up_to() })?;
        Fields::split(text)?.record()
    }

    /// Major version: 15 of 150020.
    pub fn major(&self) -> Option<u32> {
        self.server_version.map(|version| version / 10_000)
    }

    /// `begin_wal` as a name.
    pub fn first_segment(&self) -> Option<SegmentName> {
        self.begin_wal.as_deref().and_then(SegmentName::parse)
    }

    /// `end_wal` as a name.
    pub fn last_segment(&self) -> Option<SegmentName> {
        self.end_wal.as_deref().and_then(SegmentName::parse)
    }

    /// `xlog_segment_size` as a size.
    pub fn wal_segment_size(&self) -> Option<SegmentSize> {
        self.segment_size.and_then(SegmentSize::new)
    }
}

struct Fields<'a>(BTreeMap<&'a str, &'a str>);

fn cut(text: &str) -> String {
    text.chars().take(120).flat_map(char::escape_debug).collect()
}

impl<'a> Fields<'a> {
    /// As barman does: blank lines and comments are skipped, the last of two equal keys wins.
    fn split(text: &'a str) -> Result<Self, BackupInfoError> {
        let mut fields = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, value) = line.split_once('=').ok_or_else(|| BackupInfoError::Line { line: index + 1, text: cut(line) })?;
            fields.insert(key.trim(), value.trim());
        }
        Ok(Self(fields))
    }

    /// The value, unless it is missing, empty or `None`.
    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).copied().filter(|value| !value.is_empty() && *value != "None")
    }

    fn bad<T>(&self, key: &'static str, why: &'static str) -> Result<T, BackupInfoError> {
        Err(BackupInfoError::Value { key, value: cut(self.get(key).unwrap_or_default()), why })
    }

    fn number<T: TryFrom<i128>>(&self, key: &'static str) -> Result<Option<T>, BackupInfoError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        // systemid was a quoted text in some versions.
        let plain = value.trim_matches(['\'', '"']);
        match plain.parse::<i128>().ok().and_then(|number| T::try_from(number).ok()) {
            Some(number) => Ok(Some(number)),
            None => self.bad(key, "not a number of the right size"),
        }
    }

    /// A text, quoted or not.
    fn text(&self, key: &'static str) -> Result<Option<String>, BackupInfoError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        if !value.starts_with(['\'', '"']) {
            return Ok(Some(value.to_owned()));
        }
        match literal::parse(value) {
            Ok(Literal::Text(text)) => Ok(Some(text)),
            Ok(_) => Ok(Some(value.to_owned())),
            Err(why) => self.bad(key, why),
        }
    }

    fn segment(&self, key: &'static str) -> Result<Option<String>, BackupInfoError> {
        match self.text(key)? {
            None => Ok(None),
            Some(name) if SegmentName::parse(&name).is_some() => Ok(Some(name)),
            Some(_) => self.bad(key, "not the name of a WAL segment"),
        }
    }

    fn lsn(&self, key: &'static str) -> Result<Option<u64>, BackupInfoError> {
        match self.text(key)?.map(|text| text.parse::<Lsn>()) {
            None => Ok(None),
            Some(Ok(lsn)) => Ok(Some(lsn.0)),
            Some(Err(_)) => self.bad(key, "not a WAL position"),
        }
    }

    /// The moment, and whether the offset was written.
    fn time(&self, key: &'static str) -> Result<Option<(Timestamp, bool)>, BackupInfoError> {
        let Some(value) = self.text(key)? else { return Ok(None) };
        match moment(&value) {
            Some(found) => Ok(Some(found)),
            None => self.bad(key, "not a time"),
        }
    }

    fn tablespaces(&self) -> Result<Vec<Tablespace>, BackupInfoError> {
        const KEY: &str = "tablespaces";
        let Some(value) = self.get(KEY) else { return Ok(Vec::new()) };
        let items = match literal::parse(value) {
            Ok(Literal::List(items)) => items,
            Ok(_) => return self.bad(KEY, "not a list of tuples"),
            Err(why) => return self.bad(KEY, why),
        };
        let mut found: Vec<Tablespace> = Vec::new();
        for item in items {
            let Literal::List(parts) = item else { return self.bad(KEY, "not a list of tuples") };
            let [Literal::Text(name), Literal::Int(oid), Literal::Text(path)] = parts.as_slice() else {
                return self.bad(KEY, "not tuples of name, OID and path");
            };
            let Some(oid) = u32::try_from(*oid).ok().filter(|oid| *oid != 0) else { return self.bad(KEY, "an OID out of range") };
            if path.len() > MAX_PATH || path.contains('\0') || name.contains('\0') {
                return self.bad(KEY, "a path that no file system takes");
            }
            if found.iter().any(|known| known.oid == oid) {
                return self.bad(KEY, "one OID twice");
            }
            found.push(Tablespace { name: name.clone(), oid, path: path.clone() });
        }
        Ok(found)
    }

    fn status(&self) -> Result<RecordStatus, BackupInfoError> {
        match self.get("status").ok_or(BackupInfoError::NoStatus)? {
            "DONE" | "WAITING_FOR_WALS" => Ok(RecordStatus::Done),
            "STARTED" | "EMPTY" | "SYNCING" => Ok(RecordStatus::Started),
            "FAILED" => Ok(RecordStatus::Failed),
            _ => self.bad("status", "none of EMPTY, STARTED, WAITING_FOR_WALS, DONE, SYNCING, FAILED"),
        }
    }

    fn record(&self) -> Result<BackupInfo, BackupInfoError> {
        let begin = self.time("begin_time")?;
        let end = self.time("end_time")?;
        let segment_size: Option<u64> = self.number("xlog_segment_size")?;
        if segment_size.is_some_and(|size| SegmentSize::new(size).is_none()) {
            return self.bad("xlog_segment_size", "not a power of two from 1 MiB to 1 GiB");
        }
        let timeline: Option<u32> = self.number("timeline")?;
        if timeline == Some(0) {
            return self.bad("timeline", "timelines start with 1");
        }
        Ok(BackupInfo {
            status: self.status()?,
            error: self.text("error")?.unwrap_or_default(),
            name: self.text("backup_name")?,
            begin_time: begin.map(|(time, _)| time),
            end_time: end.map(|(time, _)| time),
            times_without_offset: [begin, end].into_iter().flatten().any(|(_, certain)| !certain),
            begin_wal: self.segment("begin_wal")?,
            end_wal: self.segment("end_wal")?,
            begin_lsn: self.lsn("begin_xlog")?,
            end_lsn: self.lsn("end_xlog")?,
            timeline,
            system_id: self.number::<u64>("systemid")?.map(SystemId),
            server_version: self.number("version")?,
            segment_size,
            cluster_size: self.number("cluster_size")?,
            tablespaces: self.tablespaces()?,
            data_directory: self.text("pgdata")?,
            config_file: self.text("config_file")?,
            backup_label: self.text("backup_label")?,
        })
    }
}

/// `2026-11-30 15:15:28.218432+00:00`, with or without the offset.
fn moment(text: &str) -> Option<(Timestamp, bool)> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some((time, true));
    }
    let local: DateTime = text.parse().ok()?;
    let time = local.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    Some((time, false))
}
