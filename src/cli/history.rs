//! `dalsegno history`: recorded runs.

/// Recorded passes and drills, newest first.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Only runs that found, proved or failed something about this subject
    pub subject: Option<String>,
    /// How many
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    pub limit: u32,
}
