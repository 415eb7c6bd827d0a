//! `dalsegno init`: a commented configuration to start from. Asks nothing, overwrites nothing.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::context::Context;
use super::failure::{Failure, say};
use super::out::Out;
use crate::app::{ClusterNamed, configuration_from_cluster};
use crate::domain::{Exit, ExitCode, Explained, Progress};

/// The configuration that is written. A test holds it against the schema.
pub const TEMPLATE: &str = include_str!("init.yaml");

/// Write a commented configuration to start from.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// A new file; stdout when left out
    pub file: Option<PathBuf>,
    /// Write what fits a cluster: how it is reached, the stores that its databases archive to. No Secret is read
    #[arg(long)]
    pub from_cluster: bool,
    /// A context of the kubeconfig; left out: its current one
    #[arg(long, requires = "from_cluster", value_name = "NAME")]
    pub context: Option<String>,
    /// A kubeconfig; left out: the one that kubectl takes, or the pod's own service account
    #[arg(long, requires = "from_cluster", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
}

/// One look at a cluster.
const LOOK_LIMIT: Duration = Duration::from_mins(2);

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
pub async fn run(args: &Args, progress: &Arc<dyn Progress>, out: &Out) -> Result<ExitCode, Failure> {
    let text = if args.from_cluster { from_cluster(args, progress).await? } else { TEMPLATE.to_owned() };
    let Some(file) = &args.file else {
        out.text(&text)?;
        return Ok(ExitCode::Fine);
    };
    write_new(file, &text)?;
    say(&format!("wrote {}; fill in what it says, then: dalsegno config check -c {}", file.display(), file.display()));
    Ok(ExitCode::Fine)
}

async fn from_cluster(args: &Args, progress: &Arc<dyn Progress>) -> Result<String, Failure> {
    let context = Context::begin(progress, LOOK_LIMIT)?;
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let name: String = args.context.as_deref().unwrap_or("main").chars().map(fits).collect();
    let of = ClusterNamed { name, kubeconfig: args.kubeconfig.clone(), context: args.context.clone() };
    Ok(configuration_from_cluster(&of, &context.cx).await?)
}

/// `create_new` asks and makes in one step, so nothing that appears in between is lost.
fn write_new(file: &Path, text: &str) -> Result<(), InitError> {
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).open(file);
    let mut opened = opened.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => InitError::Exists(file.to_owned()),
        _ => InitError::Write(file.to_owned(), error),
    })?;
    opened.write_all(text.as_bytes()).map_err(|error| InitError::Write(file.to_owned(), error))
}
