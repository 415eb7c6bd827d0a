//! `dalsegno drill`: restore for real, check, measure, clean up, keep evidence.

use crate::domain::Isolation;

/// Restore for real into a sandbox, check the data, measure RPO and RTO, clean up, keep evidence.
#[derive(Clone, Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    /// What else can be done with drills.
    pub command: Option<Command>,
    #[command(flatten)]
    /// A drill.
    pub start: Start,
}

/// What else can be done with drills.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// Remove what interrupted drills left
    Gc(Gc),
    /// Show the evidence of a drill
    Report(Report),
}

/// A drill to be run.
#[derive(Clone, Debug, clap::Args)]
pub struct Start {
    /// A shipped runbook (pg-restore) or a file
    #[arg(required = true)]
    pub runbook: Option<String>,
    /// The database to restore: its name or subject
    #[arg(long, value_name = "NAME")]
    pub db: Option<String>,
    /// Where recovery ends: end, or a time such as 2026-09-30T14:00:00Z
    #[arg(long, value_name = "end|TIME")]
    pub target: Option<String>,
    /// The timeline, when it is not the archive's main one
    #[arg(long, value_name = "NUMBER")]
    pub timeline: Option<u32>,
    /// Any other parameter of the runbook; may be given again
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Show every object that would be made, changed or removed, and stop
    #[arg(long)]
    pub plan: bool,
    /// The least isolation to accept: none, declared, closed, sealed
    #[arg(long, value_parser = isolation)]
    pub isolation: Option<Isolation>,
}

/// Removing left-overs.
#[derive(Clone, Debug, clap::Args)]
pub struct Gc {
    /// Show what would be removed, and stop
    #[arg(long)]
    pub dry_run: bool,
}

/// Showing evidence.
#[derive(Clone, Debug, clap::Args)]
pub struct Report {
    /// The run, or the end of its id; the newest drill when left out
    pub run: Option<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

fn isolation(word: &str) -> Result<Isolation, String> {
    serde_json::from_value(serde_json::Value::String(word.to_owned()))
        .map_err(|_| "one of none, declared, closed, sealed".to_owned())
}
