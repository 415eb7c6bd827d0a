//! `dalsegno completions` and `dalsegno man`: made from the same description as the parser.

use std::path::PathBuf;

use clap::CommandFactory;

use super::Cli;
use super::failure::Failure;
use super::out::{Out, OutError};
use crate::domain::ExitCode;

/// A script that completes commands and options, on stdout.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// The man pages.
#[derive(Clone, Debug, clap::Args)]
pub struct ManArgs {
    /// A folder that gets one page per command; the main page on stdout when left out
    pub folder: Option<PathBuf>,
}

/// Prints the completion script.
pub fn run(args: &Args, out: &Out) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "dalsegno", &mut script);
    out.text(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::Fine)
}

/// Prints the man page, or writes all of them.
pub fn man(args: &ManArgs, out: &Out) -> Result<ExitCode, Failure> {
    if let Some(folder) = &args.folder {
        clap_mangen::generate_to(Cli::command(), folder).map_err(OutError::Stdout)?;
        return Ok(ExitCode::Fine);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(OutError::Stdout)?;
    out.text(&String::from_utf8_lossy(&page))?;
    Ok(ExitCode::Fine)
}
