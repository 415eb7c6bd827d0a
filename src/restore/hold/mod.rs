//! `dalsegno internal hold` and `dalsegno internal exec`: the two small processes between us and PostgreSQL.
//!
//! `hold` keeps one sandbox: it sits on a pipe from us, starts and stops the postmaster on request, and when the pipe closes
//! (we ended, however) it stops the postmaster and removes the sandbox. `exec` becomes the postmaster: it binds its life to
//! `hold` (`PR_SET_PDEATHSIG`), leaves the network, gives up root, then calls `exec`.
//!
//! Both run before any async runtime: the parent-death signal belongs to the thread that forked, and leaving a user namespace
//! needs a process of one thread.

mod become_postgres;
mod keep;
mod line;

pub use line::{Order, Said, StartOrder};

use crate::domain::ExitCode;

/// Runs `internal hold …` or `internal exec …`; `args` begins behind `internal`.
pub fn main(args: &[String]) -> ExitCode {
    match args.split_first() {
        Some((word, rest)) if word == "hold" => keep::keep(rest),
        Some((word, rest)) if word == "exec" => become_postgres::become_postgres(rest),
        _ => ExitCode::Usage,
    }
}
