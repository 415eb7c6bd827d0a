//! The queue of Backup objects: what stands at its head and does not move, and what gathers behind.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::super::super::ground::{DAY, Ground, HOUR, plus, say};
use super::super::stand::is_stopped;
use super::runs::{GRACE, began, calendar, completed, in_phase, is_snapshot, longest_taken, overtaken};
use super::{in_namespace, named};
use crate::domain::{
    CnpgBackup, CnpgFact, CnpgSiteFact, ContainerSeen, EventSeen, Finding, PodSeen, Severity, Subject, age, duration_in_words,
    nearest,
};

/// CNPG itself tries a backup that archiving holds up for ten minutes; after an hour nobody tries any more.
const STUCK_AFTER: f64 = HOUR;
/// A database that grew does not take three times as long as it ever did; one of a day is left alone.
const USUAL_TIMES: f64 = 3.0;
/// A Backup that no schedule made, and one whose schedule is not known, may wait for a day.
const PENDING_AFTER: f64 = DAY;
/// Objects that one Cluster may have before anybody counts: a bad night with a retry every few minutes stays below.
const FEW: usize = 100;
/// Objects beside those of real backups that make the operator's memory grow.
const LEFT_OVER: usize = 400;
/// So many times as many objects as there are backups.
const TIMES_TOO_MANY: usize = 3;

const RUNS: &[&str] = &["started", "running", "finalizing"];
const WAITS: &[&str] = &["", "pending"];
/// Phases that CNPG neither ends by itself nor takes for an end.
const REFUSED: &str = "invalid backup definition";
const ARCHIVING: &str = "walArchivingFailing";

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    [blocked(ground, cluster), running_stale(ground, cluster), pending(ground, cluster), flood(ground, cluster)]
        .into_iter()
        .flatten()
        .collect()
}

/// Whether something in the queue keeps every later base backup from starting.
pub(super) fn holds_all(ground: &Ground, cluster: &CnpgFact) -> bool {
    blocked(ground, cluster).is_some() || running_stale(ground, cluster).is_some() || pending(ground, cluster).is_some()
}

fn names<'a>(backups: impl IntoIterator<Item = &'a CnpgBackup>) -> Vec<String> {
    let mut sorted: Vec<&CnpgBackup> = backups.into_iter().collect();
    sorted.sort_by(|a, b| (a.created, &a.name).cmp(&(b.created, &b.name)));
    sorted.into_iter().map(|backup| backup.name.clone()).collect()
}

fn told(backup: &CnpgBackup, now: Timestamp) -> String {
    let since = began(backup).map_or_else(|| "at an unknown time".to_owned(), |at| age(at, now));
    let phase = backup.phase.as_deref().filter(|phase| !phase.is_empty()).unwrap_or("without a phase");
    format!("Backup {}: {phase}, begun {since}", backup.name)
}

/// A Backup in a phase that the operator neither ends nor takes for an end, while archiving works (else that is the cause).
fn blocked(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let archives = cluster.condition("ContinuousArchiving").is_some_and(crate::domain::Condition::is_true);
    let stuck = |backup: &&CnpgBackup| {
        (archives || backup.phase.as_deref() == Some(REFUSED))
            && ground.older(began(backup), STUCK_AFTER)
            && !overtaken(cluster, backup)
    };
    let found: Vec<&CnpgBackup> = in_phase(cluster, &[ARCHIVING, REFUSED]).filter(stuck).collect();
    let first = *found.iter().min_by_key(|backup| began(backup))?;
    let behind = names(in_phase(cluster, WAITS));
    // The newest of those that wait may run as soon as the way is free.
    let superfluous = behind.split_last().map(|(_, older)| older.to_vec()).unwrap_or_default();
    let gone: Vec<String> = names(found.iter().copied()).into_iter().chain(superfluous).collect();
    let phase = first.phase.as_deref().unwrap_or_default();
    let waiting = (!behind.is_empty()).then(|| format!("behind it wait {}", behind.join(", ")));
    Some(Finding {
        evidence: found.iter().map(|backup| told(backup, ground.now)).chain(waiting).collect(),
        cause: format!("Backup {} stays in phase \"{phase}\", which CNPG neither retries nor takes for an end", first.name),
        remedy: format!("kubectl delete backup {}", in_namespace(cluster, &gone)),
        ..say(
            "backup-queue-blocked",
            Severity::Critical,
            &cluster.subject,
            format!("Backup {} stands in \"{phase}\" and holds up every later one ({} waiting)", first.name, behind.len()),
        )
    })
}

/// Says that it runs, and its process is gone; or it runs far longer than any before.
pub(super) fn running_stale(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let stale = |backup: &CnpgBackup| {
        let old = ground.older(began(backup), STUCK_AFTER) && !overtaken(cluster, backup);
        if old { died(cluster, backup).or_else(|| hangs(ground, cluster, backup)) } else { None }
    };
    let found: Vec<(&CnpgBackup, String)> = in_phase(cluster, RUNS).filter_map(|backup| Some((backup, stale(backup)?))).collect();
    let (first, why) = found.first()?;
    let orphans = found.iter().filter_map(|(backup, _)| backup.backup_id.as_ref().map(|id| format!("base/{id}/")));
    let orphans: Vec<String> = orphans.collect();
    let left =
        if orphans.is_empty() { String::new() } else { format!("; after the next good backup look at {}", orphans.join(", ")) };
    let all = names(found.iter().map(|(backup, _)| *backup));
    Some(Finding {
        evidence: found.iter().map(|(backup, why)| format!("{}; {why}", told(backup, ground.now))).collect(),
        cause: why.clone(),
        remedy: format!("kubectl delete backup {}{left}", in_namespace(cluster, &all)),
        ..say(
            "backup-running-stale",
            Severity::Critical,
            &cluster.subject,
            format!("{} is \"{}\" and will not end: {why}", named("Backup", &all), first.phase.as_deref().unwrap_or_default()),
        )
    })
}

/// The pod, or the container of PostgreSQL in it, is not the one that took the backup.
fn died(cluster: &CnpgFact, backup: &CnpgBackup) -> Option<String> {
    let (pods, pod) = (cluster.pods.as_ref()?, backup.pod.as_ref()?);
    let Some(now) = pods.iter().find(|seen| &seen.name == pod) else {
        return Some(format!("its pod {pod} is not there any more"));
    };
    let id = now.containers.iter().find(|container| is_postgres(container))?.id.as_ref()?;
    let then = backup.container.as_ref().filter(|then| *then != id)?;
    Some(format!("pod {pod} was restarted: the backup ran in {then}, now there is {id}"))
}

fn is_postgres(container: &ContainerSeen) -> bool {
    container.name == "postgres"
}

fn hangs(ground: &Ground, cluster: &CnpgFact, backup: &CnpgBackup) -> Option<String> {
    let usual = longest_taken(cluster)?;
    let runs = ground.age(began(backup)?);
    (runs > (USUAL_TIMES * usual).max(DAY))
        .then(|| format!("it runs for {}, the longest before took {}", duration_in_words(runs), duration_in_words(usual)))
}

/// Waits for longer than a period of its schedule, with nothing in front of it that would explain it.
fn pending(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let explained = is_stopped(cluster)
        || in_phase(cluster, RUNS).next().is_some()
        || in_phase(cluster, &[ARCHIVING]).next().is_some()
        || blocked(ground, cluster).is_some();
    let found: Vec<&CnpgBackup> =
        in_phase(cluster, WAITS).filter(|backup| overdue(ground, cluster, backup) && !overtaken(cluster, backup)).collect();
    if explained || found.is_empty() {
        return None;
    }
    let why = cluster.events.as_ref().and_then(|events| why_waiting(events, &found)).or_else(|| why_not_ready(cluster));
    pending_finding(ground, &cluster.subject, &cluster.cluster.namespace, &found, why)
}

fn overdue(ground: &Ground, cluster: &CnpgFact, backup: &CnpgBackup) -> bool {
    let Some(created) = backup.created else { return false };
    let schedule = cluster.schedules.iter().flatten().find(|schedule| backup.schedule.as_ref() == Some(&schedule.name));
    match schedule.and_then(|schedule| calendar(schedule).ok()?.next_after(created)) {
        Some(next) => plus(next, GRACE) < ground.now,
        None => ground.age(created) > PENDING_AFTER,
    }
}

/// The newest event about one of them.
fn why_waiting(events: &[EventSeen], found: &[&CnpgBackup]) -> Option<String> {
    let about = |event: &&EventSeen| found.iter().any(|backup| event.about == format!("Backup {}", backup.name));
    let newest = events.iter().filter(about).max_by_key(|event| event.last)?;
    Some(format!("{}: {}", newest.reason, newest.message))
}

fn why_not_ready(cluster: &CnpgFact) -> Option<String> {
    let unready = |pod: &&PodSeen| pod.ready == Some(false) && pod.job.is_none();
    let pods: Vec<String> = cluster.pods.iter().flatten().filter(unready).map(|pod| pod.name.clone()).collect();
    (!pods.is_empty()).then(|| format!("{} not ready", named("pod", &pods)))
}

fn pending_finding(
    ground: &Ground,
    subject: &Subject,
    namespace: &str,
    found: &[&CnpgBackup],
    why: Option<String>,
) -> Option<Finding> {
    let all = names(found.iter().copied());
    let first = all.first()?;
    let why = why.unwrap_or_else(|| "nothing that was looked at tells what it waits for".to_owned());
    Some(Finding {
        evidence: found.iter().map(|backup| told(backup, ground.now)).chain(std::iter::once(why.clone())).collect(),
        cause: why.clone(),
        remedy: format!(
            "kubectl describe backup -n {namespace} {first}; mend what it waits for, then: kubectl delete backup -n {namespace} {}",
            all.join(" ")
        ),
        ..say("backup-pending-overdue", Severity::Critical, subject, format!("{} never started: {why}", named("Backup", &all)))
    })
}

/// Backups for a Cluster that is not there: a misspelt name, told at the Cluster that was probably meant.
pub(super) fn orphans(ground: &Ground, site: &CnpgSiteFact) -> Vec<Finding> {
    let mut by_cluster: BTreeMap<(&str, &str), Vec<&CnpgBackup>> = BTreeMap::new();
    for (namespace, backup) in &site.orphan_backups {
        let waits = WAITS.contains(&backup.phase.as_deref().unwrap_or_default());
        if waits && ground.older(backup.created, PENDING_AFTER) {
            by_cluster.entry((namespace, &backup.cluster)).or_default().push(backup);
        }
    }
    let finding = |((namespace, cluster), found): ((&str, &str), Vec<&CnpgBackup>)| {
        let why = format!("Cluster {namespace}/{cluster} does not exist");
        pending_finding(ground, &meant(ground, site, namespace, cluster), namespace, &found, Some(why))
    };
    by_cluster.into_iter().filter_map(finding).collect()
}

/// The Cluster that somebody probably meant, else the Kubernetes cluster.
pub(super) fn meant(ground: &Ground, site: &CnpgSiteFact, namespace: &str, name: &str) -> Subject {
    let here = || ground.cnpg.iter().filter(|other| other.kube == site.kube && other.cluster.namespace == namespace);
    let likely = nearest(name, here().map(|other| other.cluster.name.as_str()));
    let found = likely.and_then(|likely| here().find(|other| other.cluster.name == likely));
    found.map_or_else(|| site.subject.clone(), |other| other.subject.clone())
}

/// Far more Backup objects than backups: failed ones are never collected, and the operator holds all of them in memory.
fn flood(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let backups = cluster.backups.as_ref()?;
    let snapshots = completed(cluster).filter(|backup| is_snapshot(backup)).count();
    let archive = ground.archive_of(&cluster.subject);
    let stored =
        archive.map_or_else(|| completed(cluster).filter(|backup| !is_snapshot(backup)).count(), |archive| archive.backups.len());
    let real = stored + snapshots;
    let too_many = backups.len().saturating_sub(real) > LEFT_OVER || backups.len() > real.saturating_mul(TIMES_TOO_MANY);
    if backups.len() <= FEW || !too_many {
        return None;
    }
    let mut by_phase: BTreeMap<&str, usize> = BTreeMap::new();
    for backup in backups {
        *by_phase.entry(backup.phase.as_deref().filter(|phase| !phase.is_empty()).unwrap_or("none yet")).or_default() += 1;
    }
    let counts: Vec<String> = by_phase.iter().map(|(phase, count)| format!("{count} {phase}")).collect();
    let there = if archive.is_some() { "in the bucket" } else { "completed" };
    let namespace = &cluster.cluster.namespace;
    Some(Finding {
        evidence: vec![format!("Backup objects: {}", counts.join(", ")), format!("backups {there}: {real}")],
        cause: "failed Backups are never deleted by the operator; a schedule that fires too often makes one at each run"
            .to_owned(),
        remedy: format!(
            "correct the schedule first, then: kubectl get backups -n {namespace} -l cnpg.io/cluster={} \
             -o jsonpath='{{range .items[?(@.status.phase==\"failed\")]}}{{.metadata.name}}{{\"\\n\"}}{{end}}' \
             | xargs -n 50 kubectl delete backup -n {namespace}",
            cluster.cluster.name
        ),
        ..say(
            "backup-objects-unbounded",
            Severity::Warning,
            &cluster.subject,
            format!("{} Backup objects exist, and {real} backups {there}", backups.len()),
        )
    })
}
