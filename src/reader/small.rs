//! The small objects: records, keep marks, histories, and the first bytes of segments.

use futures::StreamExt;

use super::{ArchiveReader, ReadEnd};
use crate::archive::{
    BackupInfo, Catalogue, Compression, Damage, History, MAX_BACKUP_INFO, MAX_HISTORY, SegmentFault, WalHeader, backup_info_key,
    check_head, history_key, segment_key,
};
use crate::store::StoreError;

/// Small objects on their way at once: each costs a round trip and hardly any bytes.
const READS_AT_ONCE: usize = 8;
/// Bytes of a page header.
const HEADER_BYTES: usize = 40;
/// The most bytes of a segment's beginning that are fetched for its header: the largest block of any format, compressed badly.
const MAX_HEAD: u64 = 5 << 20;
/// `full` or `standalone`.
const MAX_KEEP: u64 = 64;

impl ArchiveReader {
    /// Reads the records, keep marks and histories that were not read yet.
    pub async fn read_small(&self, catalogue: &mut Catalogue) -> ReadEnd {
        let mut end = self.read_records(catalogue).await;
        end.add(self.read_keeps(catalogue).await);
        end.add(self.read_histories(catalogue).await);
        end
    }

    /// Reads the records and histories that were not read yet: all that choosing needs. Asked again, it reads what failed before.
    pub async fn read_for_choice(&self, catalogue: &mut Catalogue) -> ReadEnd {
        let mut end = self.read_records(catalogue).await;
        end.add(self.read_histories(catalogue).await);
        end
    }

    async fn read_records(&self, catalogue: &mut Catalogue) -> ReadEnd {
        let mut end = ReadEnd::default();
        let asks = catalogue.unread_records().into_iter().map(|id| async move {
            let key = backup_info_key(&id);
            let object = self.store.get(&self.key(&key), MAX_BACKUP_INFO).await;
            (id, key, object)
        });
        let mut answers = futures::stream::iter(asks).buffer_unordered(READS_AT_ONCE);
        while let Some((id, key, object)) = answers.next().await {
            match object {
                // A lie about the size is the record's fault, not ours.
                Err(error @ StoreError::TooLarge { .. }) => catalogue.set_backup_info(&id, Err(error.to_string())),
                other => {
                    if let Some(object) = end.note(key, other) {
                        let info = BackupInfo::parse(&object.bytes).map_err(|error| error.to_string());
                        catalogue.set_backup_info(&id, info);
                    }
                }
            }
        }
        end
    }

    async fn read_keeps(&self, catalogue: &mut Catalogue) -> ReadEnd {
        let mut end = ReadEnd::default();
        for id in catalogue.unread_keeps() {
            let key = format!("base/{id}/annotations/keep");
            let object = self.store.get(&self.key(&key), MAX_KEEP).await;
            if let Ok(object) = object {
                end.read += 1;
                catalogue.set_keep(&id, &String::from_utf8_lossy(&object.bytes));
            }
        }
        end
    }

    async fn read_histories(&self, catalogue: &mut Catalogue) -> ReadEnd {
        let mut end = ReadEnd::default();
        let asks = catalogue.unread_histories().into_iter().map(|(timeline, compression)| async move {
            let key = history_key(timeline, compression);
            let object = self.store.get(&self.key(&key), MAX_HISTORY).await;
            (timeline, compression, key, object)
        });
        let mut answers = futures::stream::iter(asks).buffer_unordered(READS_AT_ONCE);
        while let Some((timeline, compression, key, object)) = answers.next().await {
            match object {
                // As with a record: nobody writes a history of this size.
                Err(error @ StoreError::TooLarge { .. }) => catalogue.set_history(timeline, Err(error.to_string())),
                other => {
                    if let Some(object) = end.note(key, other) {
                        catalogue.set_history(timeline, history_of(timeline, compression, &object.bytes));
                    }
                }
            }
        }
        end
    }

    /// Reads the first bytes of the segments that prove most.
    pub async fn read_headers(&self, catalogue: &mut Catalogue) -> ReadEnd {
        let mut end = ReadEnd::default();
        let size = catalogue.segment_size();
        let asks = catalogue.headers_wanted().into_iter().map(|(name, compression)| async move {
            let key = segment_key(name, compression);
            let answer = self.header(&key, compression).await;
            (name, compression, key, answer)
        });
        let mut answers = futures::stream::iter(asks).buffer_unordered(READS_AT_ONCE);
        while let Some((name, compression, key, answer)) = answers.next().await {
            if let Some((head, written)) = end.note(key, answer) {
                let outcome = head.map_err(SegmentFault::Damage).and_then(|head| {
                    let header = WalHeader::parse(&head)?;
                    check_head(&head, name, size.unwrap_or(header.segment_size), None)
                });
                catalogue.note_header(name, compression, written, outcome);
            }
        }
        end
    }

    async fn header(
        &self,
        key: &str,
        compression: Compression,
    ) -> Result<(Result<Vec<u8>, Damage>, Option<jiff::Timestamp>), StoreError> {
        let mut want = compression.head_bytes();
        loop {
            let object = self.store.get_range(&self.key(key), 0, want).await?;
            let whole = object.bytes.len() as u64 >= object.size;
            match compression.head(&object.bytes, HEADER_BYTES) {
                Err(Damage::NeedMore { .. }) if !whole && want < MAX_HEAD => want = (want * 8).min(MAX_HEAD),
                Err(Damage::NeedMore { .. }) if whole => {
                    return Ok((Err(Damage::CutOff { got: 0, wanted: 40 }), object.last_modified));
                }
                head => return Ok((head, object.last_modified)),
            }
        }
    }
}

fn history_of(timeline: u32, compression: Compression, bytes: &[u8]) -> Result<History, String> {
    let plain = compression.small(bytes, MAX_HISTORY).map_err(|damage| damage.to_string())?;
    History::parse(timeline, &plain).map_err(|error| error.to_string())
}
