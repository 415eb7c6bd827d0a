//! Archiving that was switched off, and databases that were switched off before their last segment was archived.

use super::super::ground::{Ground, say};
use super::{place, stand};
use crate::domain::{ArchiveFact, CnpgFact, CnpgGone, Finding, KubeName, LastPosition, LiveLocation, Severity, Subject, age};

/// The only value of the annotation that has an effect.
const SWITCHED_OFF: &str = "enabled";
/// What PostgreSQL writes into a fresh segment without anybody's data: page header, running transactions, a checkpoint. One page holds it.
const NOBODYS_BYTES: u64 = 8192;

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    [annotation(cluster), tail(ground, cluster)].into_iter().flatten().collect()
}

fn annotation(cluster: &CnpgFact) -> Option<Finding> {
    let off = cluster.skip_wal_archiving.as_deref() == Some(SWITCHED_OFF);
    let schedules = cluster.schedules.as_deref().unwrap_or_default();
    let meant_to_archive = stand::has_archiver(cluster) || !schedules.is_empty();
    if !off || !meant_to_archive || stand::is_stopped(cluster) {
        return None;
    }
    let (namespace, name) = (&cluster.cluster.namespace, &cluster.cluster.name);
    let mut evidence = vec!["annotation cnpg.io/skipWalArchiving: enabled (archive_mode is off on every instance)".to_owned()];
    evidence
        .extend(stand::written(cluster).into_iter().map(|location| format!("it should archive to {}", place::words(location))));
    evidence.extend(
        schedules.iter().map(|schedule| format!("ScheduledBackup {} goes on; its base backups lack their WAL", schedule.name)),
    );
    Some(Finding {
        evidence,
        cause: "the annotation was set, probably during an incident, and never taken back".to_owned(),
        remedy: format!(
            "kubectl -n {namespace} annotate cluster {name} cnpg.io/skipWalArchiving- (restarts the instances); wait for ContinuousArchiving \
             True, then take a base backup: WAL of the time between is lost"
        ),
        ..say(
            "wal-archiving-disabled-by-annotation",
            Severity::Critical,
            &cluster.subject,
            "archiving is switched off by the annotation cnpg.io/skipWalArchiving, although a destination or a schedule is configured".to_owned(),
        )
    })
}

/// Hibernated, or being deleted with its pods gone already.
fn tail(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let hibernated = cluster.hibernated && cluster.condition("cnpg.io/hibernation").is_some_and(|condition| condition.is_true());
    let leaving =
        cluster.deleting.is_some() && cluster.pods.as_ref().is_some_and(|pods| pods.iter().all(|pod| pod.job.is_some()));
    if !hibernated && !leaving {
        return None;
    }
    let how = if hibernated { "hibernated" } else { "is being deleted" };
    stand::written(cluster).into_iter().find_map(|location| {
        left_behind(ground, &cluster.subject, &cluster.cluster, how, location, cluster.last_position.as_ref()?)
    })
}

/// Clusters that were there and are not any more.
pub(super) fn gone(ground: &Ground) -> Vec<Finding> {
    let of_one = |gone: &&CnpgGone| -> Option<Finding> {
        left_behind(ground, &gone.subject, &gone.cluster, "was deleted", gone.location.as_ref()?, gone.last_position.as_ref()?)
    };
    ground.cnpg_sites.iter().flat_map(|site| &site.gone).filter_map(|gone| of_one(&gone)).collect()
}

/// The archive ends before the segment in which the database wrote last.
fn left_behind(
    ground: &Ground,
    subject: &Subject,
    cluster: &KubeName,
    how: &str,
    location: &LiveLocation,
    position: &LastPosition,
) -> Option<Finding> {
    let archive = ground.archives.iter().find(|archive| place::is_at(location, &archive.place))?;
    let size = archive.segment_size.unwrap_or(position.segment).max(1);
    let newest = archive.newest_segment.as_ref()?;
    let archived = number(&newest.name, size)?;
    let last = position.lsn / size;
    let needed = if position.lsn % size <= NOBODYS_BYTES { last.checked_sub(1)? } else { last };
    if archived >= needed {
        return None;
    }
    let name = segment_name(position, size, needed, &newest.name);
    Some(Finding {
        evidence: vec![
            format!("position {:X}/{:08X} at {} ({}): segment {name}", position.lsn >> 32, position.lsn & 0xFFFF_FFFF, position.at, age(position.at, ground.now)),
            format!("newest segment in {}: {}", archive.place, newest.name),
        ],
        cause: format!("{cluster} {how} before segment {name} was shipped"),
        remedy: format!(
            "keep the volumes of {cluster}; wake it (kubectl -n {} annotate cluster {} cnpg.io/hibernation=off --overwrite), run: SELECT \
             pg_switch_wal(), CHECKPOINT, and see {name} in the bucket before it goes to sleep or is deleted",
            cluster.namespace, cluster.name
        ),
        ..say(
            "wal-tail-not-archived-at-shutdown",
            Severity::Warning,
            subject,
            format!("{cluster} {how}, and {} segment(s) up to {name} are only on its volume", needed - archived),
        )
    })
    .filter(|_| !rewritten(archive, position))
}

/// The archive went on on a later timeline than the one that was known: the position belongs to another branch.
fn rewritten(archive: &ArchiveFact, position: &LastPosition) -> bool {
    let newest = archive.newest_segment.as_ref().and_then(|seen| u32::from_str_radix(seen.name.get(..8)?, 16).ok());
    matches!((newest, position.timeline), (Some(newest), Some(known)) if newest > known)
}

/// The number of a segment in the one line of WAL: its name tells the upper and lower half of its position.
fn number(name: &str, size: u64) -> Option<u64> {
    let upper = u64::from_str_radix(name.get(8..16)?, 16).ok()?;
    let lower = u64::from_str_radix(name.get(16..24)?, 16).ok()?;
    upper.checked_mul((1 << 32) / size)?.checked_add(lower)
}

fn segment_name(position: &LastPosition, size: u64, number: u64, like: &str) -> String {
    let per_upper = ((1_u64 << 32) / size).max(1);
    let timeline =
        position.timeline.map_or_else(|| like.get(..8).unwrap_or("00000001").to_owned(), |timeline| format!("{timeline:08X}"));
    format!("{timeline}{:08X}{:08X}", number / per_upper, number % per_upper)
}
