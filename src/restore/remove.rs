//! Takes back what `sandbox.make` made: a sandbox that this process holds, or one that it finds by its mark.
//!
//! A sandbox has three names: the final one, `.….new` while it is made, `.….gone` while it goes. All derive from run and step, so that
//! a kill at any point leaves something that is found again.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::geteuid;

use super::held::Held;
use super::process::ProcessMark;
use super::sandbox::{GONE, KEEPER, MARKER, Marker, NEW, POSTMASTER, Sandbox, passing_name, read_json};
use crate::domain::{RunId, Undone};
use crate::process::Process;

/// Removes a sandbox of this process; nothing works in it any more.
pub async fn remove_held(held: &Held, run: RunId) -> Undone {
    // What the keeper could not do is found below.
    if let Some(keeper) = held.keeper.lock().await.take()
        && let Err(error) = keeper.remove().await
    {
        tracing::debug!(%error, "the keeper did not remove its sandbox");
    }
    match remove_found(&held.sandbox, run) {
        Undone::NothingToDo => Undone::Removed,
        done => done,
    }
}

/// Removes a sandbox, whoever made it, under each of its names, when it bears the mark of this run and nobody works in it.
pub fn remove_found(sandbox: &Sandbox, run: RunId) -> Undone {
    let passing = [NEW, GONE].map(|word| passing_name(sandbox.folder(), word));
    let mut done = remove_final(sandbox, run);
    for folder in &passing {
        done = match (done, remove_passing(folder, run)) {
            (stuck @ Undone::Stuck { .. }, _) | (_, stuck @ Undone::Stuck { .. }) => stuck,
            (Undone::NothingToDo, Undone::NothingToDo) => Undone::NothingToDo,
            _ => Undone::Removed,
        };
    }
    done
}

fn remove_final(sandbox: &Sandbox, run: RunId) -> Undone {
    if !sandbox.folder().exists() {
        return Undone::NothingToDo;
    }
    let Some(marker) = sandbox.marker() else {
        return stuck(sandbox.folder(), "it bears no marker of ours");
    };
    if let Err(why) = may_go(&marker, run) {
        return stuck(sandbox.folder(), why);
    }
    let (_, problem) = end_processes(sandbox);
    if let Some(why) = problem {
        return stuck(sandbox.folder(), &why);
    }
    match sandbox.remove() {
        Ok(_) => Undone::Removed,
        // The keeper may have been removing it at the same time.
        Err(_) if !sandbox.folder().exists() => Undone::Removed,
        Err(error) => stuck(sandbox.folder(), &error.to_string()),
    }
}

/// A folder that was being made or removed: it holds nothing but perhaps the marker and empty folders. More than that is not ours.
fn remove_passing(folder: &Path, run: RunId) -> Undone {
    let Ok(found) = fs::symlink_metadata(folder) else {
        return Undone::NothingToDo;
    };
    if !found.is_dir() {
        return stuck(folder, "it is no folder");
    }
    match Sandbox::at(folder).marker() {
        Some(marker) => {
            if let Err(why) = may_go(&marker, run) {
                return stuck(folder, why);
            }
        }
        // Killed before the marker was whole, or after it went: then it is empty, and was made by our user.
        None if found.uid() != geteuid().as_raw() => return stuck(folder, "it bears no marker of ours and is another user's"),
        None => {}
    }
    match empty(folder) {
        Ok(()) => Undone::Removed,
        // The keeper may have been removing it at the same time.
        Err(_) if !folder.exists() => Undone::Removed,
        Err(error) => stuck(folder, &error.to_string()),
    }
}

/// Removes empty folders, then the marker, then the folder itself; whatever else lies there stays, and so does the marker.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !is_marker(&entry.file_name()) {
            if !entry.file_type()?.is_dir() {
                return Err(io::Error::other(format!("{} is not ours", entry.path().display())));
            }
            fs::remove_dir(entry.path())?;
        }
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_marker(&entry.file_name()) {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_dir(folder)
}

/// The marker, or its first half.
fn is_marker(name: &std::ffi::OsStr) -> bool {
    name.to_str().and_then(|name| name.strip_prefix(MARKER)).is_some_and(|rest| matches!(rest, "" | ".new"))
}

fn may_go(marker: &Marker, run: RunId) -> Result<(), &'static str> {
    if marker.run != run {
        return Err("it belongs to another run");
    }
    let by = &marker.maker.process;
    if by.lives() && !Process::this().is_ok_and(|me| me == *by) {
        return Err("the run that made it goes on");
    }
    Ok(())
}

fn stuck(folder: &Path, why: &str) -> Undone {
    Undone::Stuck { why: format!("{}: {why}", folder.display()) }
}

/// Stops what another process started in a sandbox of this run.
pub fn stop_found(sandbox: &Sandbox, run: RunId) -> Undone {
    match sandbox.marker() {
        Some(marker) if marker.run == run => match end_processes(sandbox) {
            (_, Some(why)) => Undone::Stuck { why },
            (ended, None) if ended.is_empty() => Undone::NothingToDo,
            _ => Undone::Removed,
        },
        Some(_) => Undone::Stuck { why: format!("{} belongs to another run", sandbox.folder().display()) },
        None => Undone::NothingToDo,
    }
}

/// Ends keeper and postmaster of a dead run. Both must be exactly the processes that were written down.
fn end_processes(sandbox: &Sandbox) -> (Vec<u32>, Option<String>) {
    let mut ended = Vec::new();
    if let Some(keeper) = read_json::<ProcessMark>(&sandbox.folder().join(KEEPER)) {
        // Its pipe is closed already, so it is at work; it is given time before it is asked.
        if !keeper.gone_within(Duration::from_secs(3)) {
            if !keeper.end(Signal::SIGTERM, Duration::from_secs(5)) {
                return (ended, Some(format!("process {} does not end", keeper.process.pid)));
            }
            ended.push(keeper.process.pid);
        }
    }
    if let Some(postmaster) = read_json::<ProcessMark>(&sandbox.folder().join(POSTMASTER))
        && postmaster.lives()
    {
        if !postmaster.end(Signal::SIGQUIT, Duration::from_secs(5)) {
            return (ended, Some(format!("process {} does not end", postmaster.process.pid)));
        }
        ended.push(postmaster.process.pid);
    }
    let pid = fs::read_to_string(sandbox.data().join("postmaster.pid"))
        .ok()
        .and_then(|text| text.lines().next().and_then(|line| line.trim().parse::<u32>().ok()));
    if let Some(mark) = pid.and_then(ProcessMark::of)
        && mark.folder == sandbox.data()
    {
        return (
            ended,
            Some(format!("process {} works in {} and we did not write it down", mark.process.pid, mark.folder.display())),
        );
    }
    (ended, None)
}
