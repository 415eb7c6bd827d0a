//! What a catalogue takes from an older one of the same archive: what was read, and what was there.

use super::catalogue::Catalogue;
use super::key::segment_key;
use super::name::{SegmentName, SegmentSize};
use super::wals::{Wals, seconds};

/// So many lost segments are remembered.
const MAX_LOST: usize = 64;

impl Catalogue {
    /// Forgets the base backups, which are then listed and added again: an incremental pass lists `base/` whole. What was forgotten
    /// comes back, to be handed to [`Self::carry_over`].
    #[must_use = "what was read of unchanged objects is read again otherwise"]
    pub fn forget_backups(&mut self) -> Self {
        self.empty_objects.retain(|(key, _)| !key.starts_with("base/"));
        self.tars = 0;
        let backups = std::mem::take(&mut self.backups);
        for backup in backups.values() {
            let objects = backup.tars.len() + usize::from(backup.record.is_some()) + usize::from(backup.keep.is_some());
            self.objects = self.objects.saturating_sub(objects as u64);
            self.bytes = self.bytes.saturating_sub(backup.stored_bytes());
        }
        Self { backups, ..Self::default() }
    }

    /// Takes from an older catalogue what was read of objects that have not changed since: same ETag and size, or for a segment's
    /// header the same time.
    pub fn carry_over(&mut self, old: Self) {
        for (id, old) in old.backups {
            let Some(backup) = self.backups.get_mut(&id) else { continue };
            if backup.info.is_none() && backup.record == old.record {
                backup.info = old.info;
            }
            if backup.keep_word.is_none() && backup.keep == old.keep {
                backup.keep_word = old.keep_word;
            }
        }
        for (timeline, old) in old.histories {
            if let Some(object) = self.histories.get_mut(&timeline)
                && object.history.is_none()
                && object.seen == old.seen
                && object.compression == old.compression
            {
                object.history = old.history;
            }
        }
        for (text, header) in old.headers {
            let Some(name) = SegmentName::parse(&text) else { continue };
            let best = self.wals.compressions(name).first().copied();
            let same = best.is_some_and(|compression| {
                let written = self.wals.written(name, compression);
                segment_key(name, compression) == header.key && written.is_some_and(|written| written == seconds(header.written))
            });
            if same {
                self.headers.entry(text).or_insert(header);
            }
        }
        if let Some(size) = self.segment_size() {
            self.wals.set_size(size);
            self.note_lost(&old.wals, size);
        }
        let still = |text: &String| SegmentName::parse(text).is_some_and(|name| self.wals.compressions(name).is_empty());
        let known: Vec<String> = old.lost.into_iter().filter(still).filter(|text| !self.lost.contains(text)).collect();
        self.lost.extend(known);
        self.lost.truncate(MAX_LOST);
    }

    /// Notes a segment of each hole that lay there before.
    fn note_lost(&mut self, old: &Wals, size: SegmentSize) {
        for timeline in self.wals.timelines() {
            let before = old.spans(timeline, size);
            let spans = self.wals.spans(timeline, size);
            for (left, right) in spans.iter().zip(spans.iter().skip(1)) {
                let (first, last) = (left.last + 1, right.first.saturating_sub(1));
                let there = before.get(before.partition_point(|span| span.last < first)).filter(|span| span.first <= last);
                let name = there.and_then(|span| SegmentName::from_number(timeline, span.first.max(first), size));
                if let Some(name) = name.filter(|_| self.lost.len() < MAX_LOST) {
                    self.lost.push(name.to_string());
                }
            }
        }
    }
}
