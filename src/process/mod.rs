//! Who a process is: enough to tell it from one that was given its pid later. A leaf: it imports no other room.
//!
//! Facts of Linux: proc_pid_stat(5), pid_namespaces(7), `/proc/sys/kernel/random/boot_id` in proc_sys_kernel(5).

pub mod kill;

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

/// A process, written down while it was alive. All four must agree before another start calls it the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number, in `namespace`.
    pub pid: u32,
    /// When it started, in clock ticks since boot: field 22 of `/proc/PID/stat`.
    pub started: u64,
    /// The kernel's boot id: another one means another boot or another machine, where the number means nothing.
    pub boot: String,
    /// The pid namespace of whoever wrote it down (`/proc/self/ns/pid`): each container has its own numbers.
    pub namespace: String,
}

impl Process {
    /// A process of this pid namespace; `None` when there is none of that number, or only its corpse.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started: started(pid)?, boot: boot().ok()?, namespace: namespace().ok()? })
    }

    /// This process.
    pub fn this() -> io::Result<Self> {
        let pid = std::process::id();
        let started = started(pid).ok_or_else(|| io::Error::other("/proc/self/stat has no start time"))?;
        Ok(Self { pid, started, boot: boot()?, namespace: namespace()? })
    }

    /// Whether it can be shown that this very process still lives. Another boot, another namespace, another start: not shown.
    pub fn lives(&self) -> bool {
        boot().is_ok_and(|boot| boot == self.boot)
            && namespace().is_ok_and(|namespace| namespace == self.namespace)
            && started(self.pid) == Some(self.started)
    }
}

/// The name of this host, for people. It identifies no process: two containers may bear the same.
pub fn host() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/hostname")?.trim().to_owned())
}

fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

fn namespace() -> io::Result<String> {
    Ok(fs::read_link("/proc/self/ns/pid")?.to_string_lossy().into_owned())
}

/// Field 22 of `/proc/PID/stat`. A zombie (Z) or a dead one (X, x) does nothing any more.
fn started(pid: u32) -> Option<u64> {
    started_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name in brackets (field 2) may hold spaces and brackets: fields are counted behind the last one.
fn started_in(stat: &str) -> Option<u64> {
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::started_in;

    #[test]
    fn the_start_is_counted_from_the_last_bracket_and_a_corpse_has_none() {
        let of = |state: &str| format!("7 (a b) c) {state} 1 7 7 0 -1 4194304 5 0 0 0 1 2 0 0 20 0 1 0 4711 99 100 0");
        assert_eq!(started_in(&of("S")), Some(4711));
        assert_eq!(started_in(&of("Z")), None);
        assert_eq!(started_in(&of("X")), None);
        assert_eq!(started_in("7 (cut off"), None);
    }
}
