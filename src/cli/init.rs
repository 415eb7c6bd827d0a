//! `dalsegno init`: a commented configuration to start from. Asks nothing, overwrites nothing.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::failure::{Failure, say};
use super::out::Out;
use crate::domain::{Exit, ExitCode, Explained};

/// The configuration that is written. A test holds it against the schema.
pub const TEMPLATE: &str = include_str!("init.yaml");

/// Write a commented configuration to start from.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// A new file; stdout when left out
    pub file: Option<PathBuf>,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// Something is there already.
    #[error("{} is there already, and init never overwrites", .0.display())]
    Exists(PathBuf),
    /// It cannot be written.
    #[error("cannot write {}", .0.display())]
    Write(PathBuf, #[source] std::io::Error),
}

impl Explained for InitError {
    fn code(&self) -> &'static str {
        match self {
            Self::Exists(_) => "file-exists",
            Self::Write(..) => "file-not-written",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Exists(file) => format!("name another file, or look at it with: dalsegno config check -c {}", file.display()),
            Self::Write(..) => {
                "does the folder exist, and may this user write there? Without a file it goes to stdout".to_owned()
            }
        })
    }

    fn exit(&self) -> Exit {
        ExitCode::Usage
    }
}

/// Writes the template.
pub fn run(args: &Args, out: &Out) -> Result<ExitCode, Failure> {
    let Some(file) = &args.file else {
        out.text(TEMPLATE)?;
        return Ok(ExitCode::Fine);
    };
    write_new(file)?;
    say(&format!("wrote {}; fill in what it says, then: dalsegno config check -c {}", file.display(), file.display()));
    Ok(ExitCode::Fine)
}

/// `create_new` asks and makes in one step, so nothing that appears in between is lost.
fn write_new(file: &Path) -> Result<(), InitError> {
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).open(file);
    let mut opened = opened.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => InitError::Exists(file.to_owned()),
        _ => InitError::Write(file.to_owned(), error),
    })?;
    opened.write_all(TEMPLATE.as_bytes()).map_err(|error| InitError::Write(file.to_owned(), error))
}
