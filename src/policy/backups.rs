//! Good or bad about the base backups of an archive.

use super::ground::{DAY, Ground, HOUR, MINUTE, done, say, some_of};
use super::store::{locks, refused_parts};
use crate::domain::{ArchiveFact, BackupStatus, BaseBackup, Finding, Severity, age, duration_in_words};

/// Clocks of healthy machines differ by seconds; five minutes is what Kerberos and PostgreSQL tools forgive.
const FUTURE_TOLERANCE: f64 = 5.0 * MINUTE;
/// With the data complete, backup.info is written again within minutes; hours cover further parts and tablespaces.
const LOCKED_AFTER: f64 = 6.0 * HOUR;
/// Base backups of small teams end within a day; a later one that was begun tells sooner.
const INTERRUPTED_AFTER: f64 = DAY;

pub(super) fn judge(ground: &Ground, archive: &ArchiveFact) -> Vec<Finding> {
    [
        unreadable(archive),
        locked(ground, archive),
        interrupted(ground, archive),
        newest_failed(ground, archive),
        incomplete(ground, archive),
        from_the_future(ground, archive),
        end_not_archived(ground, archive),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn ids(backups: &[&BaseBackup]) -> Vec<String> {
    backups.iter().map(|backup| backup.id.clone()).collect()
}

fn unreadable(archive: &ArchiveFact) -> Option<Finding> {
    let framed =
        |backup: &BaseBackup| archive.framed_objects.iter().any(|key| key.contains(&format!("/{}/backup.info", backup.id)));
    let mut found = Vec::new();
    let mut evidence = Vec::new();
    for backup in &archive.backups {
        if let BackupStatus::Unreadable { why } = &backup.status
            && !framed(backup)
        {
            evidence.push(format!("{}base/{}/backup.info: {why}", archive.place.root(), backup.id));
            found.push(backup);
        }
    }
    if found.is_empty() {
        return None;
    }
    Some(Finding {
        cause: evidence.first().cloned().unwrap_or_default(),
        evidence,
        ..say(
            "base-backup-metadata-unreadable",
            Severity::Warning,
            &archive.subject,
            format!("backup.info of {} cannot be read: no restore sees it, and deletions stop", some_of(&ids(&found))),
        )
    })
}

/// Whether a base backup with a later begin was recorded: one archive takes one base backup at a time.
fn followed(archive: &ArchiveFact, backup: &BaseBackup) -> bool {
    archive.backups.iter().any(|other| other.id > backup.id)
}

/// Begun, with all its data there, in a bucket that locks what is written, and no longer running.
pub(super) fn locked(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    let store = ground.store_of(archive).filter(|store| locks(store))?;
    let found: Vec<&BaseBackup> = archive
        .backups
        .iter()
        .filter(|backup| backup.status == BackupStatus::Started && backup.missing.is_empty() && backup.stored_bytes > 0)
        .filter(|backup| followed(archive, backup) || ground.older(backup.record_written, LOCKED_AFTER))
        .collect();
    let newest = found.last()?;
    let later_done = done(archive).iter().any(|done| done.id > newest.id);
    if later_done {
        return None;
    }
    Some(Finding {
        evidence: found
            .iter()
            .take(10)
            .map(|backup| format!("{}: STARTED, {} B of data are there", backup.id, backup.stored_bytes))
            .collect(),
        cause: format!("bucket {} has a default retention, which refuses the second write of backup.info", store.bucket),
        ..say(
            "base-backup-metadata-locked",
            Severity::Critical,
            &archive.subject,
            format!("the data of {} is complete and its backup.info stays STARTED: the bucket locks it", some_of(&ids(&found))),
        )
    })
}

fn interrupted(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    if locked(ground, archive).is_some() {
        return None;
    }
    let newest_done = done(archive).iter().map(|backup| backup.id.clone()).max();
    let found: Vec<&BaseBackup> = archive
        .backups
        .iter()
        .filter(|backup| backup.status == BackupStatus::Started)
        .filter(|backup| newest_done.as_ref().is_none_or(|done| done < &backup.id))
        .filter(|backup| followed(archive, backup) || ground.older(backup.record_written, INTERRUPTED_AFTER))
        .collect();
    if found.is_empty() {
        return None;
    }
    Some(Finding {
        evidence: found
            .iter()
            .map(|backup| {
                let written = backup.record_written.map_or_else(|| "at an unknown time".to_owned(), |at| age(at, ground.now));
                format!("{}: STARTED, its record written {written}", backup.id)
            })
            .collect(),
        cause: "the run was killed before it could write its end".to_owned(),
        ..say(
            "base-backup-interrupted",
            Severity::Warning,
            &archive.subject,
            format!("base backup {} was begun and never ended, and none is done since", some_of(&ids(&found))),
        )
    })
}

fn newest_failed(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    let newest = archive.backups.iter().max_by(|a, b| a.id.cmp(&b.id))?;
    let BackupStatus::Failed { error } = &newest.status else { return None };
    if ground.store_of(archive).is_some_and(|store| refused_parts(store, error)) {
        return None; // told once, at the store
    }
    Some(Finding {
        evidence: vec![format!("{}: {error}", newest.id)],
        cause: error.clone(),
        ..say(
            "base-backup-failed",
            Severity::Warning,
            &archive.subject,
            format!("the newest base backup, {}, failed: {error}", newest.id),
        )
    })
}

fn incomplete(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    let cluster = ground.cluster_of(&archive.subject);
    let told = |backup: &BaseBackup| cluster.is_some_and(|cluster| super::cnpg::tells_incomplete(ground, cluster, backup));
    let bad = |backup: &&BaseBackup| !backup.missing.is_empty() && !told(backup);
    let found: Vec<&BaseBackup> = done(archive).into_iter().filter(bad).collect();
    let newest_is_bad = done(archive).last().is_some_and(bad);
    if found.is_empty() {
        return None;
    }
    Some(Finding {
        evidence: found.iter().take(10).map(|backup| format!("{}: missing {}", backup.id, some_of(&backup.missing))).collect(),
        cause: "the objects were deleted after the backup, by a lifecycle rule or by hand, or never arrived".to_owned(),
        ..say(
            "base-backup-incomplete",
            if newest_is_bad { Severity::Critical } else { Severity::Warning },
            &archive.subject,
            format!("objects of finished base backup(s) {} are missing", some_of(&ids(&found))),
        )
    })
}

/// Ids are local clock times and prove nothing; `end_time` carries its offset. Content (the LSN) orders backups of one timeline.
fn from_the_future(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    let done = done(archive);
    let mut found = Vec::new();
    let mut evidence = Vec::new();
    for backup in &done {
        let Some(end) = backup.end_time else { continue };
        let ahead = -ground.age(end);
        if ahead > FUTURE_TOLERANCE {
            found.push(backup.id.clone());
            evidence.push(format!("{}: ended {end}, which is {} ahead of now", backup.id, duration_in_words(ahead)));
            continue;
        }
        let overtaken = done.iter().find(|other| {
            other.timeline == backup.timeline
                && other.begin_lsn > backup.begin_lsn
                && other.end_time.is_some_and(|later| end.duration_since(later).as_secs_f64() > FUTURE_TOLERANCE)
        });
        if let Some(other) = overtaken {
            found.push(backup.id.clone());
            evidence.push(format!("{}: ended {end}, later than {}, whose WAL position is further on", backup.id, other.id));
        }
    }
    if found.is_empty() {
        return None;
    }
    Some(Finding {
        cause: evidence.first().cloned().unwrap_or_default(),
        evidence,
        ..say(
            "base-backup-timestamp-in-future",
            Severity::Critical,
            &archive.subject,
            format!("base backup {} was taken with a wrong clock and sorts as the newest", some_of(&found)),
        )
    })
}

/// The end of a base backup that lies beyond everything archived. A hole before later segments is told as a hole.
fn end_not_archived(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    let grace = ground.archiving_grace(&archive.subject);
    let in_hole = |segment: &String| archive.gaps.iter().any(|gap| &gap.first <= segment && segment <= &gap.last);
    let waits = |backup: &&BaseBackup| {
        ground.older(backup.end_time, grace)
            && backup.end_wal.as_ref().is_some_and(|end| backup.missing_wal.contains(end) && !in_hole(end))
    };
    let done = done(archive);
    // Those that completed while archiving failed are told with that cause.
    let told = ground.cluster_of(&archive.subject).map(|cluster| super::cnpg::without_wal(ground, cluster)).unwrap_or_default();
    let found: Vec<&BaseBackup> = done.iter().copied().filter(waits).filter(|backup| !told.contains(&backup.id)).collect();
    let newest = *found.last()?;
    let is_newest = done.last().is_some_and(|last| last.id == newest.id);
    let evidence = found
        .iter()
        .take(10)
        .map(|backup| {
            let ended = backup.end_time.map_or_else(String::new, |at| format!(", ended {}", age(at, ground.now)));
            format!(
                "{}: needs {} up to {}{ended}",
                backup.id,
                some_of(&backup.missing_wal),
                backup.end_wal.as_deref().unwrap_or("?")
            )
        })
        .collect();
    Some(Finding {
        evidence,
        cause: "the archiver has not shipped it: it is stuck, or the backup came from a standby of an idle primary".to_owned(),
        ..say(
            "base-backup-wal-not-archived",
            if is_newest { Severity::Critical } else { Severity::Warning },
            &archive.subject,
            format!(
                "segment {} (end of base backup {}) is not in the archive {} after the backup ended",
                newest.end_wal.as_deref().unwrap_or("?"),
                newest.id,
                newest.end_time.map_or_else(|| "some time".to_owned(), |at| duration_in_words(ground.age(at)))
            ),
        )
    })
}
