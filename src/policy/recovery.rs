//! How much would be lost, how far back one can go, and how long ago a restore was proven.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Proof;
use super::ground::{Ground, HOUR, done, say, some_of};
use crate::domain::{ArchiveFact, BaseBackup, Finding, Keep, Place, Severity, Subject, Verdict, Window, age, duration_in_words};

/// A schedule that starts on time may still need a while: backups of small teams end within the hour.
const BACKUP_GRACE: f64 = HOUR;
/// Twice the allowed age: at least one scheduled run was missed for sure.
const MISSED_RUNS: f64 = 2.0;

pub(super) fn judge(ground: &Ground) -> Vec<Finding> {
    let mut findings = Vec::new();
    for archive in &ground.archives {
        findings.extend(
            [too_old(ground, archive), silent(ground, archive), window_overstated(ground, archive)].into_iter().flatten(),
        );
    }
    let seen = ground.archives.iter().map(|archive| &archive.subject);
    for subject in ground.expected.policies.keys().chain(seen).collect::<BTreeSet<_>>() {
        findings.extend(proofs(ground, subject));
    }
    findings
}

fn too_old(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    let every = ground.policy(&archive.subject).base_backup_every_seconds?;
    let newest =
        done(archive).into_iter().filter_map(|backup| backup.end_time.map(|end| (end, backup))).max_by_key(|(end, _)| *end)?;
    let old = ground.age(newest.0);
    // Newer ones that cannot be used have a critical finding of their own; so has what keeps the next one from being taken.
    let cluster = ground.cluster_of(&archive.subject);
    let told = !archive.framed_objects.is_empty()
        || super::backups::locked(ground, archive).is_some()
        || cluster.is_some_and(|cluster| super::cnpg::why_old(ground, cluster));
    if old <= every + BACKUP_GRACE || told {
        return None;
    }
    Some(Finding {
        evidence: vec![format!("newest done base backup {} ended {}", newest.1.id, newest.0)],
        cause: "no base backup was done since".to_owned(),
        ..say(
            "base-backup-too-old",
            if old > every * MISSED_RUNS + BACKUP_GRACE { Severity::Critical } else { Severity::Warning },
            &archive.subject,
            format!("the newest base backup is {} old, allowed are {}", duration_in_words(old), duration_in_words(every)),
        )
    })
}

fn covered_until(archive: &ArchiveFact) -> Option<Timestamp> {
    archive.windows.iter().filter_map(|window| window.covered_until).max()
}

/// By the RPO only: without one, silence of an archive says nothing. Never worse than a warning, since idle is healthy.
fn silent(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    let rpo = ground.policy(&archive.subject).rpo_seconds?;
    let covered = covered_until(archive)?;
    let old = ground.age(covered);
    if old <= rpo {
        return None;
    }
    let newest = archive.newest_segment.as_ref().map_or_else(|| "none".to_owned(), |segment| segment.name.clone());
    Some(Finding {
        evidence: vec![format!("newest segment {newest}; covered until {covered}")],
        cause: "the database is idle, or its archiver is stuck: the bucket alone cannot tell".to_owned(),
        ..say(
            "wal-archive-silent",
            Severity::Warning,
            &archive.subject,
            format!("nothing was archived for {}, the RPO is {}", duration_in_words(old), duration_in_words(rpo)),
        )
    })
}

/// The earliest moment from which recovery to the present works.
fn unbroken_from(archive: &ArchiveFact) -> Option<Timestamp> {
    archive.windows.iter().filter(|window| window.broken_at.is_none()).map(|window| window.from).min()
}

/// Base backups that look older than the real window: done, not kept for themselves alone, and not reaching the present.
fn empty_promises(archive: &ArchiveFact) -> Vec<&BaseBackup> {
    let Some(real) = unbroken_from(archive) else { return Vec::new() };
    let reaches = |backup: &BaseBackup, window: &Window| window.backup == backup.id && window.broken_at.is_none();
    done(archive)
        .into_iter()
        .filter(|backup| backup.end_time.is_some_and(|end| end < real))
        .filter(|backup| backup.missing.is_empty() && backup.keep != Some(Keep::Standalone))
        .filter(|backup| !archive.windows.iter().any(|window| reaches(backup, window)))
        .collect()
}

/// The promised retention lies before the real window, and an older base backup makes it look met.
pub(super) fn overstated(ground: &Ground, archive: &ArchiveFact) -> bool {
    let Some(promised) = ground.policy(&archive.subject).retention_seconds else { return false };
    let Some(real) = unbroken_from(archive) else { return false };
    ground.age(real) < promised && !empty_promises(archive).is_empty()
}

fn window_overstated(ground: &Ground, archive: &ArchiveFact) -> Option<Finding> {
    if !overstated(ground, archive) {
        return None;
    }
    let real = unbroken_from(archive)?;
    let promised = ground.policy(&archive.subject).retention_seconds?;
    let empty = empty_promises(archive);
    let seems = empty.iter().filter_map(|backup| backup.end_time).min()?;
    let ids: Vec<String> = empty.iter().map(|backup| backup.id.clone()).collect();
    let broken = archive
        .windows
        .iter()
        .filter(|window| ids.contains(&window.backup))
        .filter_map(|window| window.broken_at.as_ref().map(|at| format!("{} ends before {at}", window.backup)));
    Some(Finding {
        evidence: std::iter::once(format!("recovery to any moment: from {real} on ({})", age(real, ground.now)))
            .chain(std::iter::once(format!("the catalogue lists base backups from {seems} on: {}", some_of(&ids))))
            .chain(broken)
            .collect(),
        cause: format!("there is no unbroken WAL behind {}", some_of(&ids)),
        ..say(
            "recovery-window-overstated",
            Severity::Warning,
            &archive.subject,
            format!(
                "{} are promised and the catalogue seems to reach back {}, but recovery to any moment works for {} only",
                duration_in_words(promised),
                duration_in_words(ground.age(seems)),
                duration_in_words(ground.age(real))
            ),
        )
    })
}

/// A proof holds for one place: those of other places do not count where the place is known.
fn proofs_here<'a>(ground: &'a Ground, subject: &Subject) -> Vec<&'a Proof> {
    let place =
        ground.archives.iter().find(|archive| &archive.subject == subject).map(|archive| Place::from(archive.place.clone()));
    let here = |proof: &&Proof| match (&proof.place, &place) {
        (Some(drilled), Some(place)) => drilled == place,
        _ => true,
    };
    ground.proofs.iter().filter(|proof| &proof.subject == subject).filter(here).collect()
}

fn proofs(ground: &Ground, subject: &Subject) -> Option<Finding> {
    let here = proofs_here(ground, subject);
    let proven = here.iter().rev().find(|proof| proof.counts(ground.expected.isolation));
    // A failure of any drill stands until one proves the whole after it. Unknown says nothing, and a proof of less clears nothing.
    let failed = here.iter().rev().find(|proof| proof.verdict == Verdict::Failed);
    if let Some(failed) = failed
        && proven.is_none_or(|proven| proven.at < failed.at)
    {
        return Some(drill_failed(ground, failed));
    }
    let every = ground.policy(subject).drill_every_seconds?;
    let command = drill_again(subject);
    let (name, text) = match proven {
        None => ("never-drilled", "no restore from this place was ever proven".to_owned()),
        Some(proof) if ground.age(proof.at) > every => {
            ("proof-too-old", format!("last proven {}, allowed are {}", age(proof.at, ground.now), duration_in_words(every)))
        }
        Some(_) => return None,
    };
    if let Some(last) = here.last().filter(|proof| proof.verdict == Verdict::Unknown) {
        let why = last.reason.clone().unwrap_or_default();
        return Some(Finding {
            evidence: vec![text, format!("drill {} ended as unknown {}: {why}", last.run, age(last.at, ground.now))],
            cause: why,
            remedy: command,
            could_not_look: true,
            ..say("drill-undecided", Severity::Warning, subject, "a proof is due, and the last drill could not decide".to_owned())
        });
    }
    let narrower = here.iter().rev().find(|proof| proof.verdict == Verdict::Proven && !proof.counts(ground.expected.isolation));
    let narrower = narrower.map(|proof| {
        let target = proof.target.as_deref().unwrap_or("not known");
        let checks = if proof.whole { "all configured checks" } else { "not all configured checks" };
        let closed = proof.isolation.as_str();
        format!("drill {} proved less {}: target {target}, isolation {closed}, {checks}", proof.run, age(proof.at, ground.now))
    });
    let known = format!("drills of this place that are known: {}", here.len());
    Some(Finding {
        evidence: std::iter::once(known).chain(narrower).collect(),
        cause: "no drill was run, or none since".to_owned(),
        remedy: command,
        ..say(name, Severity::Warning, subject, text)
    })
}

/// The command that proves a subject anew.
fn drill_again(subject: &Subject) -> String {
    format!("dalsegno drill {} --db {}", subject.kind().runbook().unwrap_or("RUNBOOK"), subject.name())
}

fn drill_failed(ground: &Ground, failed: &Proof) -> Finding {
    let why = failed.reason.clone().unwrap_or_default();
    Finding {
        evidence: vec![format!("drill {} ended {}", failed.run, age(failed.at, ground.now))],
        cause: why.clone(),
        remedy: format!("dalsegno drill report {}", failed.run),
        ..say("drill-failed", Severity::Critical, &failed.subject, format!("the last drill failed: {why}"))
    }
}
