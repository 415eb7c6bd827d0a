//! Points at which the test bench can kill this process. Compiled in with the feature `lab` only, never in a release.
//!
//! `DALSEGNO_KILL_AT=17` kills at the 17th point that is passed; `DALSEGNO_KILL_AT=after-handle:2` at the second one of that name.
//! `DALSEGNO_KILL_LIST=FILE` writes a line `NUMBER NAME:TIMES` per point as it is passed, so that a test can list them first.

/// Passes a point. Does nothing without the feature `lab`.
#[cfg(not(feature = "lab"))]
pub const fn point(_name: &str) {}

/// Whether the write of a record shall be torn here: half of it is written, then the process is killed at `torn-…`.
#[cfg(not(feature = "lab"))]
pub const fn tears(_name: &str) -> bool {
    false
}

#[cfg(feature = "lab")]
pub use lab::{point, tears};

#[cfg(feature = "lab")]
mod lab {
    use std::collections::BTreeMap;
    use std::io::Write as _;
    use std::sync::{Mutex, PoisonError};

    static PASSED: Mutex<(u64, BTreeMap<String, u64>)> = Mutex::new((0, BTreeMap::new()));

    /// Passes a point: lists it, and dies there by SIGKILL when the environment says so.
    pub fn point(name: &str) {
        if reached(name) {
            die();
        }
    }

    /// Whether the write of a record shall be torn here.
    pub fn tears(name: &str) -> bool {
        reached(name)
    }

    fn reached(name: &str) -> bool {
        let (number, times) = {
            let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
            passed.0 += 1;
            let number = passed.0;
            let times = passed.1.entry(name.to_owned()).or_insert(0);
            *times += 1;
            (number, *times)
        };
        if let Some(list) = std::env::var_os("DALSEGNO_KILL_LIST")
            && let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(list)
        {
            let _ = writeln!(file, "{number} {name}:{times}");
        }
        std::env::var("DALSEGNO_KILL_AT").is_ok_and(|at| at == number.to_string() || at == format!("{name}:{times}"))
    }

    /// SIGKILL: no handler runs, no buffer is flushed, as when the kernel's OOM killer comes.
    fn die() {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
        std::process::abort();
    }
}
