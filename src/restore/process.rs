//! Who a process is: pid, start time, boot, executable and working folder. All of it must agree before we call it ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// A process that we started, written down when it was alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMark {
    /// Its number.
    pub pid: i32,
    /// Clock ticks from boot to its start: field 22 of `/proc/<pid>/stat`.
    pub start_time: u64,
    /// `/proc/sys/kernel/random/boot_id`: after a restart of the machine, numbers mean nothing.
    pub boot: String,
    /// What it runs.
    pub executable: PathBuf,
    /// Where it runs.
    pub folder: PathBuf,
}

impl ProcessMark {
    /// Reads the mark of a living process.
    pub fn of(pid: i32) -> Option<Self> {
        Some(Self {
            pid,
            start_time: start_time(pid)?,
            boot: boot()?,
            executable: fs::read_link(format!("/proc/{pid}/exe")).ok()?,
            folder: fs::read_link(format!("/proc/{pid}/cwd")).ok()?,
        })
    }

    /// Whether exactly this process still lives.
    pub fn lives(&self) -> bool {
        boot().as_deref() == Some(self.boot.as_str())
            && start_time(self.pid) == Some(self.start_time)
            && Self::of(self.pid).is_some_and(|now| same_file(&now.executable, &self.executable) && now.folder == self.folder)
    }

    /// Whether some process of this number and start time lives, whatever it runs now: a parent that changed its folder is still it.
    pub fn is_alive(&self) -> bool {
        boot().as_deref() == Some(self.boot.as_str()) && start_time(self.pid) == Some(self.start_time)
    }

    /// Sends a signal, if it is still this process.
    pub fn signal(&self, signal: Signal) {
        if self.lives() {
            // It may end between the two lines; then there is nobody to tell.
            let _ = kill(Pid::from_raw(self.pid), signal);
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

fn boot() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|text| text.trim().to_owned())
}

/// The start time in ticks; `None` when there is no such process, or only its corpse.
pub fn start_time(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold spaces and brackets: fields are counted behind the last one.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}
