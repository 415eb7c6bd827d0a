//! The end of the last segment: what stands behind the place where replay ended.
//!
//! A segment that PostgreSQL archived is used up: its last record ends with it, goes on in the next one, or is a switch (which replay
//! counts to the segment's end). Zeros or garbage there are a loss that nobody else sees: replay takes the first record that does not
//! read as the end of all WAL. Layouts of `XLogPageHeaderData` and `XLogRecord`
//! (<https://github.com/postgres/postgres/blob/master/src/include/access/xlogrecord.h>), little endian.
//!
//! What lies inside of the unfinished record is not checked: its checksum needs the next segment.

use super::header::majors_of_magic;
use super::name::Lsn;

/// `XLOG_BLCKSZ` of nearly every build; another is said in the first header of a segment.
pub const WAL_PAGE: usize = 8192;
const SHORT_HEADER: u64 = 24;
const LONG_HEADER: u64 = 40;
const RECORD_HEADER: u64 = 24;
const FIRST_IS_CONTINUED: u16 = 0x0001;
const LONG_HEADER_FLAG: u16 = 0x0002;
/// `XLogRecordMaxSize`.
const LARGEST_RECORD: u64 = 1020 << 20;

/// Why the end of a segment is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TailFault {
    /// A page could not be had.
    #[error("the page at {at} is not at hand")]
    NoPage {
        /// Which.
        at: Lsn,
    },
    /// Not a page of WAL, or one of another place.
    #[error("at {at} no page of WAL follows")]
    NotAPage {
        /// Where.
        at: Lsn,
    },
    /// Never written, or wiped out.
    #[error("zeros follow at {at}, and no switch to the next segment comes before them")]
    Zeros {
        /// Where.
        at: Lsn,
    },
    /// Not a record.
    #[error("no record follows at {at}: {what}")]
    NoRecord {
        /// Where.
        at: Lsn,
        /// What speaks against it.
        what: &'static str,
    },
    /// It lies there with all its bytes and replay did not take it.
    #[error("the record of {length} bytes at {at} lies there whole and does not read: it is damaged")]
    Damaged {
        /// Where.
        at: Lsn,
        /// Its length.
        length: u64,
    },
    /// The record's pages do not follow on.
    #[error("the record at {at} does not go on at {page}")]
    Torn {
        /// Where the record begins.
        at: Lsn,
        /// The page that does not carry it on.
        page: Lsn,
    },
}

/// Holds what stands at `end`, where replay ended, against `until`, the end of the last segment. `page` gives the page that begins
/// at a position.
pub fn check_tail(end: Lsn, until: Lsn, page: &mut dyn FnMut(Lsn) -> Option<Vec<u8>>) -> Result<(), TailFault> {
    if end >= until {
        return Ok(());
    }
    let size = WAL_PAGE as u64;
    let mut start = end.0 - end.0 % size;
    let first = Page::of(Lsn(start), page)?;
    let mut at = end.0;
    if at == start {
        at += first.header;
        if first.continued {
            return Err(TailFault::NoRecord { at: Lsn(at), what: "the page begins with the rest of another record" });
        }
    }
    let place = Lsn(at);
    let inside = at - start;
    let length = u64::from(first.u32(inside));
    if length == 0 {
        return Err(TailFault::Zeros { at: place });
    }
    if !(RECORD_HEADER..=LARGEST_RECORD).contains(&length) {
        return Err(TailFault::NoRecord { at: place, what: "its length cannot be" });
    }
    // The rest of the header may lie on the next page.
    if inside + RECORD_HEADER <= size {
        let before = first.u64(inside + 8);
        if before == 0 || before >= at || at - before > LARGEST_RECORD + (LARGEST_RECORD >> 4) {
            return Err(TailFault::NoRecord { at: place, what: "its link to the record before it cannot be" });
        }
    }
    let mut left = length;
    let mut room = size - inside;
    loop {
        if left <= room {
            return Err(TailFault::Damaged { at: place, length });
        }
        left -= room;
        start += size;
        if start >= until.0 {
            return Ok(());
        }
        let next = Page::of(Lsn(start), page).map_err(|fault| match fault {
            TailFault::NotAPage { at } => TailFault::Torn { at: place, page: at },
            other => other,
        })?;
        if !next.continued || u64::from(next.rest) != left {
            return Err(TailFault::Torn { at: place, page: Lsn(start) });
        }
        room = size - next.header;
    }
}

struct Page {
    bytes: Vec<u8>,
    header: u64,
    continued: bool,
    rest: u32,
}

impl Page {
    fn of(at: Lsn, page: &mut dyn FnMut(Lsn) -> Option<Vec<u8>>) -> Result<Self, TailFault> {
        let bytes = page(at).filter(|bytes| bytes.len() == WAL_PAGE).ok_or(TailFault::NoPage { at })?;
        let mut read = Self { bytes, header: SHORT_HEADER, continued: false, rest: 0 };
        let (magic, info) = (u16::from_le_bytes(read.part(0)), u16::from_le_bytes(read.part(2)));
        if majors_of_magic(magic).is_empty() || read.u64(8) != at.0 {
            return Err(TailFault::NotAPage { at });
        }
        if info & LONG_HEADER_FLAG != 0 {
            read.header = LONG_HEADER;
        }
        read.continued = info & FIRST_IS_CONTINUED != 0;
        read.rest = read.u32(16);
        Ok(read)
    }

    fn part<const N: usize>(&self, at: u64) -> [u8; N] {
        let from = usize::try_from(at).unwrap_or(usize::MAX);
        self.bytes.get(from..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
    }

    fn u32(&self, at: u64) -> u32 {
        u32::from_le_bytes(self.part(at))
    }

    fn u64(&self, at: u64) -> u64 {
        u64::from_le_bytes(self.part(at))
    }
}
