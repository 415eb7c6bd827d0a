//! The first 40 bytes of a WAL segment: they prove the system, the timeline, the position and the segment size.
//!
//! Layout of `XLogLongPageHeaderData` (<https://github.com/postgres/postgres/blob/master/src/include/access/xlog_internal.h>), little
//! endian as on every machine that CNPG and barman run on.

use super::damage::Damage;
use super::name::{Lsn, SegmentName, SegmentSize};
use crate::domain::SystemId;

/// Bytes of the long page header.
const LONG_HEADER: usize = 40;
const LONG_HEADER_FLAG: u16 = 0x0002;

/// The page header at the start of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalHeader {
    /// Tells the major version.
    pub magic: u16,
    /// Timeline of the first page. The segment in which a timeline was left starts with pages of the parent.
    pub timeline: u32,
    /// Position of the page.
    pub page_address: Lsn,
    /// The cluster that wrote it.
    pub system_id: SystemId,
    /// Bytes of a segment.
    pub segment_size: SegmentSize,
    /// Bytes of a WAL page.
    pub block_size: u32,
}

/// Why bytes are not the start of a WAL segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Fewer than 40 bytes.
    #[error("{got} bytes are too few for a WAL page header of 40")]
    TooShort {
        /// How many there are.
        got: usize,
    },
    /// Zeros only: a file that was made and never written.
    #[error("the first page is all zeros: a segment that was never written")]
    Zeros,
    /// Not a page of WAL.
    #[error("magic number {magic:#06x} is not that of a WAL page of PostgreSQL 10 to 18")]
    Magic {
        /// What was found.
        magic: u16,
    },
    /// The first page of a segment has a long header.
    #[error("the first page has no long header (flags {info:#06x}): not the start of a segment")]
    NotFirstPage {
        /// The flags.
        info: u16,
    },
    /// A field makes no sense.
    #[error("{field} is {value}, which cannot be")]
    Field {
        /// Which.
        field: &'static str,
        /// What was found.
        value: u64,
    },
}

impl WalHeader {
    /// Reads the header.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let head = bytes.first_chunk::<LONG_HEADER>().ok_or(HeaderError::TooShort { got: bytes.len() })?;
        if head.iter().all(|byte| *byte == 0) {
            return Err(HeaderError::Zeros);
        }
        let magic = le16(head, 0);
        if majors_of_magic(magic).is_empty() {
            return Err(HeaderError::Magic { magic });
        }
        let info = le16(head, 2);
        if info & LONG_HEADER_FLAG == 0 {
            return Err(HeaderError::NotFirstPage { info });
        }
        let timeline = le32(head, 4);
        if timeline == 0 {
            return Err(HeaderError::Field { field: "the timeline", value: 0 });
        }
        let size = u64::from(le32(head, 32));
        let segment_size = SegmentSize::new(size).ok_or(HeaderError::Field { field: "the segment size", value: size })?;
        let block_size = le32(head, 36);
        if !block_size.is_power_of_two() || !(1 << 10..=1 << 16).contains(&block_size) {
            return Err(HeaderError::Field { field: "the WAL block size", value: u64::from(block_size) });
        }
        let page_address = Lsn(le64(head, 8));
        Ok(Self { magic, timeline, page_address, system_id: SystemId(le64(head, 24)), segment_size, block_size })
    }
}

/// The major versions that write this magic number; empty when we know none.
pub const fn majors_of_magic(magic: u16) -> &'static [u32] {
    match magic {
        0xD097 => &[10],
        0xD098 => &[11],
        0xD101 => &[12],
        0xD106 => &[13],
        0xD10D => &[14],
        0xD110 => &[15],
        0xD113 => &[16],
        0xD116 => &[17],
        0xD118 => &[18],
        _ => &[],
    }
}

/// Why a segment is not the one that its name says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentFault {
    /// The object's bytes are bad.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// The first page is bad.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// Another place in the stream.
    #[error("the header says position {found}, the name says {wanted}")]
    Position {
        /// In the header.
        found: Lsn,
        /// By the name.
        wanted: Lsn,
    },
    /// A timeline that the name does not allow.
    #[error("the header says timeline {found}, the name says {wanted}")]
    Timeline {
        /// In the header.
        found: u32,
        /// By the name.
        wanted: u32,
    },
    /// Another segment size.
    #[error("the header says segments of {found} bytes, the backup says {wanted}")]
    SegmentSize {
        /// In the header.
        found: u64,
        /// Expected.
        wanted: u64,
    },
    /// Another cluster wrote it.
    #[error("the header says system identifier {found}, expected is {wanted}")]
    System {
        /// In the header.
        found: SystemId,
        /// Expected.
        wanted: SystemId,
    },
}

/// Checks a whole segment, or its first bytes when `whole` is false, against its name, size and system.
///
/// A header timeline *below* that of the name is right: the segment in which a timeline was left begins with the parent's pages.
pub fn check_head(
    bytes: &[u8],
    name: SegmentName,
    size: SegmentSize,
    expected_system: Option<SystemId>,
) -> Result<WalHeader, SegmentFault> {
    let header = WalHeader::parse(bytes)?;
    if header.segment_size != size {
        return Err(SegmentFault::SegmentSize { found: header.segment_size.bytes(), wanted: size.bytes() });
    }
    if let Some(wanted) = expected_system.filter(|wanted| *wanted != header.system_id) {
        return Err(SegmentFault::System { found: header.system_id, wanted });
    }
    let wanted = name.start(size).unwrap_or(Lsn(0));
    if header.page_address != wanted {
        return Err(SegmentFault::Position { found: header.page_address, wanted });
    }
    if header.timeline > name.timeline {
        return Err(SegmentFault::Timeline { found: header.timeline, wanted: name.timeline });
    }
    Ok(header)
}

/// [`check_head`], and the exact length of a whole segment.
pub fn check_segment(
    bytes: &[u8],
    name: SegmentName,
    size: SegmentSize,
    expected_system: Option<SystemId>,
) -> Result<WalHeader, SegmentFault> {
    if bytes.len() < size.as_usize() {
        return Err(Damage::TooShort { got: bytes.len() as u64, wanted: size.bytes() }.into());
    }
    if bytes.len() > size.as_usize() {
        return Err(Damage::TooLong { wanted: size.bytes() }.into());
    }
    check_head(bytes, name, size, expected_system)
}

/// Whether a body begins with the envelope of an aws-chunked upload: a hexadecimal length, perhaps a signature, CR LF.
/// Seen on stores that do not decode trailing checksums (<https://github.com/cloudnative-pg/cloudnative-pg/issues/8065>).
pub fn aws_chunked(bytes: &[u8]) -> bool {
    let digits = bytes.iter().take(9).take_while(|byte| byte.is_ascii_hexdigit()).count();
    if digits == 0 || digits > 8 {
        return false;
    }
    let rest = bytes.get(digits..).unwrap_or_default();
    rest.starts_with(b"\r\n") || rest.starts_with(b";chunk-signature=")
}

fn le16(bytes: &[u8; LONG_HEADER], at: usize) -> u16 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |part| u16::from_le_bytes(*part))
}

fn le32(bytes: &[u8; LONG_HEADER], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |part| u32::from_le_bytes(*part))
}

fn le64(bytes: &[u8; LONG_HEADER], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |part| u64::from_le_bytes(*part))
}
