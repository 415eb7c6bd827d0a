//! `dalsegno config`.

use std::path::PathBuf;

use super::failure::Failure;
use super::out::Out;
use crate::domain::ExitCode;

/// Check, show or describe the configuration.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    /// What to do.
    pub command: Command,
}

/// What to do with the configuration.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {}

/// x
pub fn run(args: &Args, _sources: &[PathBuf], _out: &Out) -> Result<ExitCode, Failure> {
    match args.command {}
}
