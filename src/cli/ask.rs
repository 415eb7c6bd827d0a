//! Asking a person at a terminal for a key, without showing what is typed. Where nobody sits there, nobody is asked.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

use crate::app::Ask;
use crate::domain::Secret;

/// Asks on the terminal; `None` when there is none, or when nothing was typed.
pub(super) fn person(ask: &Ask) -> Option<Secret> {
    let (stdin, stderr) = (std::io::stdin(), std::io::stderr());
    if !stdin.is_terminal() || !stderr.is_terminal() {
        return None;
    }
    // An echo that cannot be turned off would show the key: then it is not asked for.
    let quiet = Quiet::begin().ok()?;
    let _ = write!(stderr.lock(), "{} ({}; empty = go on without): ", ask.variable, ask.purpose);
    let _ = stderr.lock().flush();
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    drop(quiet);
    let _ = writeln!(stderr.lock());
    read.ok()?;
    let typed = line.trim_end_matches(['\n', '\r']);
    (!typed.is_empty()).then(|| Secret::new(typed.to_owned()))
}

/// The terminal shows nothing of what is typed as long as this lives.
struct Quiet(Termios);

impl Quiet {
    fn begin() -> nix::Result<Self> {
        let before = tcgetattr(std::io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_flags.remove(LocalFlags::ECHO);
        quiet.local_flags.insert(LocalFlags::ECHONL);
        tcsetattr(std::io::stdin(), SetArg::TCSAFLUSH, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // The terminal may be gone: then there is nothing to give back.
        let _ = tcsetattr(std::io::stdin(), SetArg::TCSANOW, &self.0);
    }
}
