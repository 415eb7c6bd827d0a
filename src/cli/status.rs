//! `dalsegno status`: what the last pass saw.

/// What the last pass saw: one line per subject, nearest harm first.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Only this subject, or those whose end this is
    pub subject: Option<String>,
}
