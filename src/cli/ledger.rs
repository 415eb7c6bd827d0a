//! `dalsegno ledger`: the record itself.

use std::path::PathBuf;

/// The record itself.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    /// What to do.
    pub command: Command,
}

/// What to do with the ledger.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// Read every page and every reference; exit 5 when it is damaged
    Verify,
    /// Write everything in it as JSON lines
    Export(Export),
}

/// Where to.
#[derive(Clone, Debug, clap::Args)]
pub struct Export {
    /// A new file; stdout when left out
    pub file: Option<PathBuf>,
}
