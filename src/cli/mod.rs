//! The command line: argv in, data on stdout, talk on stderr, an exit code.

pub mod ack;
pub mod archive;
pub mod argv;
mod ask;
pub mod at_least;
pub mod check;
pub mod completions;
pub mod config;
mod context;
pub mod daemon;
mod dispatch;
pub mod doctor;
pub mod drill;
pub mod explain;
pub mod failure;
pub mod from;
pub mod history;
pub mod init;
pub mod internal;
pub mod junit;
pub mod ledger;
pub mod notify;
pub mod out;
pub mod probe;
pub mod progress;
pub mod rbac;
pub mod run;
pub mod runbook;
pub mod show;
pub mod signal;
pub mod status;

use std::path::PathBuf;
use std::sync::Arc;

pub use failure::Failure;
pub use out::{Format, Out};

use crate::app::Source;
use crate::domain::{ExitCode, Progress};
use crate::telemetry::LogFormat;

/// The table of exit codes, below every `--help`. docs/reference/exit-codes.md tells more; a test compares the two.
pub const EXIT_CODES: &str = "\
Exit codes:
  0      fine, proven, gate open
  1      findings at or above the threshold
  2      usage or configuration; ledger newer than the program
  3      only \"could not look\" stands between us and fine
  4      a drill or a restore failed
  5      stuck, damaged ledger, left-overs
  6      lost the race for the ledger
  70     a bug of ours
  128+n  ended by signal n, after clean-up
The first that applies of 70, 2, 6, 5, 4, 1, 3, 0.";

/// Watches backups and the bucket itself, restores for real, and keeps the proof.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "dalsegno", version, about, after_help = EXIT_CODES, propagate_version = true)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Clone, Debug, clap::Args)]
pub struct Global {
    /// Configuration: a file or a folder of *.yaml; may be given again
    #[arg(
        short,
        long,
        global = true,
        value_name = "PATH",
        env = "DALSEGNO_CONFIG",
        value_delimiter = ':',
        help_heading = "Global options"
    )]
    pub config: Vec<PathBuf>,
    /// Form of the data on stdout
    #[arg(short, long, global = true, value_enum, default_value_t, value_name = "FORM", help_heading = "Global options")]
    pub output: Format,
    /// Form of the log on stderr
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORM", help_heading = "Global options")]
    pub log_format: LogFormat,
    /// More in the log; -vv for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Global options")]
    pub verbose: u8,
    /// Where the configuration lies, when it lies in a bucket
    #[command(flatten)]
    pub from: from::From,
}

/// The commands.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// One pass: look, say what is wrong, send what changed
    Run(run::Args),
    /// The pass in a loop, with /healthz and /metrics
    Daemon(daemon::Args),
    /// Look now and judge; remembers nothing
    Check(check::Args),
    /// What the last pass saw, one line per subject
    Status(status::Args),
    /// Restore for the proof; sweep left-overs; show evidence
    Drill(drill::Args),
    /// What lies in a PostgreSQL archive
    Archive(archive::Args),
    /// Is every provider reachable, with which rights, and the fix
    Doctor(doctor::Args),
    /// Try a store: what it can do, and what its clients need
    Probe(probe::Args),
    /// Check a runbook on paper
    Runbook(runbook::Args),
    /// Acknowledge a finding: nobody is called until it ends
    Ack(ack::Args),
    /// What is acknowledged, by whom and until when
    Acks(ack::ListArgs),
    /// Try the channels that tell people
    Notify(notify::Args),
    /// Recorded runs
    History(history::Args),
    /// One recorded run
    Show(show::Args),
    /// Verify or export what is recorded
    Ledger(ledger::Args),
    /// What a finding code means and what to do
    Explain(explain::Args),
    /// Write a commented configuration to start from
    Init(init::Args),
    /// Check, show or describe the configuration
    Config(config::Args),
    /// A completion script for a shell
    #[command(hide = true)]
    Completions(completions::Args),
    /// The man pages
    #[command(hide = true)]
    Man(completions::ManArgs),
}

impl Cli {
    /// Does what was asked for.
    pub async fn run(self, out: &Out, progress: &Arc<dyn Progress>) -> Result<ExitCode, Failure> {
        let Self { global, command } = self;
        let source = match &command {
            // They need no configuration, so nobody is asked for the keys of one.
            Command::Explain(_) | Command::Init(_) | Command::Completions(_) | Command::Man(_) => Source::files(&global.config),
            _ => from::source(&global).await?,
        };
        let desk = dispatch::Desk { source: &source, progress, out };
        match command {
            Command::Run(args) => desk.run(&args).await,
            Command::Daemon(args) => desk.daemon(&args).await,
            Command::Check(args) => desk.check(&args).await,
            Command::Status(args) => desk.status(&args).await,
            Command::Drill(args) => desk.drill(&args).await,
            Command::Archive(args) => desk.archive(&args).await,
            Command::Doctor(args) => desk.doctor(&args).await,
            Command::Probe(args) => desk.probe(&args).await,
            Command::Runbook(args) => desk.runbook(&args),
            Command::Ack(args) => desk.ack(&args).await,
            Command::Acks(args) => desk.acks(&args).await,
            Command::Notify(args) => desk.notify(&args).await,
            Command::History(args) => desk.history(&args).await,
            Command::Show(args) => desk.show(&args).await,
            Command::Ledger(args) => desk.ledger(&args).await,
            Command::Explain(args) => explain::run(&args, out),
            Command::Init(args) => init::run(&args, progress, out).await,
            Command::Config(args) => config::run(&args, &source, out),
            Command::Completions(args) => completions::run(&args, out),
            Command::Man(args) => completions::man(&args, out),
        }
    }
}
