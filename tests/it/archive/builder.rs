//! Builds catalogues as a listing would.

use dalsegno::archive::{
    BackupInfo, Catalogue, Compression, History, SegmentName, SegmentSize, backup_info_key, history_key, segment_key,
};
use jiff::{SignedDuration, Timestamp};

pub(super) const SYSTEM: &str = "7713982968056631495";
pub(super) const SIZE: SegmentSize = SegmentSize::DEFAULT;

/// An archive under construction; each object is a second younger than the one before.
pub(super) struct Archive {
    pub(super) catalogue: Catalogue,
    pub(super) clock: Timestamp,
}

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(super) fn name(text: &str) -> SegmentName {
    text.parse().unwrap()
}

pub(super) fn segment(timeline: u32, number: u64) -> SegmentName {
    SegmentName::from_number(timeline, number, SIZE).unwrap()
}

impl Archive {
    pub(super) fn new() -> Self {
        Self { catalogue: Catalogue::new(), clock: at("2026-11-30T09:00:00Z") }
    }

    pub(super) fn tick(&mut self) -> Timestamp {
        self.clock += SignedDuration::from_secs(60);
        self.clock
    }

    pub(super) fn object(mut self, key: &str, size: u64) -> Self {
        let now = self.tick();
        self.catalogue.add(key, size, "\"e\"", Some(now));
        self
    }

    pub(super) fn wal(mut self, timeline: u32, numbers: impl IntoIterator<Item = u64>) -> Self {
        for number in numbers {
            let key = segment_key(segment(timeline, number), Compression::Gzip);
            self = self.object(&key, 40_000);
        }
        self
    }

    /// A backup from the first to the last of these segments; its end time is that of its record.
    pub(super) fn backup(self, id: &str, timeline: u32, begin: u64, end: u64) -> Self {
        self.object(&format!("base/{id}/data.tar.gz"), 3_000_000).record(id, timeline, begin, end, "")
    }

    pub(super) fn record(mut self, id: &str, timeline: u32, begin: u64, end: u64, more: &str) -> Self {
        self = self.object(&backup_info_key(id), 1_300);
        let text = record_text(timeline, begin, end, self.clock) + more;
        self.catalogue.set_backup_info(id, BackupInfo::parse(text.as_bytes()).map_err(|error| error.to_string()));
        self
    }

    pub(super) fn history(mut self, timeline: u32, text: &str) -> Self {
        self = self.object(&history_key(timeline, Compression::Gzip), 62);
        self.catalogue.set_history(timeline, History::parse(timeline, text.as_bytes()).map_err(|error| error.to_string()));
        self
    }
}

pub(super) fn record_text(timeline: u32, begin: u64, end: u64, ended: Timestamp) -> String {
    let (first, last) = (segment(timeline, begin), segment(timeline, end));
    let lsn = |number: u64, offset: u64| {
        let position = number * SIZE.bytes() + offset;
        format!("{:X}/{:X}", position >> 32, position & 0xFFFF_FFFF)
    };
    let start = ended - SignedDuration::from_secs(30);
    let time = |moment: Timestamp| moment.strftime("%Y-%m-%d %H:%M:%S.%6f+00:00").to_string();
    format!(
        "backup_label='START WAL LOCATION: {begin_xlog} (file {first})\\n'\nbegin_time={}\nbegin_wal={first}\nbegin_xlog={begin_xlog}\n\
         cluster_size=136154160\ncompression=None\nend_time={}\nend_wal={last}\nend_xlog={}\nerror=None\nserver_name=cloud\nsize=None\n\
         status=DONE\nsystemid={SYSTEM}\ntablespaces=None\ntimeline={timeline}\nversion=150020\nxlog_segment_size=16777216\n",
        time(start),
        time(ended),
        lsn(end, 0x138),
        begin_xlog = lsn(begin, 0x28),
    )
}
