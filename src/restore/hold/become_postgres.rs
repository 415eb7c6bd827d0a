//! Becomes the postmaster: out of the network, out of root, bound to the keeper's life.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Gid, Uid, geteuid, getgid, getppid, getuid, setgid, setgroups, setuid};

use super::fence::fence;
use crate::domain::ExitCode;
use crate::restore::sandbox::Sandbox;

#[derive(Debug, Default)]
struct Wanted {
    parent: i32,
    user: Option<(u32, u32)>,
    seal: bool,
    fence: Option<String>,
    program: Vec<String>,
}

/// `internal exec --parent PID [--user UID:GID] [--seal] [--fence SANDBOX] -- PROGRAM ARGUMENTS`. Comes back only when it failed.
pub(super) fn become_postgres(args: &[String]) -> ExitCode {
    let Some(wanted) = parse(args) else {
        return ExitCode::Usage;
    };
    let Err(why) = go(&wanted);
    // Standard error is the sandbox's log, which our parent reads when the postmaster ends early.
    let _ = writeln!(std::io::stderr(), "dalsegno: {why}");
    ExitCode::CouldNotLook
}

fn parse(args: &[String]) -> Option<Wanted> {
    let mut wanted = Wanted::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--parent" => wanted.parent = args.next()?.parse().ok()?,
            "--user" => {
                let (uid, gid) = args.next()?.split_once(':')?;
                wanted.user = Some((uid.parse().ok()?, gid.parse().ok()?));
            }
            "--seal" => wanted.seal = true,
            "--fence" => wanted.fence = Some(args.next()?.clone()),
            "--" => wanted.program = args.by_ref().cloned().collect(),
            _ => return None,
        }
    }
    (wanted.parent > 0 && !wanted.program.is_empty()).then_some(wanted)
}

fn go(wanted: &Wanted) -> Result<std::convert::Infallible, String> {
    let (program, arguments) = wanted.program.split_first().ok_or("no program")?;
    if wanted.seal
        && let Err(why) = leave_network()
    {
        // Not fatal: how closed the sandbox is gets read from outside, and the drill judges by that.
        let _ = writeln!(std::io::stderr(), "dalsegno: stays in the network: {why}");
    }
    if let Some((uid, gid)) = wanted.user {
        become_user(Uid::from_raw(uid), Gid::from_raw(gid))?;
    }
    if geteuid().is_root() {
        return Err("will not run PostgreSQL as root".to_owned());
    }
    // After the change of user, which would clear it.
    set_pdeathsig(Signal::SIGQUIT).map_err(|error| format!("PR_SET_PDEATHSIG: {error}"))?;
    if getppid().as_raw() != wanted.parent {
        return Err("the keeper ended first".to_owned());
    }
    SigSet::empty().thread_set_mask().map_err(|error| format!("signal mask: {error}"))?;
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    if let Some(folder) = &wanted.fence
        && let Err(why) = fence(&Sandbox::at(Path::new(folder)), Path::new(program))
    {
        // Not fatal either, and read back over SQL.
        let _ = writeln!(std::io::stderr(), "dalsegno: stays without a fence: {why}");
    }
    let error = Command::new(program)
        .args(arguments)
        .env_clear()
        // Messages in English, since we read them; time zone and locale of the data come from the data.
        .env("LC_ALL", "C")
        .env("PATH", "/usr/bin:/bin")
        .exec();
    Err(format!("{program}: {error}"))
}

/// Gives up root for good.
pub(super) fn become_user(uid: Uid, gid: Gid) -> Result<(), String> {
    setgroups(&[gid]).map_err(|error| format!("setgroups: {error}"))?;
    setgid(gid).map_err(|error| format!("setgid {gid}: {error}"))?;
    setuid(uid).map_err(|error| format!("setuid {uid}: {error}"))
}

/// A network namespace of its own holds nothing but a loopback that is down. As root directly, else inside a user namespace
/// that maps only ourselves (user_namespaces(7)).
pub(super) fn leave_network() -> Result<(), String> {
    if geteuid().is_root() {
        return unshare(CloneFlags::CLONE_NEWNET).map_err(|error| format!("unshare: {error}"));
    }
    let (uid, gid) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).map_err(|error| format!("unshare: {error}"))?;
    for (file, text) in
        [("setgroups", "deny".to_owned()), ("uid_map", format!("{uid} {uid} 1")), ("gid_map", format!("{gid} {gid} 1"))]
    {
        fs::write(format!("/proc/self/{file}"), text).map_err(|error| format!("{file}: {error}"))?;
    }
    Ok(())
}
