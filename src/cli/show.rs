//! `dalsegno show`: one recorded run.

/// One recorded run: what was seen, found, sent and started.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The run's id, or the end of it
    pub run: String,
}
