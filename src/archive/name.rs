//! Names of WAL: timelines, positions, segments.
//!
//! `LSN H/L` lies in log `H`; the segment's name is timeline, log and segment number as 8 hex digits each. A log of 4 GiB holds
//! `2^32 / segment size` segments (<https://www.postgresql.org/docs/current/wal-internals.html>).

use std::fmt;
use std::str::FromStr;

/// Why a text is not the name it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not {wanted}")]
pub struct NameError {
    /// What was read, cut to 80 characters.
    pub text: String,
    /// What was wanted.
    pub wanted: &'static str,
}

impl NameError {
    pub(super) fn new(text: &str, wanted: &'static str) -> Self {
        Self { text: text.chars().take(80).flat_map(char::escape_debug).collect(), wanted }
    }
}

/// A timeline number. Displayed in decimal; names carry it as 8 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timeline(pub u32);

impl Timeline {
    /// `00000002`, as in names.
    pub fn hex(self) -> String {
        format!("{:08X}", self.0)
    }

    /// `00000002.history`.
    pub fn history_name(self) -> String {
        format!("{:08X}.history", self.0)
    }

    /// Reads `00000002.history`.
    pub fn of_history_name(name: &str) -> Option<Self> {
        name.strip_suffix(".history").and_then(hex_u32).filter(|timeline| *timeline != 0).map(Self)
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A position in the WAL stream, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

impl FromStr for Lsn {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let bad = || NameError::new(text, "a WAL position (like 0/15000028)");
        let (high, low) = text.split_once('/').ok_or_else(bad)?;
        let part = |part: &str| {
            let plain = (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit());
            plain.then(|| u64::from_str_radix(part, 16).ok()).flatten()
        };
        Ok(Self(part(high).ok_or_else(bad)? << 32 | part(low).ok_or_else(bad)?))
    }
}

/// Bytes of a WAL segment: a power of two from 1 MiB to 1 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentSize(u32);

impl SegmentSize {
    /// What `initdb` uses when nobody says otherwise.
    pub const DEFAULT: Self = Self(16 << 20);

    /// `None` for a size PostgreSQL does not know.
    pub fn new(bytes: u64) -> Option<Self> {
        let fits = bytes.is_power_of_two() && (1 << 20..=1 << 30).contains(&bytes);
        fits.then(|| u32::try_from(bytes).ok().map(Self)).flatten()
    }

    /// In bytes.
    pub const fn bytes(self) -> u64 {
        self.0 as u64
    }

    /// In bytes, to size a buffer.
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }

    /// Segments of one 4 GiB log.
    pub const fn per_log(self) -> u64 {
        (1 << 32) / self.0 as u64
    }

    /// The number of the segment that holds this position.
    pub const fn number_of(self, lsn: Lsn) -> u64 {
        lsn.0 / self.0 as u64
    }
}

/// The name of a WAL segment. Ordered by timeline, then position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentName {
    /// First 8 hex digits.
    pub timeline: u32,
    /// Second 8.
    pub log: u32,
    /// Last 8.
    pub seg: u32,
}

impl SegmentName {
    /// Reads 24 hex digits, upper case as PostgreSQL writes them.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 24 {
            return None;
        }
        let part = |from: usize| text.get(from..from + 8).and_then(hex_u32);
        Some(Self { timeline: part(0)?, log: part(8)?, seg: part(16)? })
    }

    /// The segment of this number. `None` when the number lies past the last log.
    pub fn from_number(timeline: u32, number: u64, size: SegmentSize) -> Option<Self> {
        let log = u32::try_from(number / size.per_log()).ok()?;
        let seg = u32::try_from(number % size.per_log()).ok()?;
        Some(Self { timeline, log, seg })
    }

    /// The segment that holds this position.
    pub fn holding(timeline: u32, lsn: Lsn, size: SegmentSize) -> Option<Self> {
        Self::from_number(timeline, size.number_of(lsn), size)
    }

    /// Its number since the beginning of WAL. `None` when a segment of that size cannot have this name.
    pub fn number(self, size: SegmentSize) -> Option<u64> {
        let seg = u64::from(self.seg);
        (seg < size.per_log()).then(|| u64::from(self.log) * size.per_log() + seg)
    }

    /// The position of its first byte.
    pub fn start(self, size: SegmentSize) -> Option<Lsn> {
        self.number(size).map(|number| Lsn(number * size.bytes()))
    }

    /// The one after it on the same timeline.
    pub fn next(self, size: SegmentSize) -> Option<Self> {
        Self::from_number(self.timeline, self.number(size)?.checked_add(1)?, size)
    }

    /// The one before it on the same timeline.
    pub fn prev(self, size: SegmentSize) -> Option<Self> {
        Self::from_number(self.timeline, self.number(size)?.checked_sub(1)?, size)
    }

    /// The 16 hex digits of the directory that barman puts it in.
    pub fn directory(self) -> String {
        format!("{:08X}{:08X}", self.timeline, self.log)
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08X}{:08X}{:08X}", self.timeline, self.log, self.seg)
    }
}

impl FromStr for SegmentName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text).ok_or_else(|| NameError::new(text, "the name of a WAL segment (24 upper-case hex digits)"))
    }
}

/// Eight upper-case hex digits.
pub(super) fn hex_u32(text: &str) -> Option<u32> {
    let bytes: &[u8; 8] = text.as_bytes().try_into().ok()?;
    let mut value = 0_u32;
    for byte in bytes {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'A'..=b'F' => byte - b'A' + 10,
            _ => return None,
        };
        value = value << 4 | u32::from(digit);
    }
    Some(value)
}
