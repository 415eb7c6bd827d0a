//! The last bytes of the last segment, held against the place where replay ended.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::base::incoming;
use super::held::Chosen;
use super::sandbox::Sandbox;
use super::trouble::Trouble;
use crate::archive::{Lsn, RecoveryTarget, SegmentName, TailFault, WAL_PAGE, check_tail};

/// Keeps a second name of the last segment where PostgreSQL does not remove it; the promotion may.
pub fn keep(sandbox: &Sandbox, chosen: &Chosen) -> Result<Option<PathBuf>, Trouble> {
    if chosen.plan.target != RecoveryTarget::End {
        return Ok(None);
    }
    let from = sandbox.wal().join(chosen.end.to_string());
    let kept = incoming(sandbox).join("last-segment");
    match fs::hard_link(&from, &kept) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(Trouble::disk("keep", &from, &error)),
        _ => Ok(Some(kept)),
    }
}

/// Replay ended at `end`: at the end of the last segment, or before a record that goes on behind it. All else is WAL that was lost.
pub fn check(sandbox: &Sandbox, chosen: &Chosen, last: Option<&Path>, end: Lsn) -> Result<(), Trouble> {
    let (size, expected) = (chosen.plan.segment_size, chosen.end);
    let start = expected.start(size).unwrap_or(Lsn(0));
    let until = Lsn(start.0.saturating_add(size.bytes()));
    let mut page = |at: Lsn| {
        let path = match last {
            Some(last) if at >= start => last.to_owned(),
            _ => sandbox.wal().join(name_at(chosen, at)?.to_string()),
        };
        read_page(&path, at.0 % size.bytes()).ok()
    };
    let Err(fault) = check_tail(end, until, &mut page) else { return Ok(()) };
    if end < start {
        return Err(Trouble::bad(format!("recovery ended at {end}, before {start}, the start of segment {expected}: {fault}")));
    }
    match fault {
        TailFault::NoPage { .. } => {
            Err(Trouble::could_not(format!("the end of segment {expected} could not be checked: {fault}"), "run the drill again"))
        }
        fault => Err(Trouble::bad(format!(
            "recovery ended at {end}, inside of segment {expected}, whose rest is lost or damaged: {fault}"
        ))),
    }
}

fn name_at(chosen: &Chosen, at: Lsn) -> Option<SegmentName> {
    let size = chosen.plan.segment_size;
    let number = size.number_of(at);
    let within = |name: SegmentName| name.number(size);
    let stretch =
        chosen.plan.path.iter().find(|stretch| within(stretch.first) <= Some(number) && Some(number) <= within(stretch.last))?;
    SegmentName::from_number(stretch.timeline, number, size)
}

fn read_page(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut page = vec![0; WAL_PAGE];
    file.read_exact(&mut page)?;
    Ok(page)
}
