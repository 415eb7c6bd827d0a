//! Why no restore is planned: each reason with its code, both sides of the mismatch and what to do.

use jiff::Timestamp;

use crate::domain::{ExitCode, Explained, SystemId};

/// Why an archive cannot be restored as asked. Decided from the catalogue, before anything is fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing lies there.
    #[error("the archive is empty: no base backup and no WAL")]
    Empty,
    /// No base backup that says DONE.
    #[error("{segments} WAL segments and no base backup that says DONE{seen}")]
    NoBackup {
        /// Segments in the archive.
        segments: u64,
        /// The others, in words: ` (20261130T091120 FAILED)`.
        seen: String,
    },
    /// The record lacks what a restore needs.
    #[error("backup.info of {backup} has no {field}")]
    RecordIncomplete {
        /// The backup.
        backup: String,
        /// What is not there.
        field: &'static str,
    },
    /// Objects of the base backup are not there.
    #[error("base backup {backup} is not complete: {} missing", missing.join(", "))]
    BaseIncomplete {
        /// The backup.
        backup: String,
        /// What is not there.
        missing: Vec<String>,
        /// Only tablespaces are missing.
        tablespace: bool,
    },
    /// WAL between its begin and its end is not there.
    #[error("base backup {backup} needs {begin} to {end}, and {first} is not in the archive")]
    BackupWalMissing {
        /// The backup.
        backup: String,
        /// First needed.
        begin: String,
        /// Last needed.
        end: String,
        /// First missing.
        first: String,
        /// When the backup ended: a young one may still get its last segment.
        ended: Option<Timestamp>,
    },
    /// Segments are missing although later ones are there.
    #[error("{count} WAL segments are missing between base backup {backup} and the newest segment: {first} to {last}")]
    Hole {
        /// The backup.
        backup: String,
        /// First missing.
        first: String,
        /// Last missing.
        last: String,
        /// How many.
        count: u64,
        /// When the segment after the hole was written: parallel uploads can leave one for seconds.
        later_written: Option<Timestamp>,
    },
    /// A segment of no bytes stands in the way.
    #[error("segment {segment} is an object of no bytes: recovery from base backup {backup} cannot pass it")]
    EmptySegment {
        /// The backup.
        backup: String,
        /// The segment.
        segment: String,
    },
    /// A `.partial` stands where a whole segment should.
    #[error(
        "segment {segment} exists only as .partial although later ones follow: recovery from base backup {backup} ends there"
    )]
    PartialInside {
        /// The backup.
        backup: String,
        /// The segment.
        segment: String,
    },
    /// Two systems wrote into this archive.
    #[error("objects of two systems: base backup {backup} is of {expected}, {other} carries {found}")]
    MixedSystems {
        /// The backup.
        backup: String,
        /// Its system.
        expected: SystemId,
        /// The other object.
        other: String,
        /// Its system.
        found: SystemId,
    },
    /// A history stands above the chosen timeline, or an abandoned timeline could be mistaken for the living one.
    #[error("timeline {orphan} would be followed by a default restore, and the cluster went on along timeline {chosen}: {why}")]
    OrphanTimeline {
        /// The timeline that leads astray.
        orphan: u32,
        /// The one that has the newest segments.
        chosen: u32,
        /// How it is seen.
        why: String,
    },
    /// Segments lie on a timeline whose history is not there or cannot be read.
    #[error(
        "timeline {timeline} has segments, and its history {why}: nobody can tell how to get there from base backup {backup}"
    )]
    HistoryMissing {
        /// The timeline.
        timeline: u32,
        /// `is not in the archive`, or what is wrong with it.
        why: String,
        /// The backup.
        backup: String,
    },
    /// The named timeline cannot be reached.
    #[error("timeline {timeline} cannot be reached from any base backup: {why}")]
    TimelineUnreachable {
        /// What was asked for.
        timeline: u32,
        /// Why.
        why: String,
    },
    /// The target lies before what can be restored.
    #[error("the target {target} is before the end of the oldest base backup ({earliest})")]
    TargetTooEarly {
        /// The target.
        target: Timestamp,
        /// The earliest moment.
        earliest: Timestamp,
    },
    /// The target lies after what can be restored.
    #[error("the target {target} is after what the archive covers ({}){}", covered(*covered_until), broken(broken_at.as_deref()))]
    TargetTooLate {
        /// The target.
        target: Timestamp,
        /// The newest moment.
        covered_until: Option<Timestamp>,
        /// First missing segment, when a hole ends the chain.
        broken_at: Option<String>,
    },
    /// The target lies between begin and end of the only backup that could be used.
    #[error("the target {target} is inside base backup {backup}, which is consistent from {end} on")]
    TargetInsideBackup {
        /// The target.
        target: Timestamp,
        /// The backup.
        backup: String,
        /// Its end.
        end: Timestamp,
    },
}

fn covered(until: Option<Timestamp>) -> String {
    until.map_or_else(|| "not known until when".to_owned(), |until| format!("until {until}"))
}

fn broken(at: Option<&str>) -> String {
    at.map(|segment| format!(": segment {segment} is missing")).unwrap_or_default()
}

impl Refusal {
    /// Whether the archive is bad. `false`: what was asked for does not exist, or nobody can tell; such a drill is *unknown*.
    pub const fn is_damage(&self) -> bool {
        !matches!(
            self,
            Self::Empty
                | Self::OrphanTimeline { .. }
                | Self::TimelineUnreachable { .. }
                | Self::TargetTooEarly { .. }
                | Self::TargetTooLate { .. }
                | Self::TargetInsideBackup { .. }
        )
    }
}

impl Explained for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Self::Empty => "archive-empty",
            Self::NoBackup { .. } => "wal-without-base-backup",
            Self::RecordIncomplete { .. } => "base-backup-metadata-unreadable",
            Self::BaseIncomplete { tablespace: true, .. } => "base-backup-tablespace-missing",
            Self::BaseIncomplete { .. } => "base-backup-incomplete",
            Self::BackupWalMissing { .. } => "base-backup-wal-not-archived",
            Self::Hole { .. } => "wal-gap",
            Self::EmptySegment { .. } => "wal-segment-empty",
            Self::PartialInside { .. } => "wal-partial-inside-chain",
            Self::MixedSystems { .. } => "wal-chain-mixed-system-id",
            Self::OrphanTimeline { .. } => "wal-orphan-timeline",
            Self::HistoryMissing { .. } => "wal-history-missing",
            Self::TimelineUnreachable { .. } | Self::TargetTooEarly { .. } | Self::TargetTooLate { .. } => {
                "restore-target-unreachable"
            }
            Self::TargetInsideBackup { .. } => "restore-target-inside-backup",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Empty => "check prefix and server name of the archive; then take a base backup".to_owned(),
            Self::NoBackup { .. } | Self::RecordIncomplete { .. } => "take a base backup of the running cluster now".to_owned(),
            Self::BaseIncomplete { .. } => {
                "take a base backup now; look for the lost objects in older versions of the bucket".to_owned()
            }
            Self::BackupWalMissing { .. } => {
                "run SELECT pg_switch_wal() on the primary and see that the segment arrives; else take a base backup".to_owned()
            }
            Self::Hole { .. } | Self::EmptySegment { .. } | Self::PartialInside { .. } => {
                "archive the segment again from pg_wal of a server that still has it; else take a base backup now".to_owned()
            }
            Self::MixedSystems { .. } => {
                "give each cluster a prefix of its own, then take a base backup of the one that lives".to_owned()
            }
            Self::OrphanTimeline { orphan, chosen, .. } => {
                format!("move the history of timeline {orphan} out of wals/ and keep a copy; until then name --timeline {chosen}")
            }
            Self::HistoryMissing { timeline, .. } => {
                format!("copy {timeline:08X}.history from pg_wal of the primary into the archive; else take a base backup")
            }
            Self::TimelineUnreachable { .. } => "see which timelines there are: dalsegno archive windows".to_owned(),
            Self::TargetTooEarly { earliest, .. } => format!("ask for a moment after {earliest}"),
            Self::TargetTooLate { covered_until: Some(until), .. } => {
                format!("ask for a moment before {until}, or for --target end")
            }
            Self::TargetTooLate { .. } => "ask for --target end".to_owned(),
            Self::TargetInsideBackup { end, .. } => format!("ask for a moment after {end}"),
        })
    }

    fn exit(&self) -> ExitCode {
        if self.is_damage() { ExitCode::DrillFailed } else { ExitCode::CouldNotLook }
    }
}
