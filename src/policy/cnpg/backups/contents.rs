//! What a base backup lacks, and what its making breaks: tablespaces, and the pod's temporary space.

use super::super::super::ground::{Ground, done, say, some_of};
use super::runs::overtaken;
use crate::domain::{BaseBackup, CnpgBackup, CnpgFact, Finding, PodSeen, Severity};

/// The errno of a full volume, as barman prints it.
const NO_SPACE: &str = "No space left on device";
/// What kubelet calls the volumes that it throws a pod out for.
const TEMPORARY: &[&str] = &["EmptyDir volume", "ephemeral-storage", "ephemeral local storage", "scratch-data"];

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    [tablespace_missing(ground, cluster), temporary_space(cluster)].into_iter().flatten().collect()
}

/// `16400.tar*`: a tablespace is named by its number.
fn is_tablespace(object: &str) -> bool {
    let digits = object.trim_start_matches(|c: char| c.is_ascii_digit());
    digits.len() < object.len() && (digits.starts_with('.') || digits.starts_with('_'))
}

/// Nothing is missing but tars of tablespaces.
pub(super) fn only_tablespaces(backup: &BaseBackup) -> bool {
    !backup.missing.is_empty() && backup.missing.iter().all(|object| is_tablespace(object))
}

/// The newest finished base backup of a Cluster's archive, when that was looked at.
pub(super) fn newest<'a>(ground: &Ground<'a>, cluster: &CnpgFact) -> Option<&'a BaseBackup> {
    done(ground.archive_of(&cluster.subject)?).last().copied()
}

/// The newest base backup lacks a tablespace that it names, or one that the live Cluster has.
pub(super) fn tablespace_missing(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let newest = newest(ground, cluster)?;
    let lost = if only_tablespaces(newest) { newest.missing.as_slice() } else { &[] };
    let unknown: Vec<String> = newest
        .tablespaces
        .as_ref()
        .map(|held| cluster.tablespaces.iter().filter(|name| !held.iter().any(|(seen, _)| seen == *name)).cloned().collect())
        .unwrap_or_default();
    if lost.is_empty() && unknown.is_empty() {
        return None;
    }
    let mut evidence = Vec::new();
    let mut cause = Vec::new();
    for object in lost {
        let named = newest.tablespaces.iter().flatten().find(|(_, oid)| object.starts_with(&oid.to_string()));
        let named = named.map_or_else(String::new, |(name, _)| format!(" ({name})"));
        evidence.push(format!("base backup {} names {object}{named}, and it is not there", newest.id));
        cause.push(format!("{object}{named} has no archive in {}", newest.id));
    }
    for name in &unknown {
        let held: Vec<String> = newest.tablespaces.iter().flatten().map(|(held, _)| held.clone()).collect();
        let held = if held.is_empty() { "none".to_owned() } else { some_of(&held) };
        evidence.push(format!("spec.tablespaces has {name}; base backup {} has {held}", newest.id));
        cause.push(format!("{name} was added after {}", newest.id));
    }
    Some(Finding {
        evidence,
        cause: cause.join("; "),
        remedy: format!(
            "kubectl cnpg backup -n {} {}; after every change of spec.tablespaces again",
            cluster.cluster.namespace, cluster.cluster.name
        ),
        ..say(
            "base-backup-tablespace-missing",
            Severity::Critical,
            &cluster.subject,
            format!("the newest base backup does not hold every tablespace: {}", cause.join("; ")),
        )
    })
}

/// A backup filled the pod's temporary space: kubelet threw the pod out, or barman ran out of room.
fn temporary_space(cluster: &CnpgFact) -> Option<Finding> {
    let full = |text: &str| text.contains(NO_SPACE) || TEMPORARY.iter().any(|word| text.contains(word));
    let failed = |backup: &&CnpgBackup| {
        let ended_badly = !matches!(backup.phase.as_deref(), Some("completed"));
        ended_badly && backup.error.as_deref().is_some_and(full) && !overtaken(cluster, backup)
    };
    let backups = cluster.backups.iter().flatten().filter(failed);
    let by_backup = backups.map(|backup| format!("Backup {}: {}", backup.name, backup.error.as_deref().unwrap_or_default()));
    let instances = || cluster.pods.iter().flatten().filter(|pod| pod.job.is_none());
    let by_pod = instances().filter_map(evicted);
    let by_log = instances().flat_map(|pod| {
        pod.log.iter().flatten().filter(|line| of_barman(line)).map(move |line| format!("log of {}: {line}", pod.name))
    });
    let evidence: Vec<String> = by_backup.chain(by_pod).chain(by_log).collect();
    let first = evidence.first()?.clone();
    Some(Finding {
        evidence,
        cause: "what the upload holds at once (data.jobs times the size of a part) does not fit into the pod's temporary volume"
            .to_owned(),
        remedy: format!(
            "kubectl edit cluster -n {} {}: raise or remove spec.ephemeralVolumesSizeLimit.temporaryData, lower data.jobs",
            cluster.cluster.namespace, cluster.cluster.name
        ),
        ..say(
            "backup-temp-space-exhausted",
            Severity::Warning,
            &cluster.subject,
            format!("a backup ran out of temporary space: {first}"),
        )
    })
}

fn evicted(pod: &PodSeen) -> Option<String> {
    let message = pod.message.as_deref().filter(|text| TEMPORARY.iter().any(|word| text.contains(word)))?;
    (pod.reason.as_deref() == Some("Evicted")).then(|| format!("pod {} was evicted: {message}", pod.name))
}

/// A full data volume is another matter: only barman's own backup counts.
fn of_barman(line: &str) -> bool {
    line.contains(NO_SPACE) && line.to_ascii_lowercase().contains("barman cloud backup")
}
