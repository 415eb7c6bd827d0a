//! From argv to a command. Under the name `kubectl-dalsegno` we are a plug-in of kubectl, and are called so in every usage text.

use std::ffi::OsString;
use std::path::Path;

use clap::{CommandFactory as _, FromArgMatches as _};

use super::Cli;

/// The name under which kubectl finds a plug-in: <https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/>.
const PLUGIN: &str = "kubectl-dalsegno";
/// What a person types then.
const CALLED: &str = "kubectl dalsegno";

/// Parses. Errors are those of clap, help and version among them.
pub fn parse(argv: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    if is_plugin(argv) {
        command = command.bin_name(CALLED);
    }
    let matches = command.try_get_matches_from_mut(argv)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Whether kubectl called us.
fn is_plugin(argv: &[OsString]) -> bool {
    argv.first().and_then(|path| Path::new(path).file_name()).is_some_and(|name| name == PLUGIN)
}
