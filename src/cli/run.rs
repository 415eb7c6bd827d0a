//! `dalsegno run`: one pass.

use super::at_least::AtLeast;

/// What decides the exit code of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ExitBy {
    /// What was found (0, 1, 3, …).
    #[default]
    Findings,
    /// 0 when the pass did its work, whatever it found: for Kubernetes Jobs with backoffLimit 0.
    Work,
}

/// Look at everything, say what changed, follow what was started, start what is due; then exit.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// What decides the exit code
    #[arg(long, value_enum, default_value_t, value_name = "BY")]
    pub exit: ExitBy,
    /// The least severity that makes the exit code 1
    #[arg(long, value_enum, default_value_t, value_name = "SEVERITY")]
    pub fail_on: AtLeast,
}
