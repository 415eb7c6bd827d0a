//! The objects of one base backup.

use serde::{Deserialize, Serialize};

use super::backup_info::{BackupInfo, RecordStatus};
use super::catalogue::ObjectSeen;
use super::codec::Compression;
use super::key::{PartOf, backup_info_key, tar_key};
use super::plan::BaseObject;

/// One tar of a base backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TarObject {
    /// OID of the tablespace; `None` for the data directory.
    pub tablespace: Option<u32>,
    /// 0 for the first.
    pub part: u32,
    /// Its compression.
    pub compression: Compression,
    /// What the listing said.
    pub seen: ObjectSeen,
}

/// What lies under `base/<id>/`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupObjects {
    /// backup.info, as listed.
    pub record: Option<ObjectSeen>,
    /// backup.info, as read: the record, or why it cannot be read. `None` = not read yet.
    pub info: Option<Result<BackupInfo, String>>,
    /// Its tars.
    pub tars: Vec<TarObject>,
    /// The keep mark, as listed.
    pub keep: Option<ObjectSeen>,
    /// Its word.
    pub keep_word: Option<String>,
}

impl BackupObjects {
    /// The record, when it says DONE.
    pub fn done(&self) -> Option<&BackupInfo> {
        match &self.info {
            Some(Ok(info)) if info.status == RecordStatus::Done => Some(info),
            _ => None,
        }
    }

    /// Bytes of all its objects.
    pub fn stored_bytes(&self) -> u64 {
        let small = [&self.record, &self.keep].into_iter().flatten().map(|seen| seen.size);
        self.tars.iter().map(|tar| tar.seen.size).chain(small).fold(0, u64::saturating_add)
    }

    /// What must be there for a restore and is not; names as in the bucket, below `base/<id>/`.
    pub fn missing(&self, info: &BackupInfo) -> Vec<String> {
        let mut missing = self.missing_of(None);
        for tablespace in &info.tablespaces {
            missing.extend(self.missing_of(Some(tablespace.oid)));
        }
        missing
    }

    /// Tars of what a restore needs, in the order in which they are read: data first, then each tablespace of the record.
    pub fn objects(&self, id: &str, info: &BackupInfo) -> Vec<BaseObject> {
        let wanted = std::iter::once(None).chain(info.tablespaces.iter().map(|tablespace| Some(tablespace.oid)));
        wanted.flat_map(|what| self.parts(what)).map(|tar| tar.object(id)).collect()
    }

    /// The parts in order. If a backup lies there in two compressions, the one whose first part was written last.
    fn parts(&self, tablespace: Option<u32>) -> Vec<&TarObject> {
        let all = || self.tars.iter().filter(move |tar| tar.tablespace == tablespace);
        let first = all().filter(|tar| tar.part == 0).max_by_key(|tar| (tar.seen.size > 0, tar.seen.written));
        let Some(compression) = first.or_else(|| all().next()).map(|tar| tar.compression) else { return Vec::new() };
        let mut parts: Vec<&TarObject> = all().filter(|tar| tar.compression == compression).collect();
        parts.sort_by_key(|tar| tar.part);
        parts
    }

    fn missing_of(&self, tablespace: Option<u32>) -> Vec<String> {
        let what = tablespace.map_or_else(|| "data".to_owned(), |oid| oid.to_string());
        let parts = self.parts(tablespace);
        let mut missing = Vec::new();
        let mut wanted = 0;
        for tar in parts {
            // A hostile number must not make a list of millions.
            while wanted < tar.part && missing.len() < 64 {
                missing.push(part_name(&what, wanted, tar.compression));
                wanted += 1;
            }
            if tar.seen.size == 0 {
                missing.push(format!("{} (is empty)", part_name(&what, tar.part, tar.compression)));
            }
            wanted = tar.part.saturating_add(1);
        }
        if wanted == 0 {
            missing.push(format!("{what}.tar"));
        }
        missing
    }
}

fn part_name(what: &str, part: u32, compression: Compression) -> String {
    let number = if part == 0 { String::new() } else { format!("_{part:04}") };
    format!("{what}{number}.tar{}", compression.suffix())
}

impl TarObject {
    fn object(&self, id: &str) -> BaseObject {
        let part_of = self.tablespace.map_or(PartOf::Data, PartOf::Tablespace);
        BaseObject {
            key: tar_key(id, part_of, self.part, self.compression),
            part_of,
            part: self.part,
            compression: self.compression,
            size: self.seen.size,
            etag: self.seen.etag.clone(),
        }
    }
}

/// The key of the record.
pub(super) fn record_key(id: &str) -> String {
    backup_info_key(id)
}
