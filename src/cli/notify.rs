//! `dalsegno notify`: channels.

use super::failure::Failure;
use super::out::Out;
use crate::conductor::Tried;
use crate::domain::{Exit, ExitCode, Explained};

/// Who is told.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What can be done with channels.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// Send a test through every channel, or through one, now
    Test(TestArgs),
}

/// Send a test, now and past the outbox, and say how each channel answered. 1 when one did not take it.
#[derive(Clone, Debug, clap::Args)]
pub struct TestArgs {
    /// Its name: ops, alertmanager/main, heartbeat; all when left out
    pub channel: Option<String>,
}

/// Why nothing can be tried.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// The configuration names nobody.
    #[error("the configuration names no channel that can be used")]
    Nobody,
    /// No channel of that name.
    #[error("no channel \"{asked}\" in the configuration (known: {})", .known.join(", "))]
    Unknown {
        /// What was asked for.
        asked: String,
        /// What there is.
        known: Vec<String>,
    },
}

impl Explained for TestError {
    fn code(&self) -> &'static str {
        match self {
            Self::Nobody => "notify-nobody",
            Self::Unknown { .. } => "notify-unknown",
        }
    }

    fn hint(&self) -> Option<String> {
        Some("dalsegno config show  says which channels there are, and which lack something".to_owned())
    }

    fn exit(&self) -> Exit {
        ExitCode::Usage
    }
}

/// Prints how the channels answered.
pub fn show(tried: &[Tried], out: &Out) -> Result<ExitCode, Failure> {
    out.show(&tried, |out| table(tried, out))?;
    Ok(if tried.iter().all(|tried| tried.took) { ExitCode::Fine } else { ExitCode::Findings })
}

/// One line per channel.
pub fn table(tried: &[Tried], out: &Out) -> String {
    let row = |tried: &Tried| {
        let answer = if tried.took { "taken".to_owned() } else { "NOT TAKEN".to_owned() };
        vec![tried.channel.clone(), tried.kind.to_owned(), answer, tried.why.clone().unwrap_or_else(|| "-".to_owned())]
    };
    out.table(&["CHANNEL", "KIND", "TEST", "WHY"], tried.iter().map(row).collect())
}
