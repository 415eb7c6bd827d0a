//! What objects promise and the bucket does not hold: windows that stand still, backups without WAL, bases that never leave the site.

use super::super::super::ground::{DAY, Ground, HOUR, MINUTE, done, plus, position, say, some_of};
use super::super::writers::Spot;
use super::runs::{PLUGIN, SNAPSHOT, active, completed, interval, is_snapshot};
use crate::domain::{
    ArchiveRef, CnpgBackup, CnpgFact, Condition, Finding, Keep, LiveLocation, ObjectStoreSeen, RecoveryWindowSeen, Severity, age,
    duration_in_words,
};

/// The plugin's maintenance runs every half hour by default; the field that changes it is far below the grace.
const MAINTENANCE: f64 = 30.0 * MINUTE;
/// A backup ends, then the window is written: by the same process, at once.
const WRITTEN_WITHIN: f64 = HOUR;
/// Months of a retention policy, as barman counts them.
const MONTH: f64 = 31.0 * DAY;

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    [
        window_unreliable(ground, cluster),
        without_wal(ground, cluster).map(|(finding, _)| finding),
        retention_conflict(ground, cluster),
        not_offsite(ground, cluster),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `30d`, `4w`, `3m` in seconds.
fn retention(text: &str) -> Option<f64> {
    let unit = match text.chars().last()? {
        'd' => DAY,
        'w' => 7.0 * DAY,
        'm' => MONTH,
        _ => return None,
    };
    let number: u32 = text.get(..text.len() - 1)?.parse().ok()?;
    Some(f64::from(number) * unit)
}

/// Where a Cluster writes through the plugin: the ObjectStore's name and where it leads.
fn plugin_writers(cluster: &CnpgFact) -> impl Iterator<Item = (&str, &LiveLocation)> {
    cluster.archivers.iter().filter_map(|archiver| match archiver {
        ArchiveRef::Plugin { object_store, location: Some(location), enabled: true, .. } => {
            Some((object_store.as_str(), location))
        }
        _ => None,
    })
}

/// `status.serverRecoveryWindow` lacks this server although backups of it are done, or it stands still behind the retention.
fn window_unreliable(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let (store, location, why) = plugin_writers(cluster).find_map(|(name, location)| {
        let store = cluster.object_stores.iter().find(|store| store.name == name)?;
        let why = missing(ground, cluster, store, location).or_else(|| frozen(ground, cluster, store, location))?;
        Some((store, location, why))
    })?;
    let others: Vec<String> = store.windows.keys().filter(|server| **server != location.server).cloned().collect();
    let events = cluster.events.iter().flatten().filter(|event| event.reason == "RetentionPolicyFailed");
    let events = events.map(|event| format!("event {}: {}", event.reason, event.message));
    let beside = (!others.is_empty()).then(|| format!("servers that it knows beside: {}", some_of(&others)));
    let shown = store.windows.get(&location.server).map(shown);
    Some(Finding {
        evidence: shown.into_iter().chain(beside).chain(events).collect(),
        cause: why.clone(),
        remedy: format!(
            "kubectl get events -n {namespace} --field-selector reason=RetentionPolicyFailed; \
             kubectl logs -n {namespace} {primary} -c plugin-barman-cloud; believe the bucket: dalsegno archive audit {name}",
            namespace = cluster.cluster.namespace,
            primary = cluster.current_primary.as_deref().unwrap_or("PRIMARY"),
            name = cluster.subject.name()
        ),
        ..say(
            "recovery-window-unreliable",
            Severity::Warning,
            &cluster.subject,
            format!("what ObjectStore {}/{} says of {} is not so: {why}", cluster.cluster.namespace, store.name, location.server),
        )
    })
}

fn shown(window: &RecoveryWindowSeen) -> String {
    let at = |time: Option<jiff::Timestamp>| time.map_or_else(|| "never".to_owned(), |time| time.to_string());
    format!(
        "firstRecoverabilityPoint {}, lastSuccessfulBackupTime {}, lastFailedBackupTime {}",
        at(window.first),
        at(window.last_success),
        at(window.last_failure)
    )
}

fn missing(ground: &Ground, cluster: &CnpgFact, store: &ObjectStoreSeen, location: &LiveLocation) -> Option<String> {
    if store.windows.contains_key(&location.server) {
        return None;
    }
    let done = completed(cluster).filter(|backup| backup.method == PLUGIN && ground.older(backup.stopped, WRITTEN_WITHIN));
    // One that went to another server name, or before the store was named here, says nothing about this one.
    let here = |backup: &&CnpgBackup| backup.server.as_ref().is_none_or(|server| *server == location.server);
    let newest = done.filter(here).max_by_key(|backup| backup.stopped)?;
    Some(format!("it has no window for {}, although Backup {} is completed", location.server, newest.name))
}

/// The window begins before everything that the retention would have left: the maintenance that moves it does not end.
fn frozen(ground: &Ground, cluster: &CnpgFact, store: &ObjectStoreSeen, location: &LiveLocation) -> Option<String> {
    let first = store.windows.get(&location.server)?.first?;
    let written = location.retention.as_ref()?;
    let allowed = retention(written)? + interval(ground, cluster) + MAINTENANCE + DAY;
    let kept = |archive: &crate::domain::ArchiveFact| {
        archive.backups.iter().any(|backup| backup.keep.is_some_and(|keep| keep != Keep::Standalone))
    };
    if ground.age(first) <= allowed || ground.archive_of(&cluster.subject).is_some_and(kept) {
        return None;
    }
    Some(format!(
        "its first recoverability point is {} old under a retention of {written}, so its maintenance has not completed since {}",
        duration_in_words(ground.age(first)),
        age(plus(first, allowed), ground.now)
    ))
}

/// Plugin backups complete while archiving fails. Each ends in segments that never came. With the ids of those base backups.
pub(super) fn without_wal(ground: &Ground, cluster: &CnpgFact) -> Option<(Finding, Vec<String>)> {
    let failing = cluster.condition("ContinuousArchiving").filter(|condition| condition.is_false())?;
    let since = failing.since?;
    let late =
        completed(cluster).filter(|backup| backup.method == PLUGIN && backup.stopped.is_some_and(|stopped| stopped > since));
    let mut found: Vec<&CnpgBackup> = late.filter(|backup| !end_is_there(ground, cluster, backup)).collect();
    found.sort_by_key(|backup| backup.stopped);
    let newest = *found.last()?;
    let lines = found.iter().rev().take(10).map(|backup| {
        let end = backup.end_wal.as_deref().unwrap_or("an unknown segment");
        format!("Backup {} ({}): completed, needs WAL up to {end}", backup.name, backup.backup_id.as_deref().unwrap_or("no id"))
    });
    let archived = ground.archive_of(&cluster.subject).and_then(|archive| archive.newest_segment.as_ref());
    let archived = archived.map(|segment| format!("newest segment in the bucket: {}", segment.name));
    let finding = Finding {
        evidence: std::iter::once(condition_line(failing)).chain(lines).chain(archived).collect(),
        cause: "the plugin takes base backups while archiving fails; their last segments are still on the primary".to_owned(),
        remedy: format!(
            "mend archiving first: kubectl logs -n {} {} -c plugin-barman-cloud; once the backlog is gone: dalsegno archive audit {}",
            cluster.cluster.namespace,
            cluster.current_primary.as_deref().unwrap_or("PRIMARY"),
            cluster.subject.name()
        ),
        ..say(
            "base-backup-completed-without-wal",
            Severity::Critical,
            &cluster.subject,
            format!(
                "{} completed base backup(s) since {since} cannot be restored: {} needs {}, which was never archived",
                found.len(),
                newest.name,
                newest.end_wal.as_deref().unwrap_or("WAL")
            ),
        )
    };
    let ids = found.iter().filter_map(|backup| backup.backup_id.clone()).collect();
    Some((finding, ids))
}

fn condition_line(condition: &Condition) -> String {
    let since = condition.since.map_or_else(String::new, |at| format!(" since {at}"));
    format!("condition {} is {}{since}: {}", condition.kind, condition.status, condition.message)
}

/// Whether the archive holds the end of a Backup. Where it was not looked at nobody can say that it does not.
fn end_is_there(ground: &Ground, cluster: &CnpgFact, backup: &CnpgBackup) -> bool {
    let Some(archive) = ground.archive_of(&cluster.subject) else { return true };
    let by_record = archive.backups.iter().find(|seen| Some(&seen.id) == backup.backup_id.as_ref());
    if let Some(record) = by_record {
        return record.missing_wal.is_empty();
    }
    match (&backup.end_wal, &archive.newest_segment) {
        (Some(end), Some(newest)) => position(end) <= position(&newest.name),
        _ => false,
    }
}

/// Everything a Cluster writes to: bucket, path, server and who reads there, with the retention that acts on it.
fn writes<'a>(cluster: &'a CnpgFact) -> Vec<(&'a LiveLocation, Option<&'a str>)> {
    let of = |archiver: &'a ArchiveRef| match archiver {
        ArchiveRef::InTree { location } => Some((location, location.retention.as_deref().or(cluster.retention.as_deref()))),
        ArchiveRef::Plugin { location: Some(location), enabled: true, .. } => Some((location, location.retention.as_deref())),
        ArchiveRef::Plugin { .. } => None,
    };
    cluster.archivers.iter().filter_map(of).collect()
}

/// Two writers of one prefix with different retentions: the shorter one wins. Told at the one whose promise is broken.
pub(super) fn retention_conflict(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let mine = writes(cluster).into_iter().filter_map(|(place, written)| Some((place, written?, retention(written?)?)));
    let others =
        ground.cnpg.iter().flat_map(|other| writes(other).into_iter().map(move |(place, written)| (other, place, written)));
    let others: Vec<_> =
        others.filter_map(|(other, place, written)| Some((other, place, written?, retention(written?)?))).collect();
    let (place, written, other, its_place, its_written) = mine.into_iter().find_map(|(place, written, promised)| {
        let here = Spot::of(ground, cluster, place);
        let shorter = others
            .iter()
            .filter(|(other, its, _, kept)| *kept < promised && here.is_some() && Spot::of(ground, other, its) == here);
        let (other, its, its_written, _) = shorter.min_by(|a, b| a.3.total_cmp(&b.3))?;
        Some((place, written, *other, *its, *its_written))
    })?;
    Some(Finding {
        evidence: vec![
            format!("{} ({}): {written} for server {} at {}", place.spelt_in, cluster.subject, place.server, place.destination),
            format!(
                "{} ({}): {its_written} for server {} at {}",
                its_place.spelt_in, other.subject, its_place.server, its_place.destination
            ),
        ],
        cause: format!("the primary of {} removes there what is older than {its_written}", other.subject),
        remedy: format!(
            "give {} a server name of its own to write to, and let it read {} through an ObjectStore without retentionPolicy",
            other.cluster, place.server
        ),
        ..say(
            "retention-policy-conflict",
            Severity::Critical,
            &cluster.subject,
            format!("{written} are promised and {} deletes after {its_written} in the same prefix", its_place.spelt_in),
        )
    })
}

/// WAL goes to a bucket, every base backup stays in a volume snapshot of the same site.
pub(super) fn not_offsite(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let archive = ground.archive_of(&cluster.subject)?;
    let scheduled = active(cluster);
    let only_snapshots = !scheduled.is_empty() && scheduled.iter().all(|(schedule, _)| schedule.method == SNAPSHOT);
    if !only_snapshots || archive.segments == 0 || !done(archive).is_empty() || !archive.vanished_backups.is_empty() {
        return None;
    }
    let snapshots = completed(cluster).filter(|backup| is_snapshot(backup)).count();
    let oldest = archive.oldest_segment.as_ref().and_then(|segment| segment.written);
    let span = oldest.map_or_else(String::new, |at| format!(", the oldest written {}", age(at, ground.now)));
    let names: Vec<String> = scheduled.iter().map(|(schedule, _)| schedule.name.clone()).collect();
    let promised =
        writes(cluster).into_iter().find_map(|(_, written)| written.map(|text| format!("retention {text} never runs")));
    Some(Finding {
        evidence: std::iter::once(format!("{}: no base backup, {} segment(s){span}", archive.place, archive.segments))
            .chain(std::iter::once(format!("schedules with method {SNAPSHOT}: {}; completed: {snapshots}", some_of(&names))))
            .chain(promised)
            .collect(),
        cause: "every schedule makes volume snapshots, which die with their storage; retention acts on base backups only"
            .to_owned(),
        remedy: format!(
            "add a ScheduledBackup with method plugin (or barmanObjectStore) for {}, and take one now: kubectl cnpg backup -n {} {}",
            cluster.cluster, cluster.cluster.namespace, cluster.cluster.name
        ),
        ..say(
            "base-backup-not-offsite",
            Severity::Critical,
            &cluster.subject,
            format!("there is WAL in {} and no base backup: the only bases are volume snapshots in the same site", archive.place),
        )
    })
}
