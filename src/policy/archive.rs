//! Good or bad about the WAL of an archive: whose it is, whether it is whole, and which timelines it tells of.

use super::ground::{DAY, Ground, done, first_needed, id_time, plus, position, say, some_of};
use crate::domain::{ArchiveFact, Finding, OrphanHistory, Severity, WalGap, age};

/// A retention removes about one base backup at each run; more than half of all at once is something else.
const VANISHED_SHARE: usize = 2;
/// Ids are local clock times of the machine that took the backup: a day of doubt covers every zone.
const ID_DOUBT: f64 = DAY;

pub(super) fn judge(ground: &Ground, archive: &ArchiveFact) -> Vec<Finding> {
    [
        mixed_systems(archive),
        unexpected_system(ground, archive),
        framing(archive),
        malformed(archive),
        empty_objects(archive),
        partials(archive),
        holes(ground, archive),
        orphan_history(ground, archive),
        shrank(ground, archive),
        without_base(ground, archive),
        nothing_there(archive),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn mixed_systems(archive: &ArchiveFact) -> Option<Finding> {
    if archive.systems.len() < 2 {
        return None;
    }
    let evidence = archive
        .systems
        .iter()
        .map(|seen| {
            let newest = seen.newest.map_or_else(String::new, |at| format!(", newest written {at}"));
            format!("system {} in {}{newest}", seen.system_id, some_of(&seen.seen_in))
        })
        .collect();
    let newest = archive.systems.iter().max_by_key(|seen| seen.newest);
    let cause = newest.map_or_else(String::new, |seen| {
        format!("system {} wrote last ({}); another wrote into the same prefix", seen.system_id, some_of(&seen.seen_in))
    });
    Some(Finding {
        evidence,
        cause,
        ..say(
            "wal-chain-mixed-system-id",
            Severity::Critical,
            &archive.subject,
            format!("{} different PostgreSQL systems wrote into {}", archive.systems.len(), archive.place),
        )
    })
}

fn unexpected_system(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    let [seen] = archive.systems.as_slice() else { return None };
    let expected = archive.expected_system.filter(|expected| *expected != seen.system_id)?;
    if super::cnpg::tells_whose(ground, archive, expected) {
        return None;
    }
    Some(Finding {
        evidence: vec![format!("expected {expected}, seen {} in {}", seen.system_id, some_of(&seen.seen_in))],
        cause: "the place belongs to another database, or the database was made anew".to_owned(),
        ..say(
            "archive-system-unexpected",
            Severity::Critical,
            &archive.subject,
            format!("{} holds system {}, expected {expected}", archive.place, seen.system_id),
        )
    })
}

fn framing(archive: &ArchiveFact) -> Option<Finding> {
    if archive.framed_objects.is_empty() {
        return None;
    }
    Some(Finding {
        evidence: archive.framed_objects.iter().take(10).cloned().collect(),
        cause: "the store does not decode aws-chunked uploads with trailing checksums (default of SDKs since 2025)".to_owned(),
        ..say(
            "s3-objects-carry-chunk-framing",
            Severity::Critical,
            &archive.subject,
            format!(
                "{} object(s) hold the framing of their upload: {}",
                archive.framed_objects.len(),
                some_of(&archive.framed_objects)
            ),
        )
    })
}

fn malformed(archive: &ArchiveFact) -> Option<Finding> {
    let found: Vec<_> = archive.malformed_objects.iter().filter(|(key, _)| !archive.framed_objects.contains(key)).collect();
    if found.is_empty() {
        return None;
    }
    let keys: Vec<String> = found.iter().map(|(key, _)| key.clone()).collect();
    Some(Finding {
        evidence: found.iter().take(10).map(|(key, seen)| format!("{key}: {seen}")).collect(),
        cause: found.first().map(|(_, seen)| seen.clone()).unwrap_or_default(),
        ..say(
            "wal-object-malformed",
            Severity::Critical,
            &archive.subject,
            format!("{} object(s) under segment names are not segments: {}", keys.len(), some_of(&keys)),
        )
    })
}

/// The segment in a key, if its last part starts with the name of one.
fn segment_in(key: &str) -> Option<&str> {
    let name = key.rsplit('/').next()?.get(..24)?;
    name.bytes().all(|byte| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte)).then_some(name)
}

/// Segments that lie before everything that a done base backup needs may be missing or bad freely.
fn not_needed(archive: &ArchiveFact, segment: &str) -> bool {
    first_needed(archive).is_some_and(|first| position(segment) < position(first))
}

fn empty_objects(archive: &ArchiveFact) -> Option<Finding> {
    let keys: Vec<String> = archive
        .empty_objects
        .iter()
        .filter(|object| !segment_in(&object.key).is_some_and(|segment| not_needed(archive, segment)))
        .map(|object| object.key.clone())
        .collect();
    if keys.is_empty() {
        return None;
    }
    Some(Finding {
        evidence: keys.iter().take(10).map(|key| format!("{key}: 0 B")).collect(),
        cause: "the store accepted an upload without a body".to_owned(),
        ..say(
            "wal-segment-empty",
            Severity::Critical,
            &archive.subject,
            format!("{} object(s) have no bytes: {}", keys.len(), some_of(&keys)),
        )
    })
}

fn partials(archive: &ArchiveFact) -> Option<Finding> {
    let segments: Vec<String> =
        archive.partials_inside.iter().filter(|p| !not_needed(archive, &p.segment)).map(|p| p.segment.clone()).collect();
    if segments.is_empty() {
        return None;
    }
    Some(Finding {
        evidence: archive.partials_inside.iter().take(10).map(|p| format!("only {} exists for {}", p.key, p.segment)).collect(),
        cause: "the segment was archived half (a promotion that did not last, or a renamed object), the whole one never came"
            .to_owned(),
        ..say(
            "wal-partial-inside-chain",
            Severity::Critical,
            &archive.subject,
            format!("{} exists only as .partial although later segments of its timeline are there", some_of(&segments)),
        )
    })
}

/// Whether everything missing in this hole has a finding of its own already.
fn told_elsewhere(archive: &ArchiveFact, gap: &WalGap) -> bool {
    let within = |segment: &str| gap.first.as_str() <= segment && segment <= gap.last.as_str();
    let partial = archive.partials_inside.iter().filter(|p| within(&p.segment)).count();
    let empty = archive.empty_objects.iter().filter_map(|o| segment_in(&o.key)).filter(|segment| within(segment)).count();
    u64::try_from(partial + empty).is_ok_and(|told| told >= gap.count)
}

/// Holes that a done base backup has to pass, old enough for a late upload to have arrived.
pub(super) fn real_holes<'a>(ground: &Ground, archive: &'a ArchiveFact) -> Vec<&'a WalGap> {
    let grace = ground.archiving_grace(&archive.subject);
    archive
        .gaps
        .iter()
        .filter(|gap| !not_needed(archive, &gap.last))
        .filter(|gap| gap.later_written.is_none() || ground.older(gap.later_written, grace))
        .filter(|gap| !told_elsewhere(archive, gap))
        .collect()
}

fn holes(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    let holes = real_holes(ground, archive);
    // A hole that only shortens the window is told by `recovery-window-overstated` where a window is promised.
    let holes: Vec<_> =
        holes.into_iter().filter(|gap| gap.cuts_newest || !super::recovery::overstated(ground, archive)).collect();
    let (first, missing) = (holes.first()?, holes.iter().map(|gap| gap.count).sum::<u64>());
    let cuts = holes.iter().any(|gap| gap.cuts_newest);
    let evidence = holes
        .iter()
        .take(10)
        .map(|gap| {
            let after =
                gap.later_written.map_or_else(String::new, |at| format!("; the next one was written {}", age(at, ground.now)));
            format!("timeline {}: {} to {} ({} missing{after})", gap.timeline, gap.first, gap.last, gap.count)
        })
        .collect();
    let harm = if cuts {
        format!("no base backup can be recovered past {}", first.first)
    } else {
        "older base backups end there; newer ones are not touched".to_owned()
    };
    Some(Finding {
        evidence,
        cause: "these segments were never archived, or were deleted".to_owned(),
        ..say(
            "wal-gap",
            if cuts { Severity::Critical } else { Severity::Warning },
            &archive.subject,
            format!("{missing} segment(s) are missing although later ones are there, from {}: {harm}", first.first),
        )
    })
}

/// The newest timeline that has segments.
fn newest_timeline(archive: &ArchiveFact) -> Option<u32> {
    let by_name = archive.newest_segment.as_ref().and_then(|seen| u32::from_str_radix(seen.name.get(..8)?, 16).ok());
    by_name.max(archive.end.as_ref().map(|end| end.timeline))
}

/// A history right after a promotion has no segments yet and is healthy. It is an orphan when an older timeline was written after it,
/// or when it does not descend from the newest timeline that has segments.
fn is_orphan(ground: &Ground, archive: &ArchiveFact, history: &OrphanHistory) -> bool {
    let grace = ground.archiving_grace(&archive.subject);
    if let (Some(written), Some(went_on)) = (history.written, history.older_timeline_written)
        && went_on.duration_since(written).as_secs_f64() > grace
    {
        return true;
    }
    matches!((history.parent, newest_timeline(archive)), (Some(parent), Some(newest)) if parent < newest)
}

fn orphan_history(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    let orphans: Vec<_> = archive.orphan_histories.iter().filter(|history| is_orphan(ground, archive, history)).collect();
    if orphans.is_empty() {
        return None;
    }
    let keys: Vec<String> = orphans.iter().map(|history| history.key.clone()).collect();
    let evidence = orphans
        .iter()
        .map(|history| {
            let parent = history.parent.map_or_else(|| "unknown".to_owned(), |parent| parent.to_string());
            let wrote = |at: Option<jiff::Timestamp>| at.map_or_else(|| "unknown".to_owned(), |at| at.to_string());
            format!(
                "{}: timeline {} left {parent}, written {}; older timelines last written {}",
                history.key,
                history.timeline,
                wrote(history.written),
                wrote(history.older_timeline_written)
            )
        })
        .collect();
    Some(Finding {
        evidence,
        cause: "a promotion that never became the primary, or a restore that archived here, left it".to_owned(),
        ..say(
            "wal-orphan-timeline",
            Severity::Critical,
            &archive.subject,
            format!("{} names a timeline that the cluster never took; a restore to the latest follows it", some_of(&keys)),
        )
    })
}

fn shrank(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    let vanished = unexplained(ground, archive);
    if vanished.is_empty() {
        return None;
    }
    let known = usize::try_from(archive.known_backups).unwrap_or(usize::MAX);
    let none_left = done(archive).is_empty();
    let many = vanished.len().saturating_mul(VANISHED_SHARE) >= known;
    Some(Finding {
        evidence: vec![
            format!("known before: {}, still there: {}", archive.known_backups, archive.backups.len()),
            format!("gone: {}", some_of(&vanished)),
        ],
        cause: "something other than the promised retention deleted them, or the place changed".to_owned(),
        ..say(
            "backup-catalog-shrank",
            if none_left || many { Severity::Critical } else { Severity::Warning },
            &archive.subject,
            format!(
                "{} of {known} base backups vanished and the retention does not explain it: {}",
                vanished.len(),
                some_of(&vanished)
            ),
        )
    })
}

/// Vanished base backups that no retention explains. With a promised retention: those younger than it. Without: only a loss of all,
/// or of more than half at once, is beyond doubt.
fn unexplained(ground: &Ground, archive: &ArchiveFact) -> Vec<String> {
    let vanished = &archive.vanished_backups;
    if let Some(retention) = ground.policy(&archive.subject).retention_seconds {
        let may_go = |id: &String| id_time(id).is_some_and(|at| plus(at, retention - ID_DOUBT) <= ground.now);
        let young: Vec<String> = vanished.iter().filter(|id| !may_go(id)).cloned().collect();
        // Old ones may go one by one, but never all of them: retention keeps at least one.
        return if young.is_empty() && done(archive).is_empty() { vanished.clone() } else { young };
    }
    let known = usize::try_from(archive.known_backups).unwrap_or(usize::MAX);
    let many = vanished.len() > 1 && vanished.len().saturating_mul(VANISHED_SHARE) > known;
    if many || done(archive).is_empty() { vanished.clone() } else { Vec::new() }
}

fn without_base(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    let snapshots = ground.cluster_of(&archive.subject).is_some_and(|cluster| super::cnpg::only_snapshots(ground, cluster));
    let told = !archive.framed_objects.is_empty() || !unexplained(ground, archive).is_empty() || snapshots;
    if archive.segments == 0 || !done(archive).is_empty() || told || super::backups::locked(ground, archive).is_some() {
        return None;
    }
    let first = archive.oldest_segment.as_ref().and_then(|segment| segment.written);
    let every = ground.base_backup_every(&archive.subject);
    if first.is_some() && !ground.older(first, every) {
        return None;
    }
    let since = first.map_or_else(String::new, |at| format!(", the first written {}", age(at, ground.now)));
    Some(Finding {
        evidence: vec![format!(
            "{} segment(s) under {}{since}; {} base backup record(s), none done",
            archive.segments,
            archive.place,
            archive.backups.len()
        )],
        cause: "the archive's place is new or was changed, and no base backup was taken since".to_owned(),
        ..say(
            "wal-without-base-backup",
            Severity::Critical,
            &archive.subject,
            format!("WAL arrives at {} and no base backup is done there: nothing can be restored from it", archive.place),
        )
    })
}

fn nothing_there(archive: &ArchiveFact) -> Option<Finding> {
    if archive.objects > 0 || !archive.backups.is_empty() || !archive.vanished_backups.is_empty() {
        return None;
    }
    Some(Finding {
        evidence: vec![format!("the listing of {} ended with no object", archive.place)],
        cause: "nothing was ever archived here, or it is archived under another bucket, prefix or server name".to_owned(),
        ..say("archive-empty", Severity::Critical, &archive.subject, format!("{} is empty", archive.place))
    })
}
