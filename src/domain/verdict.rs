//! The three verdicts, and the exit codes.

use serde::{Deserialize, Serialize};

/// What a proof says. There is no fourth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It was restored and shown to be right.
    Proven,
    /// It was looked at and is bad.
    Failed,
    /// It could not be looked at, or not far enough. Our own lack (space, memory, time, rights) is always this.
    Unknown,
}

impl Verdict {
    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// The exit code of a drill with this verdict.
    pub const fn exit(self) -> ExitCode {
        match self {
            Self::Proven => ExitCode::Fine,
            Self::Failed => ExitCode::DrillFailed,
            Self::Unknown => ExitCode::CouldNotLook,
        }
    }
}

/// The exit codes of DESIGN §5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitCode {
    /// 0: fine, proven, gate open.
    Fine,
    /// 1: findings at or above the threshold.
    Findings,
    /// 2: usage, configuration, or a ledger newer than the program.
    Usage,
    /// 3: only "could not look" stands between us and fine.
    CouldNotLook,
    /// 4: a drill or a restore failed.
    DrillFailed,
    /// 5: stuck, damaged ledger, left-overs.
    Stuck,
    /// 6: lost the race for the ledger.
    LostRace,
    /// 70: a bug of ours.
    Bug,
    /// 128 + n: ended by signal n, after clean-up.
    Signal(u8),
}

impl ExitCode {
    /// The number the process ends with.
    pub const fn number(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::CouldNotLook => 3,
            Self::DrillFailed => 4,
            Self::Stuck => 5,
            Self::LostRace => 6,
            Self::Bug => 70,
            Self::Signal(n) => 128_u8.saturating_add(n),
        }
    }

    /// Precedence: the first that applies of (signal), 70, 2, 6, 5, 4, 1, 3, 0.
    const fn rank(self) -> u8 {
        match self {
            Self::Signal(_) => 0,
            Self::Bug => 1,
            Self::Usage => 2,
            Self::LostRace => 3,
            Self::Stuck => 4,
            Self::DrillFailed => 5,
            Self::Findings => 6,
            Self::CouldNotLook => 7,
            Self::Fine => 8,
        }
    }

    /// Of two outcomes, the one that the process must report.
    #[must_use]
    pub const fn worse(self, other: Self) -> Self {
        if other.rank() < self.rank() { other } else { self }
    }
}
