//! A severity threshold on the command line.

use crate::domain::Severity;

/// The least severity that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum AtLeast {
    /// Worth knowing.
    Info,
    /// Will hurt if nobody acts.
    #[default]
    Warning,
    /// Hurts now.
    Critical,
}

impl From<AtLeast> for Severity {
    fn from(threshold: AtLeast) -> Self {
        match threshold {
            AtLeast::Info => Self::Info,
            AtLeast::Warning => Self::Warning,
            AtLeast::Critical => Self::Critical,
        }
    }
}
