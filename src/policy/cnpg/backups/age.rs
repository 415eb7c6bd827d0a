//! The age of the newest base backup against what the schedules promise.

use jiff::Timestamp;

use super::super::super::ground::{Ground, plus, say};
use super::super::stand::is_stopped;
use super::runs::{SNAPSHOT, active, in_phase, longest_taken, missed, newest_base};
use crate::domain::{Calendar, CnpgFact, CnpgSchedule, Finding, Severity, duration_in_words};

/// Runs that are counted: beyond that it is "many".
const COUNTED: usize = 100;
/// From the second missed run on a base backup is older than anybody planned for.
const MISSED_FOR_SURE: usize = 2;

/// The condition `LastBackupSucceeded` is written when a backup starts or ends and never again, so the bucket's word counts. What a
/// more exact finding explains (suspended, never run, a queue that does not move) is told by that one.
pub(super) fn too_old(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    if is_stopped(cluster) || super::why_old(ground, cluster) {
        return None;
    }
    let newest = newest_base(ground, cluster)?;
    // A run that is still under way, or that may take as long as the longest so far, is not missed yet.
    let since = newest.began;
    let under_way = in_phase(cluster, &["started", "running", "finalizing"]).count().min(1);
    let patience = longest_taken(cluster).unwrap_or_default();
    let counted = |(schedule, calendar): (_, Calendar)| {
        let late = plus(ground.now, -patience);
        let count = missed(ground, &calendar, since, COUNTED).min(calendar.runs_between(since, late, COUNTED));
        (count.saturating_sub(under_way), schedule)
    };
    let offsite = active(cluster).into_iter().filter(|(schedule, _)| schedule.method != SNAPSHOT);
    let (count, schedule): (usize, &CnpgSchedule) = offsite.map(counted).max_by_key(|(count, _)| *count)?;
    if count == 0 {
        return None;
    }
    let old = ground.age(newest.ended);
    let many = if count == COUNTED { format!("{count} or more times") } else { format!("{count} times") };
    let condition = cluster.condition("LastBackupSucceeded").map(|condition| {
        let since = condition.since.map_or_else(String::new, |at| format!(", since {at}"));
        format!("condition LastBackupSucceeded is {} ({}{since}): it has no heartbeat", condition.status, condition.reason)
    });
    let last_run = schedule.last_run.map(|at| format!("ScheduledBackup {} last ran {at}", schedule.name));
    let next_run = schedule.next_run.map(|at| format!("ScheduledBackup {} plans to run {at}", schedule.name));
    Some(Finding {
        evidence: std::iter::once(newest.told_by).chain(last_run).chain(next_run).chain(condition).collect(),
        cause: failure(cluster, newest.ended)
            .unwrap_or_else(|| "the schedule did not run, or nothing good came of its runs".to_owned()),
        remedy: format!(
            "kubectl describe scheduledbackup -n {namespace} {name}; then take one: kubectl cnpg backup -n {namespace} {cluster}",
            namespace = cluster.cluster.namespace,
            name = schedule.name,
            cluster = cluster.cluster.name
        ),
        ..say(
            "base-backup-too-old",
            if count >= MISSED_FOR_SURE { Severity::Critical } else { Severity::Warning },
            &cluster.subject,
            format!(
                "the newest base backup is {} old; {} \"{}\" was due {many} since",
                duration_in_words(old),
                schedule.name,
                schedule.expression
            ),
        )
    })
}

/// What the newest failed Backup since then says.
fn failure(cluster: &CnpgFact, since: Timestamp) -> Option<String> {
    let failed = in_phase(cluster, &["failed"]).filter(|backup| backup.created.or(backup.started) > Some(since));
    let newest = failed.max_by_key(|backup| backup.created.or(backup.started))?;
    Some(format!("Backup {} failed: {}", newest.name, newest.error.as_deref().unwrap_or("it does not say why")))
}
