//! A process that we started, and who it is: number, start, boot, executable and working folder. All must agree before we call it ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::process::Process;

/// A process that we started, written down when it was alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMark {
    /// Which process.
    #[serde(flatten)]
    pub process: Process,
    /// What it runs.
    pub executable: PathBuf,
    /// Where it runs.
    pub folder: PathBuf,
}

impl ProcessMark {
    /// Reads the mark of a living process.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self {
            process: Process::of(pid)?,
            executable: fs::read_link(format!("/proc/{pid}/exe")).ok()?,
            folder: fs::read_link(format!("/proc/{pid}/cwd")).ok()?,
        })
    }

    /// Whether exactly this process still lives, and is still at the same work. A parent that changed its folder is not asked for
    /// that: see [`Process::lives`].
    pub fn lives(&self) -> bool {
        self.process.lives()
            && Self::of(self.process.pid)
                .is_some_and(|now| same_file(&now.executable, &self.executable) && now.folder == self.folder)
    }

    /// Sends a signal, if it is still this process.
    pub fn signal(&self, signal: Signal) {
        let Ok(pid) = i32::try_from(self.process.pid) else { return };
        if self.lives() {
            // It may end between the two lines; then there is nobody to tell.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Waits until it is gone.
    pub fn gone_within(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            if !self.lives() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends it: asks, then kills.
    pub fn end(&self, ask: Signal, patience: Duration) -> bool {
        self.signal(ask);
        if self.gone_within(patience) {
            return true;
        }
        self.signal(Signal::SIGKILL);
        self.gone_within(Duration::from_secs(5))
    }
}

/// A program that was replaced on disk while it ran shows as `… (deleted)`.
fn same_file(now: &Path, then: &Path) -> bool {
    now == then || now.to_string_lossy().strip_suffix(" (deleted)").is_some_and(|text| Path::new(text) == then)
}
