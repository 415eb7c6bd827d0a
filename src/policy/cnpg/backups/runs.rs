//! What schedules promise and what came of it: the questions that the rules about backups share.

use jiff::Timestamp;

use super::super::super::ground::{DAY, Ground, HOUR, done, plus};
use crate::domain::{Calendar, CalendarDialect, CalendarError, CnpgBackup, CnpgFact, CnpgSchedule};

/// The operator makes the Backup within seconds of a run. An upgrade of the operator or of a node may hold it up for minutes.
pub(super) const GRACE: f64 = HOUR;
/// CNPG's method that leaves its base in the storage of the cluster itself.
pub(super) const SNAPSHOT: &str = "volumeSnapshot";
/// CNPG's method of the barman-cloud plugin, and of others.
pub(super) const PLUGIN: &str = "plugin";

/// A schedule's text as CNPG reads it.
pub(super) fn calendar(schedule: &CnpgSchedule) -> Result<Calendar, CalendarError> {
    Calendar::parse(CalendarDialect::Cnpg, &schedule.expression)
}

/// Schedules that run: not suspended, and understood.
pub(super) fn active(cluster: &CnpgFact) -> Vec<(&CnpgSchedule, Calendar)> {
    let all = cluster.schedules.iter().flatten();
    all.filter(|schedule| !schedule.suspended).filter_map(|schedule| Some((schedule, calendar(schedule).ok()?))).collect()
}

/// Backup objects of a phase.
pub(super) fn in_phase<'a>(cluster: &'a CnpgFact, phases: &'a [&str]) -> impl Iterator<Item = &'a CnpgBackup> {
    let all = cluster.backups.iter().flatten();
    all.filter(move |backup| phases.contains(&backup.phase.as_deref().unwrap_or_default()))
}

pub(super) fn completed(cluster: &CnpgFact) -> impl Iterator<Item = &CnpgBackup> {
    in_phase(cluster, &["completed"])
}

pub(super) fn is_snapshot(backup: &CnpgBackup) -> bool {
    backup.method == SNAPSHOT
}

/// When a Backup began, as far as it says.
pub(super) fn began(backup: &CnpgBackup) -> Option<Timestamp> {
    backup.started.or(backup.created)
}

/// Whether a Backup that was made later than this one is done: then this one holds nobody up.
pub(super) fn overtaken(cluster: &CnpgFact, backup: &CnpgBackup) -> bool {
    completed(cluster)
        .any(|other| other.name != backup.name && backup.created.or(backup.started) < other.created.or(other.started))
}

/// The longest time that a base backup of this Cluster took, in seconds.
pub(super) fn longest_taken(cluster: &CnpgFact) -> Option<f64> {
    let taken = completed(cluster).filter_map(|backup| Some(backup.stopped?.duration_since(backup.started?).as_secs_f64()));
    taken.max_by(f64::total_cmp)
}

/// The newest base backup that is known to be good.
pub(super) struct Newest {
    /// When it began.
    pub(super) began: Timestamp,
    /// When it ended.
    pub(super) ended: Timestamp,
    /// Who says so, for people.
    pub(super) told_by: String,
}

/// The newest base backup outside of the cluster's own storage. The bucket's word counts where it was read; else that of the objects.
pub(super) fn newest_base(ground: &Ground, cluster: &CnpgFact) -> Option<Newest> {
    let Some(archive) = ground.archive_of(&cluster.subject) else {
        return newest_of(completed(cluster).filter(|backup| !is_snapshot(backup)));
    };
    let ended = done(archive).into_iter().filter_map(|backup| Some((backup.end_time?, backup)));
    let (ended, backup) = ended.max_by_key(|(ended, _)| *ended)?;
    let told_by = format!("base backup {} in {} ended {ended}", backup.id, archive.place);
    Some(Newest { began: backup.begin_time.unwrap_or(ended), ended, told_by })
}

/// The newest volume snapshot that the objects tell of.
pub(super) fn newest_snapshot(cluster: &CnpgFact) -> Option<Newest> {
    newest_of(completed(cluster).filter(|backup| is_snapshot(backup)))
}

fn newest_of<'a>(backups: impl Iterator<Item = &'a CnpgBackup>) -> Option<Newest> {
    let (ended, backup) = backups.filter_map(|backup| Some((backup.stopped?, backup))).max_by_key(|(ended, _)| *ended)?;
    let began = began(backup).unwrap_or(ended);
    Some(Newest { began, ended, told_by: format!("Backup {} completed {ended}", backup.name) })
}

/// Whether at least so many runs of a schedule were due, with grace, since a moment.
pub(super) fn missed(ground: &Ground, calendar: &Calendar, since: Timestamp, most: usize) -> usize {
    calendar.runs_between(since, plus(ground.now, -GRACE), most)
}

/// Seconds from one base backup to the next, as the schedules, the policy or habit has it.
pub(super) fn interval(ground: &Ground, cluster: &CnpgFact) -> f64 {
    let pauses = active(cluster).into_iter().filter_map(|(_, calendar)| calendar.longest_pause(ground.now));
    let scheduled = pauses.map(|pause| pause.as_secs_f64()).min_by(f64::total_cmp);
    scheduled.or(ground.policy(&cluster.subject).base_backup_every_seconds).unwrap_or(DAY)
}
