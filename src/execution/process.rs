//! Who runs a plan: enough to tell a living process from one that is gone and whose pid was given away.

use std::fs;

use serde::{Deserialize, Serialize};

/// A process. Facts of Linux's `/proc` (proc_pid_stat(5)); what cannot be read is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its pid, in its own pid namespace.
    pub pid: u32,
    /// When it started, in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start_ticks: Option<u64>,
    /// `/proc/sys/kernel/random/boot_id`: another one means another boot or another machine.
    pub boot_id: Option<String>,
    /// Which pid namespace the pid means something in (`/proc/PID/ns/pid`): each container has its own.
    pub pid_namespace: Option<String>,
}

impl Process {
    /// This process.
    pub fn this() -> Self {
        let pid = std::process::id();
        Self { pid, start_ticks: start_ticks(pid), boot_id: boot_id(), pid_namespace: pid_namespace() }
    }

    /// Whether it can be shown that this very process still lives. Another boot, another namespace, another start: not shown.
    pub fn lives(&self) -> bool {
        let here = self.boot_id.is_some()
            && self.boot_id == boot_id()
            && self.pid_namespace.is_some()
            && self.pid_namespace == pid_namespace();
        here && self.start_ticks.is_some() && self.start_ticks == start_ticks(self.pid)
    }
}

fn boot_id() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

fn pid_namespace() -> Option<String> {
    Some(fs::read_link("/proc/self/ns/pid").ok()?.to_string_lossy().into_owned())
}

/// Field 22. The command name (field 2) may hold spaces and brackets, so counting begins behind the last bracket.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_ascii_whitespace();
    // A zombie (state Z) or a dead one (X) does nothing any more.
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}
