//! Finds what a killed drill left: folders with a marker of ours whose maker is dead, and the processes they name.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use super::process::ProcessMark;
use super::sandbox::{KEEPER, MARKER, NAME, POSTMASTER, Sandbox, read_json};
use crate::domain::RunId;

/// A passing name without a marker is younger than this only while it is being made.
const PASSING_SECONDS: f64 = 600.0;

/// One left-over, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swept {
    /// The folder.
    pub folder: PathBuf,
    /// Its run, when the marker could be read.
    pub run: Option<RunId>,
    /// What was done.
    pub outcome: SweptOutcome,
    /// Processes that were ended.
    pub ended: Vec<u32>,
}

/// What became of a left-over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum SweptOutcome {
    /// Gone.
    Removed,
    /// Its run goes on; left alone.
    Living,
    /// Not ours, or not to be removed: a human must look.
    Stuck {
        /// Why.
        why: String,
    },
}

/// Sweeps the drill folder. A folder that is not there holds nothing.
pub fn sweep(folder: &Path, now: Timestamp) -> Vec<Swept> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut swept = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if is_passing_name(&name) {
            swept.extend(sweep_passing(&entry.path(), now));
        } else if name.starts_with(NAME) {
            swept.extend(sweep_one(&entry.path()));
        }
    }
    swept.sort_by(|a, b| a.folder.cmp(&b.folder));
    swept
}

/// `.dalsegno-….new` and `.dalsegno-….gone`.
fn is_passing_name(name: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|rest| rest.rsplit_once('.'));
    inner.is_some_and(|(inner, word)| inner.starts_with(NAME) && matches!(word, "new" | "gone"))
}

/// `None`: not ours.
fn sweep_one(folder: &Path) -> Option<Swept> {
    let sandbox = Sandbox::at(folder);
    let marker = sandbox.marker()?;
    let mut swept = Swept { folder: folder.to_owned(), run: Some(marker.run), outcome: SweptOutcome::Living, ended: Vec::new() };
    if marker.maker.process.lives() {
        return Some(swept);
    }
    let (ended, stuck) = end_processes(&sandbox);
    swept.ended = ended;
    swept.outcome = match stuck {
        Some(why) => SweptOutcome::Stuck { why },
        None => match sandbox.remove() {
            Ok(_) => SweptOutcome::Removed,
            // The keeper may have been removing it at the same time.
            Err(_) if !folder.exists() => SweptOutcome::Removed,
            Err(error) => SweptOutcome::Stuck { why: format!("could not remove it: {error}") },
        },
    };
    Some(swept)
}

/// Ends keeper and postmaster of a dead run. Both must be exactly the processes that were written down.
pub fn end_processes(sandbox: &Sandbox) -> (Vec<u32>, Option<String>) {
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

/// A folder that was being made or removed when its run was killed: it holds nothing but perhaps the marker and empty folders.
fn sweep_passing(folder: &Path, now: Timestamp) -> Option<Swept> {
    let marker = Sandbox::at(folder).marker();
    let mut swept = Swept {
        folder: folder.to_owned(),
        run: marker.as_ref().map(|marker| marker.run),
        outcome: SweptOutcome::Removed,
        ended: Vec::new(),
    };
    match marker {
        Some(marker) if marker.maker.process.lives() => return None,
        Some(_) => {}
        None => {
            let changed = fs::metadata(folder).ok()?.modified().ok().and_then(|time| Timestamp::try_from(time).ok())?;
            if now.duration_since(changed).as_secs_f64() < PASSING_SECONDS {
                return None;
            }
        }
    }
    let emptied = fs::read_dir(folder).map(|entries| {
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name.to_string_lossy().starts_with(MARKER) {
                // Only when everything else went; checked by `remove_dir` below.
                continue;
            }
            let _ = fs::remove_dir(entry.path());
        }
        let only_marker = fs::read_dir(folder).is_ok_and(|mut rest| {
            rest.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(MARKER)))
        });
        if only_marker {
            for name in [MARKER.to_owned(), format!("{MARKER}.new")] {
                let _ = fs::remove_file(folder.join(name));
            }
        }
    });
    if let Err(error) = emptied.and_then(|()| fs::remove_dir(folder)) {
        swept.outcome = SweptOutcome::Stuck { why: format!("could not remove it: {error}") };
    }
    Some(swept)
}
