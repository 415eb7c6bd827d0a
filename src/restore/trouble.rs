//! Why a restore does not go on: the archive is bad, or we could not.

use crate::domain::{ActError, Exit, ExitCode, Explained, State};

/// The two kinds that a verdict keeps apart, and the two that end a drill without one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The archive is to blame: the drill failed.
    #[error("{why}")]
    Bad {
        /// What is wrong, with the key.
        why: String,
    },
    /// Our own lack, or no answer: space, memory, rights, time, network. Never counts as failed.
    #[error("{why}")]
    CouldNot {
        /// What was not possible.
        why: String,
        /// What to do.
        hint: String,
    },
    /// Somebody else's thing stands under our name.
    #[error("{why}")]
    Unclear {
        /// What is there.
        why: String,
    },
    /// The cancellation token was set.
    #[error("cancelled")]
    Cancelled,
}

impl Trouble {
    /// The archive is bad.
    pub fn bad(why: impl Into<String>) -> Self {
        Self::Bad { why: why.into() }
    }

    /// We could not.
    pub fn could_not(why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::CouldNot { why: why.into(), hint: hint.into() }
    }

    /// A call of the operating system on a path of ours failed: always our lack, never the archive's.
    pub fn disk(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let hint = match error.raw_os_error() {
            Some(code) if code == nix::errno::Errno::ENOSPC as i32 || code == nix::errno::Errno::EDQUOT as i32 => {
                "free some space, or set drill.folder to a larger file system"
            }
            Some(code) if code == nix::errno::Errno::EACCES as i32 || code == nix::errno::Errno::EPERM as i32 => {
                "check the rights on drill.folder"
            }
            _ => "look at the system's log, then run the drill again",
        };
        Self::could_not(format!("could not {what} {}: {error}", path.display()), hint)
    }

    /// What `look` answers for it.
    pub fn into_state(self) -> State {
        match self {
            Self::Bad { why } => State::Failed { why },
            Self::CouldNot { why, hint } => State::CouldNot { why, hint },
            Self::Unclear { why } => State::Unclear { why },
            Self::Cancelled => {
                State::CouldNot { why: "cancelled before it was done".to_owned(), hint: "run the drill again".to_owned() }
            }
        }
    }

    /// What `start` answers for it, when nothing was made.
    pub fn into_not_started(self) -> ActError {
        match self {
            Self::Bad { why } => ActError::Bad { why },
            Self::CouldNot { why, hint } => ActError::NotStarted { why, hint },
            Self::Unclear { why } => ActError::Refused { why, hint: "look at it and remove it by hand".to_owned() },
            Self::Cancelled => ActError::NotStarted { why: "cancelled".to_owned(), hint: "run the drill again".to_owned() },
        }
    }
}

impl Explained for Trouble {
    fn code(&self) -> &'static str {
        match self {
            Self::Bad { .. } => "restore-bad-archive",
            Self::CouldNot { .. } => "restore-could-not",
            Self::Unclear { .. } => "restore-unclear",
            Self::Cancelled => "restore-cancelled",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Bad { .. } => "run `dalsegno archive audit` on this archive, then take a new base backup".to_owned(),
            Self::CouldNot { hint, .. } => hint.clone(),
            Self::Unclear { .. } => "look at it, then remove it by hand".to_owned(),
            Self::Cancelled => "run the drill again".to_owned(),
        })
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Bad { .. } => ExitCode::DrillFailed,
            Self::CouldNot { .. } | Self::Cancelled => ExitCode::CouldNotLook,
            Self::Unclear { .. } => ExitCode::Stuck,
        }
    }
}
