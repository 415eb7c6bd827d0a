//! backup_label, and the `.backup` file that PostgreSQL archives when a base backup ends: the same words with a STOP part.

use super::name::{Lsn, SegmentName};

/// What a label says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupLabel {
    /// Where replay starts.
    pub start: Lsn,
    /// The segment that holds it.
    pub start_segment: SegmentName,
    /// The checkpoint's position.
    pub checkpoint: Lsn,
    /// Where the backup ends; only in `.backup`.
    pub stop: Option<Lsn>,
    /// `START TIMELINE`.
    pub timeline: Option<u32>,
    /// `primary` or `standby`.
    pub from: Option<String>,
    /// The name given to the backup.
    pub label: Option<String>,
}

/// Why a label cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// More bytes than a label has.
    #[error("{got} bytes are more than a backup label has")]
    TooLarge {
        /// How many.
        got: usize,
    },
    /// A line that must be there is not, or does not read.
    #[error("has no readable line \"{line}\"")]
    Line {
        /// How it starts.
        line: &'static str,
    },
}

/// The most bytes of a label that we read.
const MAX_LABEL: usize = 64 << 10;

impl BackupLabel {
    /// Reads the (decompressed) text.
    pub fn parse(text: &str) -> Result<Self, LabelError> {
        if text.len() > MAX_LABEL {
            return Err(LabelError::TooLarge { got: text.len() });
        }
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
        let missing = |line| LabelError::Line { line };
        let (start, start_segment) =
            field("START WAL LOCATION:").and_then(position_and_file).ok_or_else(|| missing("START WAL LOCATION"))?;
        let checkpoint = field("CHECKPOINT LOCATION:").and_then(|value| value.parse().ok());
        Ok(Self {
            start,
            start_segment,
            checkpoint: checkpoint.ok_or_else(|| missing("CHECKPOINT LOCATION"))?,
            stop: field("STOP WAL LOCATION:").and_then(position_and_file).map(|(stop, _)| stop),
            timeline: field("START TIMELINE:").and_then(|value| value.parse().ok()),
            from: field("BACKUP FROM:").map(str::to_owned),
            label: field("LABEL:").map(str::to_owned),
        })
    }
}

/// `0/15000028 (file 000000010000000000000015)`.
fn position_and_file(value: &str) -> Option<(Lsn, SegmentName)> {
    let (lsn, rest) = value.split_once(' ')?;
    let name = rest.trim().strip_prefix("(file ")?.strip_suffix(')')?;
    Some((lsn.parse().ok()?, name.parse().ok()?))
}
