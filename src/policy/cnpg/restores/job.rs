//! How the recovery job goes: what its pods said, the first one first.

use super::super::super::ground::{Ground, done, say, some_of};
use super::super::restored::source;
use super::manifest::version_mismatch;
use super::room::too_small;
use super::source::{archive, base};
use super::{look_at, moment};
use crate::domain::{ArchiveFact, CnpgFact, Condition, Finding, JobSeen, PodSeen, Severity};

/// Jobs that the operator makes for a recovery end in these.
const RECOVERY: &[&str] = &["-full-recovery", "-snapshot-recovery"];
/// What PostgreSQL says when the end of the base backup is not in the archive.
const NO_END: &str = "WAL ends before end of online backup";
/// What it says when the first record is not where it should be.
const NO_CHECKPOINT: &[&str] = &["invalid checkpoint record", "could not locate required checkpoint record"];
/// The second failure with the same backup shows that trying again changes nothing.
const TRIED_AGAIN: u32 = 2;

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    let race = race(ground, cluster);
    let pinned = pinned(ground, cluster);
    let exact =
        race.is_some() || pinned.is_some() || version_mismatch(ground, cluster).is_some() || too_small(ground, cluster).is_some();
    let failed = if exact { None } else { failed(cluster) };
    [race, pinned, failed].into_iter().flatten().collect()
}

/// Recovery jobs that have not succeeded.
fn jobs(cluster: &CnpgFact) -> impl Iterator<Item = &JobSeen> {
    let all = cluster.jobs.iter().flatten();
    all.filter(|job| job.succeeded == 0 && RECOVERY.iter().any(|ending| job.name.ends_with(ending)))
}

fn given_up(job: &JobSeen) -> Option<&Condition> {
    job.conditions.iter().find(|condition| condition.kind == "Failed" && condition.is_true())
}

/// What a job's pods logged, oldest pod first: the later ones often die of what the first one left behind.
fn said<'a>(cluster: &'a CnpgFact, job: &JobSeen) -> Vec<(&'a PodSeen, &'a String)> {
    let mut pods: Vec<&PodSeen> = cluster.pods.iter().flatten().filter(|pod| pod.job.as_ref() == Some(&job.name)).collect();
    pods.sort_by(|a, b| (a.created, &a.name).cmp(&(b.created, &b.name)));
    pods.into_iter().flat_map(|pod| pod.log.iter().flatten().map(move |line| (pod, line))).collect()
}

fn lines(said: &[(&PodSeen, &String)]) -> Vec<String> {
    said.iter().take(10).map(|(pod, line)| format!("{}: {line}", pod.name)).collect()
}

/// Half-written segments of a parallel restore: the segment that PostgreSQL could not use lies whole in the bucket.
fn race(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let (name, source) = source(cluster)?;
    let parallel = source.location()?.wal_parallel.filter(|workers| *workers > 1)?;
    let (job, said) = jobs(cluster)
        .map(|job| (job, said(cluster, job)))
        .find(|(_, said)| said.iter().any(|(_, line)| NO_CHECKPOINT.iter().any(|words| line.contains(words))))?;
    let archive = archive(ground, cluster)?;
    let base = base(cluster, archive)?;
    if !whole(archive) || !base.missing.is_empty() || !base.missing_wal.is_empty() {
        return None;
    }
    Some(Finding {
        evidence: lines(&said)
            .into_iter()
            .chain([
                format!("base backup {} and its segments are whole in {}", base.id, archive.place),
                format!("externalClusters {name}: wal.maxParallel {parallel}"),
            ])
            .collect(),
        cause: "the segments are intact in the bucket, so the failure comes from the parallel fetching of the restore".to_owned(),
        remedy: format!(
            "set wal.maxParallel: 1 in what externalClusters {name} of {} reads from, and upgrade to barman-cloud 0.5.0 or newer",
            cluster.cluster
        ),
        ..say(
            "restore-parallel-race",
            Severity::Warning,
            &cluster.subject,
            format!("job {} cannot read a checkpoint that lies whole in the bucket, with maxParallel {parallel}", job.name),
        )
    })
}

/// Nothing in the archive is known to be bad where a recovery would pass.
fn whole(archive: &ArchiveFact) -> bool {
    archive.gaps.is_empty()
        && archive.empty_objects.is_empty()
        && archive.malformed_objects.is_empty()
        && archive.framed_objects.is_empty()
        && archive.partials_inside.is_empty()
        && archive.systems.len() < 2
}

/// The job takes the same unusable base backup again and again.
fn pinned(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let tried = jobs(cluster).filter(|job| job.failed >= TRIED_AGAIN);
    let (job, said, first) = tried.map(|job| (job, said(cluster, job))).find_map(|(job, said)| {
        let first = said.iter().find(|(_, line)| line.contains(NO_END)).copied()?;
        Some((job, said, first))
    })?;
    let archive = archive(ground, cluster);
    let bad = archive.and_then(|archive| base(cluster, archive));
    let good = archive.map(|archive| {
        let usable = done(archive).into_iter().filter(|backup| backup.missing.is_empty() && backup.missing_wal.is_empty());
        usable.filter(|backup| bad.is_none_or(|bad| bad.id != backup.id)).map(|backup| backup.id.clone()).collect::<Vec<_>>()
    });
    let good = good.unwrap_or_default();
    let newest = good.last().cloned();
    let listed = (!good.is_empty()).then(|| format!("base backups whose WAL is there: {}", some_of(&good)));
    let lacking = bad
        .filter(|bad| !bad.missing_wal.is_empty())
        .map(|bad| format!("base backup {} lacks {}", bad.id, some_of(&bad.missing_wal)));
    let last = said.last().map(|(_, line)| *line).filter(|line| *line != first.1);
    Some(Finding {
        evidence: lines(&said).into_iter().chain(lacking).chain(listed).collect(),
        cause: match last {
            Some(last) => format!("the first failure was \"{}\"; the last one, \"{last}\", is what it left behind", first.1),
            None => format!("the first failure was \"{}\", and trying again takes the same base backup", first.1),
        },
        remedy: format!(
            "kubectl delete cluster -n {} {} (its volumes go with it); pin recoveryTarget.backupID to {} and apply anew",
            cluster.cluster.namespace,
            cluster.cluster.name,
            newest.as_deref().unwrap_or("a base backup whose begin_wal to end_wal are in the bucket")
        ),
        ..say(
            "restore-retrying-bad-backup",
            Severity::Critical,
            &cluster.subject,
            format!("job {} failed {} times on a base backup whose WAL is not whole", job.name, job.failed),
        )
    })
}

/// The job gave up, and the Cluster goes on saying that it sets up.
fn failed(cluster: &CnpgFact) -> Option<Finding> {
    if cluster.ready_instances.unwrap_or_default() > 0 || cluster.deleting.is_some() {
        return None;
    }
    let (job, gave_up) = jobs(cluster).filter(|job| job.active == 0).find_map(|job| Some((job, given_up(job)?)))?;
    let said = said(cluster, job);
    let phase = cluster.phase.as_deref().unwrap_or("no phase");
    let reason = cluster.phase_reason.as_deref().map_or_else(String::new, |reason| format!(" ({reason})"));
    Some(Finding {
        evidence: [
            format!("Job {}: failed {}, {} since {}", job.name, job.failed, gave_up.reason, moment(gave_up.since)),
            format!("Cluster {}: \"{phase}\"{reason}", cluster.cluster),
        ]
        .into_iter()
        .chain(lines(&said))
        .collect(),
        cause: match said.first() {
            Some((pod, line)) => format!("pod {} said first: {line}", pod.name),
            None => format!("the recovery job gave up {}; nothing runs any more", moment(gave_up.since)),
        },
        remedy: format!(
            "kubectl logs -n {namespace} -l job-name={job} --all-containers; correct the cause, kubectl delete cluster -n {namespace} {name}, apply again; {look}",
            namespace = cluster.cluster.namespace,
            job = job.name,
            name = cluster.cluster.name,
            look = look_at(cluster)
        ),
        ..say(
            "restore-job-failed",
            Severity::Critical,
            &cluster.subject,
            format!("the recovery of {} has failed for good although it says \"{phase}\"", cluster.cluster),
        )
    })
}
