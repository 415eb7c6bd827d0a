//! What a recording keeps of an archive's objects: the fields of backup.info that are read, positions of a history, and for WAL
//! the 40 header bytes. Tars, WAL bodies and everything foreign are never kept.

use std::io::{self, Write as _};

use serde_json::{Value, json};

use crate::archive::{ArchiveKey, Compression, aws_chunked};
use crate::domain::{hex, unhex};
use crate::tap::{Keep, Kept};

/// The fields of backup.info that the archive room reads; a test holds this list against it.
pub const BACKUP_INFO_FIELDS: [&str; 18] = [
    "status",
    "error",
    "backup_name",
    "begin_time",
    "end_time",
    "begin_wal",
    "end_wal",
    "begin_xlog",
    "end_xlog",
    "timeline",
    "systemid",
    "version",
    "xlog_segment_size",
    "cluster_size",
    "tablespaces",
    "pgdata",
    "config_file",
    "backup_label",
];
/// The long header of a segment's first page.
const HEADER: usize = 40;
/// A history file or a label is far below this.
const SMALL: usize = 1 << 20;

/// Keeps what the archive room reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeepArchive;

impl Keep for KeepArchive {
    fn keep(&self, key: &str, from: u64, body: &[u8]) -> Kept {
        if from != 0 {
            return Kept::Nothing;
        }
        match archive_key(key) {
            Some(ArchiveKey::BackupInfo { .. }) => Kept::Bytes(backup_info(body)),
            Some(ArchiveKey::Keep { .. }) => Kept::Bytes(body.get(..body.len().min(64)).unwrap_or_default().to_vec()),
            Some(ArchiveKey::History { compression, .. }) => lines(compression, body, history_line),
            Some(ArchiveKey::Label { compression, .. }) => lines(compression, body, label_line),
            Some(ArchiveKey::Segment { compression, .. } | ArchiveKey::Partial { compression, .. }) => header(compression, body),
            _ => Kept::Nothing,
        }
    }

    fn restore(&self, key: &str, derived: &Value) -> Option<Vec<u8>> {
        let (ArchiveKey::History { compression, .. }
        | ArchiveKey::Label { compression, .. }
        | ArchiveKey::Segment { compression, .. }
        | ArchiveKey::Partial { compression, .. }) = archive_key(key)?
        else {
            return None;
        };
        if let Some(start) = derived.get("start_hex").and_then(Value::as_str) {
            return unhex(start);
        }
        let plain = match derived.get("text").and_then(Value::as_str) {
            Some(text) => text.as_bytes().to_vec(),
            None => unhex(derived.get("header_hex")?.as_str()?)?,
        };
        pack(compression, &plain).ok()
    }
}

/// The part of a key that begins with `base/` or `wals/`, wherever the archive lies.
fn archive_key(key: &str) -> Option<ArchiveKey<'_>> {
    let mut starts: Vec<usize> =
        ["base/", "wals/"].into_iter().flat_map(|word| key.match_indices(word).map(|(at, _)| at)).collect();
    starts.sort_unstable();
    starts.into_iter().rev().filter(|at| *at == 0 || key.as_bytes().get(at - 1) == Some(&b'/')).find_map(|at| {
        match ArchiveKey::classify(key.get(at..)?) {
            ArchiveKey::Foreign | ArchiveKey::DirectoryMarker => None,
            known => Some(known),
        }
    })
}

/// Known fields stay; the rest of the file is its shape only, so that a malformed file stays malformed in the same way.
fn backup_info(body: &[u8]) -> Vec<u8> {
    if aws_chunked(body) {
        let first = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let size = first.split(|byte| !byte.is_ascii_hexdigit()).next().unwrap_or_default();
        return [size, b"\r\nstatus=(framed)\r\n"].concat();
    }
    let Ok(text) = std::str::from_utf8(body) else { return vec![0xFF] };
    let mut kept = String::new();
    for line in text.lines() {
        match line.split_once('=') {
            Some((field, _)) if BACKUP_INFO_FIELDS.contains(&field.trim()) => kept.push_str(line),
            Some(_) => continue,
            None if line.trim().is_empty() || line.starts_with('#') => continue,
            None => kept.push_str("(a line without an equals sign)"),
        }
        kept.push('\n');
    }
    kept.into_bytes()
}

fn lines(compression: Compression, body: &[u8], keep: fn(&str) -> Option<String>) -> Kept {
    let Ok(plain) = compression.head(body, SMALL) else { return unreadable(body) };
    let text = String::from_utf8_lossy(&plain);
    let text: String = text.lines().filter_map(keep).map(|line| line + "\n").collect();
    // Uncompressed text is padded with line ends by the replay, which readers skip.
    if compression == Compression::None { Kept::Bytes(text.into_bytes()) } else { Kept::Derived(json!({ "text": text })) }
}

/// Timeline and position; the reason is free text.
fn history_line(line: &str) -> Option<String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let mut fields = line.split_whitespace();
    match (fields.next(), fields.next()) {
        (Some(timeline), Some(position)) => Some(format!("{timeline}\t{position}\t(reason)")),
        _ => Some("(not a history line)".to_owned()),
    }
}

/// Positions and times; the label is free text.
fn label_line(line: &str) -> Option<String> {
    let known = ["START WAL LOCATION", "STOP WAL LOCATION", "CHECKPOINT LOCATION", "BACKUP METHOD", "BACKUP FROM", "START TIME"];
    let more = ["STOP TIME", "START TIMELINE", "STOP TIMELINE"];
    known.iter().chain(&more).any(|word| line.starts_with(word)).then(|| line.to_owned())
}

fn header(compression: Compression, body: &[u8]) -> Kept {
    match compression.head(body, HEADER) {
        Ok(head) => Kept::Derived(json!({ "header_hex": hex(&head) })),
        Err(_) => unreadable(body),
    }
}

/// An object that is not what its name says: its first bytes show what it is instead (another compression, a page of HTML).
fn unreadable(body: &[u8]) -> Kept {
    Kept::Derived(json!({ "start_hex": hex(body.get(..body.len().min(16)).unwrap_or_default()) }))
}

/// Packs a few bytes so that the reader of this compression finds them.
fn pack(compression: Compression, plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    match compression {
        Compression::None => out.extend_from_slice(plain),
        Compression::Gzip => {
            let mut writer = flate2::write::GzEncoder::new(&mut out, flate2::Compression::fast());
            writer.write_all(plain)?;
            writer.finish()?;
        }
        Compression::Bzip2 => {
            let mut writer = bzip2::write::BzEncoder::new(&mut out, bzip2::Compression::fast());
            writer.write_all(plain)?;
            writer.finish()?;
        }
        Compression::Xz => {
            let mut writer = liblzma::write::XzEncoder::new(&mut out, 1);
            writer.write_all(plain)?;
            writer.finish()?;
        }
        Compression::Snappy => {
            let mut writer = snap::write::FrameEncoder::new(&mut out);
            writer.write_all(plain)?;
            writer.flush()?;
        }
        Compression::Zstd => out = zstd::encode_all(plain, 1)?,
        Compression::Lz4 => {
            let mut writer = lz4_flex::frame::FrameEncoder::new(&mut out);
            writer.write_all(plain)?;
            writer.finish().map_err(io::Error::other)?;
        }
    }
    Ok(out)
}
