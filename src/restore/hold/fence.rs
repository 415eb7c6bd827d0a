//! Keeps PostgreSQL inside of its sandbox, whatever the WAL or the restored catalogue tells it to do.
//!
//! Replay of `CREATE TABLESPACE` links to the absolute path of the source and writes there, which on the source's own host is
//! production. Landlock (<https://docs.kernel.org/userspace-api/landlock.html>) lets a process without rights give up the rest of
//! the file system for itself and all its children: nothing can be written but the sandbox, nothing read but what the programs need,
//! nothing run but PostgreSQL, no TCP used. Whether it holds is read back over SQL ([`crate::restore::isolation`]).

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
    path_beneath_rules,
};

use crate::restore::sandbox::Sandbox;

/// What is asked for; an older kernel enforces what it knows of it.
const ASKED: ABI = ABI::V6;
/// Before this a file outside could still be truncated.
const NEEDED: ABI = ABI::V3;

/// Libraries and the loader, which the kernel runs on a program's behalf. Stores of Nix and Guix hold both in one tree.
const RUN: [&str; 8] = ["/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/nix/store", "/gnu/store"];
/// What PostgreSQL and its libraries read: locales, time zones, collations, names of users. Nothing else of `/etc`.
const READ: [&str; 20] = [
    "/usr",
    "/opt",
    "/etc/alternatives",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/timezone",
    "/home/linuxbrew/.linuxbrew",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/sys/vm",
    "/run/current-system",
    "/sys/devices/system",
    "/dev/urandom",
    "/dev/zero",
];

/// Builds the fence around this process and all that come from it. The error says why there is none.
pub(super) fn fence(sandbox: &Sandbox, program: &Path) -> Result<(), String> {
    let read = AccessFs::from_read(ASKED) & !BitFlags::from(AccessFs::Execute);
    let run = AccessFs::from_read(ASKED);
    let write = read | AccessFs::from_write(ASKED);
    let inside = [sandbox.data(), sandbox.wal(), sandbox.socket(), sandbox.folder().join("tablespaces"), sandbox.log()];
    let tell = |error: landlock::RulesetError| error.to_string();
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(ASKED))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ASKED)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ASKED)))
        .and_then(Ruleset::create)
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(RUN, run)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(READ, read)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules([bin(program)], run)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(installation(program), read)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules([sandbox.conf()], read)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(inside, write)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(["/dev/null", "/dev/shm"], write)))
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(tell)?;
    let enough = matches!(status.landlock, LandlockStatus::Available { effective_abi, .. } if effective_abi >= NEEDED);
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("the kernel has no Landlock, or it is switched off".to_owned()),
        _ if !enough => Err(format!("the kernel's Landlock is older than ABI {NEEDED:?} (Linux 6.2): {:?}", status.landlock)),
        _ => Ok(()),
    }
}

fn bin(program: &Path) -> PathBuf {
    program.parent().unwrap_or(program).to_owned()
}

/// `<prefix>/bin/postgres` finds its `share` and `lib` beside `bin`. Never the root, and nothing directly below it.
fn installation(program: &Path) -> Option<PathBuf> {
    let prefix = program.parent()?.parent()?;
    (prefix.components().count() > 2).then(|| prefix.to_owned())
}
