//! How much memory a restored PostgreSQL is given.
//!
//! It decides about the length of a drill: a page that leaves the shared buffers while WAL is replayed costs a write, and each write
//! moves the minimum recovery point in the control file. Replay of the bench's archive took 43 s with 128 MiB and 11 s with 512 MiB.

use std::fs;
use std::path::Path;

/// PostgreSQL starts with less, but replay crawls.
const LEAST: u64 = 32 << 20;
/// When nothing tells what is free: what PostgreSQL itself defaults to.
const UNTOLD: u64 = 128 << 20;
/// Of what is free, one part in so many: the rest is for the file system's cache, which replay needs as much.
const SHARE: u64 = 4;

/// `shared_buffers` for one drill: a quarter of the memory that is free on this machine and in this control group, `most` at most.
pub fn shared_buffers(most: u64) -> u64 {
    share_of(free(Path::new("/proc/meminfo"), Path::new("/sys/fs/cgroup")), most)
}

fn share_of(free: Option<u64>, most: u64) -> u64 {
    free.map_or(UNTOLD, |free| free / SHARE).max(LEAST).min(most)
}

/// The smaller of what the machine and the control group have left; `None` when neither tells.
fn free(meminfo: &Path, group: &Path) -> Option<u64> {
    let machine = fs::read_to_string(meminfo).ok().and_then(|text| available(&text));
    let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    // "max" is no number: no limit.
    let room = number("memory.max").map(|most| most.saturating_sub(number("memory.current").unwrap_or(0)));
    [machine, room].into_iter().flatten().min()
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::{LEAST, UNTOLD, available, free, share_of};

    #[test]
    fn a_quarter_of_what_is_free_within_bounds() {
        assert_eq!(share_of(Some(4 << 30), 1 << 30), 1 << 30);
        assert_eq!(share_of(Some(1 << 30), 1 << 30), 256 << 20);
        assert_eq!(share_of(Some(1 << 20), 1 << 30), LEAST);
        assert_eq!(share_of(None, 1 << 30), UNTOLD);
        assert_eq!(share_of(Some(4 << 30), 64 << 20), 64 << 20);
    }

    #[test]
    fn the_control_group_counts_when_it_is_smaller() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let meminfo = folder.path().join("meminfo");
        std::fs::write(&meminfo, "MemTotal: 999 kB\nMemAvailable:   8388608 kB\n")?;
        assert_eq!(free(&meminfo, folder.path()), Some(8 << 30));
        std::fs::write(folder.path().join("memory.max"), "1073741824\n")?;
        std::fs::write(folder.path().join("memory.current"), "73741824\n")?;
        assert_eq!(free(&meminfo, folder.path()), Some(1_000_000_000));
        std::fs::write(folder.path().join("memory.max"), "max\n")?;
        assert_eq!(free(&meminfo, folder.path()), Some(8 << 30));
        Ok(())
    }

    #[test]
    fn an_unreadable_answer_tells_nothing() {
        assert_eq!(available("MemFree: 1 kB\n"), None);
        assert_eq!(available("MemAvailable: x kB\n"), None);
    }
}
