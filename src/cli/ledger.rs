//! `dalsegno ledger`: the record itself.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::failure::{Failure, say};
use super::out::Out;
use crate::app::{Ledger, LedgerError, Rewound, Verified};
use crate::domain::{ExitCode, many};

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
    /// Go back to an older snapshot in the bucket, when the newest is damaged
    Rewind(Rewind),
}

/// Where to go back to.
#[derive(Clone, Debug, clap::Args)]
pub struct Rewind {
    /// The snapshot's name below PREFIX/ledger/
    pub snapshot: String,
}

/// Where to.
#[derive(Clone, Debug, clap::Args)]
pub struct Export {
    /// A new file; stdout when left out
    pub file: Option<PathBuf>,
}

/// Does what was asked for.
pub async fn run(args: &Args, ledger: &Ledger, out: &Out) -> Result<ExitCode, Failure> {
    match &args.command {
        Command::Verify | Command::Rewind(_) => verify(ledger, out).await,
        Command::Export(Export { file: Some(file) }) => {
            let lines = export_to(ledger, file).await?;
            say(&format!("{} in {}", many(lines, "row"), file.display()));
            Ok(ExitCode::Fine)
        }
        Command::Export(Export { file: None }) => match ledger.export(&mut std::io::stdout()).await {
            // Whoever reads has seen enough (`| head`).
            Err(LedgerError::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ExitCode::Fine),
            other => Ok(other.map(|_| ExitCode::Fine)?),
        },
    }
}

/// Says what rewinding did.
pub fn show_rewound(rewound: &Rewound, out: &Out) -> Result<ExitCode, Failure> {
    let text = |_: &Out| {
        format!("the ledger is {} again (serial {}); {} stays where it is", rewound.snapshot, rewound.serial, rewound.was)
    };
    out.show(rewound, text)?;
    Ok(ExitCode::Fine)
}

async fn verify(ledger: &Ledger, out: &Out) -> Result<ExitCode, Failure> {
    let verified = ledger.verify().await?;
    out.show(&verified, |_| verified_text(&verified, ledger.file()))?;
    Ok(if verified.whole() { ExitCode::Fine } else { ExitCode::Stuck })
}

/// What the checks said: one line when nothing is wrong, else one line per problem and what to do.
pub fn verified_text(verified: &Verified, file: &Path) -> String {
    let (file, checks) = (file.display(), verified.checks.len());
    if verified.whole() {
        return format!("{file}: {}, nothing wrong", many(checks, "check"));
    }
    let problems = verified.problems.join("\n  ");
    format!(
        "{file}: {} in {}\n  {problems}\n\nhint: keep a copy (cp {file}* elsewhere/) before anything else; \
         dalsegno ledger export saves what can be read",
        many(verified.problems.len(), "problem"),
        many(checks, "check")
    )
}

/// Writes a new file, for its owner only; half a file is removed.
async fn export_to(ledger: &Ledger, file: &Path) -> Result<u64, LedgerError> {
    let made = std::fs::File::options().write(true).create_new(true).mode(0o600).open(file).map_err(LedgerError::Write)?;
    let mut writing = std::io::BufWriter::new(made);
    let written = ledger.export(&mut writing).await;
    let written = match written {
        Ok(lines) => writing.get_ref().sync_all().map(|()| lines).map_err(LedgerError::Write),
        Err(error) => Err(error),
    };
    if written.is_err()
        && let Err(error) = std::fs::remove_file(file)
    {
        say(&format!("{} is not whole and cannot be removed: {error}", file.display()));
    }
    written
}
