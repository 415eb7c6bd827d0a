//! Timeline histories: `00000002.history` names each ancestor and where it was left.
//!
//! One line per ancestor: timeline, TAB, switch position, TAB, reason; `#` starts a comment
//! (<https://github.com/postgres/postgres/blob/master/src/backend/access/transam/timeline.c>).

use super::name::{Lsn, SegmentSize};

/// The most bytes of a history that we read.
pub const MAX_HISTORY: u64 = 1 << 20;

/// One ancestor.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HistoryEntry {
    /// The ancestor.
    pub timeline: u32,
    /// Where it was left: bytes before this position are the ancestor's.
    #[serde(with = "as_number")]
    pub switch: Lsn,
}

mod as_number {
    use super::Lsn;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
    pub(super) fn serialize<S: Serializer>(lsn: &Lsn, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(lsn.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Lsn, D::Error> {
        u64::deserialize(from).map(Lsn)
    }
}

/// The history of one timeline.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct History {
    /// The timeline that it belongs to.
    pub timeline: u32,
    /// Its ancestors, oldest first.
    pub entries: Vec<HistoryEntry>,
}

/// Why a history cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// More bytes than a history has.
    #[error("{got} bytes are more than a history has (at most {MAX_HISTORY})")]
    TooLarge {
        /// How many.
        got: u64,
    },
    /// A line that is not timeline, position, reason.
    #[error("line {line} is not \"<timeline> <position> <reason>\"")]
    Line {
        /// Counted from 1.
        line: usize,
    },
    /// Timelines must grow from line to line.
    #[error("line {line}: timeline {timeline} does not follow {before}")]
    Order {
        /// Counted from 1.
        line: usize,
        /// The one in this line.
        timeline: u32,
        /// The one before.
        before: u32,
    },
    /// An ancestor is older than the timeline itself.
    #[error("timeline {ancestor} cannot be an ancestor of timeline {timeline}")]
    Descendant {
        /// The history's own timeline.
        timeline: u32,
        /// What it names.
        ancestor: u32,
    },
    /// No ancestor at all.
    #[error("names no ancestor")]
    Empty,
}

impl History {
    /// Reads the (decompressed) file of this timeline.
    pub fn parse(timeline: u32, bytes: &[u8]) -> Result<Self, HistoryError> {
        if bytes.len() as u64 > MAX_HISTORY {
            return Err(HistoryError::TooLarge { got: bytes.len() as u64 });
        }
        let mut entries: Vec<HistoryEntry> = Vec::new();
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line_number = index + 1;
            // The reason is free text of any encoding; only the first two fields are read.
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let entry = entry_of(line).ok_or(HistoryError::Line { line: line_number })?;
            if let Some(before) = entries.last().filter(|before| before.timeline >= entry.timeline) {
                return Err(HistoryError::Order { line: line_number, timeline: entry.timeline, before: before.timeline });
            }
            entries.push(entry);
        }
        let last = entries.last().ok_or(HistoryError::Empty)?;
        if last.timeline >= timeline {
            return Err(HistoryError::Descendant { timeline, ancestor: last.timeline });
        }
        Ok(Self { timeline, entries })
    }

    /// The timeline that was left to begin this one.
    pub fn parent(&self) -> Option<&HistoryEntry> {
        self.entries.last()
    }

    /// Where this ancestor was left. `None` when it is none.
    pub fn left(&self, ancestor: u32) -> Option<Lsn> {
        self.entries.iter().find(|entry| entry.timeline == ancestor).map(|entry| entry.switch)
    }

    /// Which timeline's segment of this number belongs to the path that ends on this timeline. The segment that holds a switch
    /// position is the child's.
    pub fn owner_of(&self, number: u64, size: SegmentSize) -> u32 {
        self.entries.iter().find(|entry| number < size.number_of(entry.switch)).map_or(self.timeline, |entry| entry.timeline)
    }
}

fn entry_of(line: &[u8]) -> Option<HistoryEntry> {
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let timeline: u32 = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let switch: Lsn = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    (timeline != 0).then_some(HistoryEntry { timeline, switch })
}
