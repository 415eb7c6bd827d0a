//! `dalsegno internal hold` and `dalsegno internal exec`: the two small processes between us and PostgreSQL; and `internal try`,
//! which shows without a drill what `exec` could do here.
//!
//! `hold` keeps one sandbox: it sits on a pipe from us, starts and stops the postmaster on request, and when the pipe closes
//! (we ended, however) it stops the postmaster and removes the sandbox. `exec` becomes the postmaster: it binds its life to
//! `hold` (`PR_SET_PDEATHSIG`), leaves the network, gives up root and the rest of the file system, then calls `exec`.
//!
//! All run before any async runtime: the parent-death signal belongs to the thread that forked, and leaving a user namespace
//! needs a process of one thread.

mod become_postgres;
mod fence;
mod keep;
mod line;
mod trial;

use std::ffi::OsString;

use crate::domain::ExitCode;
pub use line::{Order, Said, StartOrder};
pub use trial::Tried;

/// `internal hold <folder>`; `args` begins behind the word.
pub fn hold(args: &[OsString]) -> ExitCode {
    texts(args).map_or(ExitCode::Usage, |args| keep::keep(&args))
}

/// `internal exec …`; `args` begins behind the word.
pub fn exec(args: &[OsString]) -> ExitCode {
    texts(args).map_or(ExitCode::Usage, |args| become_postgres::become_postgres(&args))
}

/// `internal try …`; `args` begins behind the word.
pub fn try_out(args: &[OsString]) -> ExitCode {
    texts(args).map_or(ExitCode::Usage, |args| trial::try_out(&args))
}

/// All words, for a caller that does not tell them apart; `args` begins behind `internal`.
pub fn main(args: &[OsString]) -> ExitCode {
    match args.split_first() {
        Some((word, rest)) if word == "hold" => hold(rest),
        Some((word, rest)) if word == "exec" => exec(rest),
        Some((word, rest)) if word == "try" => try_out(rest),
        _ => ExitCode::Usage,
    }
}

/// We wrote the arguments ourselves, in UTF-8.
fn texts(args: &[OsString]) -> Option<Vec<String>> {
    args.iter().map(|arg| arg.to_str().map(ToOwned::to_owned)).collect()
}
