//! `dalsegno runbook`: runbooks on paper.

/// Runbooks on paper: nothing is contacted.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    /// What to do.
    pub command: Command,
}

/// What to do with a runbook.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// Check a runbook's text: verbs, arguments, parameters, outputs, risks
    Check(Check),
}

/// Which one.
#[derive(Clone, Debug, clap::Args)]
pub struct Check {
    /// A shipped runbook (pg-restore) or a file
    pub runbook: String,
}
