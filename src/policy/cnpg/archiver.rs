//! Whether segments get out, by numbers and by the bucket first and by the operator's word last.

use jiff::Timestamp;

use super::super::clock;
use super::super::ground::{DAY, Ground, say};
use super::numbers::Numbers;
use super::stand;
use crate::domain::{ArchiveFact, Clock, CnpgFact, Condition, Finding, Held, Severity, age, duration_in_words, metric};

/// A failure this old and never repeated is history: what still fails is tried again every minute.
const OLD_FAILURE: f64 = DAY;
/// Without a time since when PostgreSQL is down, only silence of this length is no restart any more.
const LONG_SILENCE: f64 = DAY;

/// The general reasons why nothing gets out: counted failures, failures that are not counted, and no sign of life at all.
pub(super) fn not_archiving(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let numbers = Numbers::of(ground, cluster);
    let clock = clock::clock_of(ground, &cluster.subject);
    // Segments leave: whether fast enough is the clock's to say.
    if matches!(clock.held, Held::Draining | Held::ArchivingIsSlower) {
        return None;
    }
    failing(ground, cluster, &numbers, &clock)
        .or_else(|| stalled(ground, cluster, &numbers, &clock))
        .or_else(|| unproven(ground, cluster, &numbers))
}

/// What is worth knowing beside that; `fine` = nothing was found so far.
pub(super) fn beside(ground: &Ground, cluster: &CnpgFact, fine: bool) -> Vec<Finding> {
    let numbers = Numbers::of(ground, cluster);
    let old = if fine { old_failure(ground, cluster, &numbers) } else { None };
    [unobservable(ground, cluster, &numbers), old].into_iter().flatten().collect()
}

pub(super) fn continuous(cluster: &CnpgFact) -> Option<&Condition> {
    cluster.condition("ContinuousArchiving")
}

/// The condition says that archiving fails, for longer than an upload with retries or a switchover takes, and nothing shows that the
/// word is stale: no segment was archived since, what waits is not getting less, and something waits at all.
pub(super) fn believed_failure<'a>(ground: &Ground, cluster: &'a CnpgFact, numbers: &Numbers) -> Option<&'a Condition> {
    let condition = continuous(cluster).filter(|condition| condition.is_false())?;
    let lasting = ground.older(condition.since, ground.archiving_grace(&cluster.subject));
    (lasting && !stand::is_switching(ground, cluster) && !stale_word(ground, cluster, condition, numbers)).then_some(condition)
}

/// Something was archived after the condition turned, or nothing is left that could fail.
fn stale_word(ground: &Ground, cluster: &CnpgFact, condition: &Condition, numbers: &Numbers) -> bool {
    let after = |at: Option<Timestamp>| matches!((at, condition.since), (Some(at), Some(since)) if at > since);
    let archived_since = after(numbers.last_archived) && !numbers.last_try_failed();
    numbers.draining() || numbers.nothing_waits() || archived_since || (numbers.ready.is_none() && after(newest(ground, cluster)))
}

/// When the newest segment was written to the place that this Cluster writes to.
fn newest(ground: &Ground, cluster: &CnpgFact) -> Option<Timestamp> {
    archive(ground, cluster)?.newest_segment.as_ref()?.written
}

fn archive<'a>(ground: &Ground<'a>, cluster: &CnpgFact) -> Option<&'a ArchiveFact> {
    let here = |archive: &&ArchiveFact| {
        stand::written(cluster).into_iter().any(|location| super::place::is_at(location, &archive.place))
    };
    ground.archive_of(&cluster.subject).filter(here)
}

fn failing(ground: &Ground, cluster: &CnpgFact, numbers: &Numbers, clock: &Clock) -> Option<Finding> {
    let believed = believed_failure(ground, cluster, numbers);
    let counted = numbers.keeps_failing() && !numbers.draining() && !stand::is_switching(ground, cluster);
    if believed.is_none() && !counted {
        return None;
    }
    // The operator's word alone is a latch; a segment that waits, a failure that is counted, or a bucket that got nothing confirms it.
    let since = believed.and_then(|condition| condition.since);
    let nothing_came = matches!((newest(ground, cluster), since), (Some(newest), Some(since)) if newest <= since);
    let confirmed = counted || numbers.ready.is_some() || numbers.last_try_failed() || nothing_came;
    let message = continuous(cluster).filter(|condition| condition.is_false()).map(|condition| condition.message.clone());
    let since = since.or(clock.since).or(numbers.last_archived);
    let told = clock::failing(ground, &cluster.subject, clock);
    let allowed = ground.policy(&cluster.subject).rpo_seconds.unwrap_or(LONG_SILENCE);
    let severity =
        if confirmed && since.is_some_and(|at| ground.age(at) >= allowed) { Severity::Critical } else { told.severity };
    let lasting = since.map_or_else(String::new, |at| format!(" since {at} ({})", age(at, ground.now)));
    let waits = numbers.ready.map_or_else(String::new, |ready| format!(", {ready:.0} segment(s) wait"));
    let mut evidence = conditions(cluster);
    evidence.extend(numbers.lines());
    evidence.extend(if clock.runs() { told.evidence } else { Vec::new() });
    evidence.extend(newest(ground, cluster).map(|at| format!("newest segment in the bucket written {at}")));
    if !confirmed {
        evidence.push("no number and no bucket confirms it: the condition has no heartbeat".to_owned());
    }
    Some(Finding {
        evidence,
        cause: message.unwrap_or_else(|| "the archive command fails again and again".to_owned()),
        remedy: format!(
            "{}; repair what it names; with little room left enlarge the volume first, and never delete from pg_wal",
            stand::read_the_log(cluster)
        ),
        ..say(
            "wal-archiving-failing-disk-clock",
            if confirmed { severity } else { Severity::Warning },
            &cluster.subject,
            format!("archiving fails{lasting}{waits}; {}", clock::when(clock)),
        )
    })
}

/// Segments wait, none goes out, and no failure is counted: the command dies by a signal, hangs, or cannot be started.
fn stalled(ground: &Ground, cluster: &CnpgFact, numbers: &Numbers, clock: &Clock) -> Option<Finding> {
    let grace = ground.archiving_grace(&cluster.subject);
    let silent = numbers.silent_for.is_some_and(|seconds| seconds > grace) || never_archived(numbers);
    let uncounted = !numbers.last_try_failed() && numbers.failed_growth.is_none_or(|more| more <= 0.0);
    if !numbers.backlog() || !silent || !uncounted || numbers.draining() || stand::is_switching(ground, cluster) {
        return None;
    }
    let killed = killed(cluster);
    let ready = numbers.ready?;
    let for_how_long =
        numbers.silent_for.map_or_else(|| "ever".to_owned(), |seconds| format!("for {}", duration_in_words(seconds)));
    let mut evidence = numbers.lines();
    evidence.extend(conditions(cluster));
    evidence.extend(killed.clone());
    evidence.extend(clock.full_in.is_some().then(|| clock::when(clock)));
    Some(Finding {
        cause: killed.unwrap_or_else(|| {
            "the archive command is killed, hangs, or cannot be executed: PostgreSQL counts exit codes 1 to 125 only".to_owned()
        }),
        evidence,
        remedy: format!(
            "kubectl -n {} describe pod {} (OOMKilled? restarts?); raise the memory limit of the instance and the sidecar, then see \
             the number of waiting segments fall",
            cluster.cluster.namespace,
            stand::primary_name(cluster)
        ),
        ..say(
            "wal-archiver-stalled-uncounted",
            Severity::Critical,
            &cluster.subject,
            format!("{ready:.0} segments wait, none was archived {for_how_long}, and none is counted as failed"),
        )
    })
}

/// Nothing was ever archived although the exporter counts.
fn never_archived(numbers: &Numbers) -> bool {
    numbers.last_archived.is_none() && numbers.archived.is_some_and(|count| count <= 0.0)
}

/// A sign that a process of the archiver was killed or could not be started.
fn killed(cluster: &CnpgFact) -> Option<String> {
    let line = stand::line_with(cluster, &["archive command was terminated", "archive command failed with exit code 12"]);
    let pod = stand::primary(cluster);
    let mut containers = pod.iter().flat_map(|pod| &pod.containers);
    let out_of_memory = containers.find(|container| container.last_reason.as_deref() == Some("OOMKilled"));
    line.map(str::to_owned).or_else(|| {
        out_of_memory.map(|container| format!("container {} was killed for want of memory (OOMKilled)", container.name))
    })
}

/// The Cluster should run and does not, its condition still says True, and the bucket got nothing for long.
fn unproven(ground: &Ground, cluster: &CnpgFact, numbers: &Numbers) -> Option<Finding> {
    let condition = continuous(cluster).filter(|condition| condition.is_true())?;
    let newest = newest(ground, cluster)?;
    let allowed = ground.policy(&cluster.subject).rpo_seconds.unwrap_or(0.0).max(ground.archiving_grace(&cluster.subject));
    // A server that answers and has nothing to archive is idle.
    let idle = numbers.exporter == Some(true) && (numbers.nothing_waits() || !numbers.backlog());
    let down = down_since(ground, cluster, newest)?;
    if idle || ground.age(newest) <= allowed {
        return None;
    }
    let confirmed = condition.since.map_or_else(String::new, |at| format!(", unchanged since {at}"));
    Some(Finding {
        evidence: vec![
            format!("condition ContinuousArchiving is True{confirmed}: it says when it changed, not when it was last confirmed"),
            format!("newest segment in the bucket written {newest} ({})", age(newest, ground.now)),
            down.clone(),
        ],
        cause: down,
        remedy: format!(
            "kubectl cnpg -n {} status {}; bring the primary back or fail over, then: SELECT pg_switch_wal(), and see the segment \
             arrive in the bucket",
            cluster.cluster.namespace, cluster.cluster.name
        ),
        ..say(
            "wal-freshness-unproven",
            Severity::Critical,
            &cluster.subject,
            format!(
                "nothing shows that a segment reached the bucket after {newest} ({}), and PostgreSQL should be running",
                age(newest, ground.now)
            ),
        )
    })
}

/// What shows that PostgreSQL is down, and not just being restarted.
fn down_since(ground: &Ground, cluster: &CnpgFact, newest: Timestamp) -> Option<String> {
    let primary_down = stand::primary(cluster).and_then(|pod| pod.ready).is_some_and(|ready| !ready);
    let gone = cluster.pods.is_some() && stand::primary(cluster).is_none();
    if cluster.ready_instances != Some(0) && !primary_down && !gone {
        return None;
    }
    let ready = cluster.condition("Ready");
    let long = match ready.filter(|condition| condition.is_false()).and_then(|condition| condition.since) {
        Some(since) => ground.age(since) > ground.archiving_grace(&cluster.subject),
        None => ready.is_none() && ground.age(newest) > LONG_SILENCE,
    };
    let phase = cluster.phase.as_deref().unwrap_or("not said");
    let instances = cluster.ready_instances.map_or_else(|| "?".to_owned(), |ready| ready.to_string());
    long.then(|| format!("{instances} of {} instances are ready, phase \"{phase}\"", cluster.instances))
}

/// The exporter answers, and the archiver's numbers are not among what it says.
fn unobservable(ground: &Ground, cluster: &CnpgFact, numbers: &Numbers) -> Option<Finding> {
    let told = numbers.archived.is_some()
        || numbers.failed.is_some()
        || ground.series(&cluster.subject, metric::WAL_ARCHIVED).is_some_and(|series| !series.points.is_empty());
    // On a replica cluster the query has no row of its own.
    if numbers.exporter != Some(true) || told || cluster.replica_of.is_some() {
        return None;
    }
    let cause = if cluster.no_default_queries {
        "spec.monitoring.disableDefaultQueries is true, so pg_stat_archiver is not exported"
    } else {
        "the default queries are not loaded (ConfigMap cnpg-default-monitoring), or the scrape drops the series"
    };
    Some(Finding {
        evidence: vec![
            "the exporter answers (cnpg_collector_up 1), and no series cnpg_pg_stat_archiver_* is there".to_owned(),
            format!("disableDefaultQueries: {}", cluster.no_default_queries),
        ],
        cause: cause.to_owned(),
        remedy: format!(
            "kubectl -n {} patch cluster {} --type merge -p '{{\"spec\":{{\"monitoring\":{{\"disableDefaultQueries\":false}}}}}}', or add \
             the pg_stat_archiver query to your own; and alert on absent() of the series",
            cluster.cluster.namespace, cluster.cluster.name
        ),
        ..say(
            "archiver-unobservable",
            Severity::Warning,
            &cluster.subject,
            "the archiver cannot be watched: its numbers are not exported".to_owned(),
        )
    })
}

/// A failure that is long over, and is shown in red by `kubectl cnpg status` for ever.
fn old_failure(ground: &Ground, cluster: &CnpgFact, numbers: &Numbers) -> Option<Finding> {
    let (failed, archived) = (numbers.last_failed?, numbers.last_archived?);
    let still = numbers.failed_growth.is_some_and(|more| more > 0.0) || numbers.backlog();
    if failed >= archived || still || ground.age(failed) <= OLD_FAILURE {
        return None;
    }
    Some(Finding {
        evidence: numbers.lines(),
        cause: "pg_stat_archiver keeps the last failure until its statistics are reset".to_owned(),
        remedy: format!(
            "nothing has to be done; if it disturbs: kubectl cnpg -n {} psql {} -- -c \"SELECT pg_stat_reset_shared('archiver')\"",
            cluster.cluster.namespace, cluster.cluster.name
        ),
        ..say(
            "archiver-old-failure-recorded",
            Severity::Info,
            &cluster.subject,
            format!("a failure of {failed} is still shown although archiving works since"),
        )
    })
}

/// What the operator says of archiving, as evidence.
fn conditions(cluster: &CnpgFact) -> Vec<String> {
    let said = continuous(cluster).map(|condition| {
        let since = condition.since.map_or_else(String::new, |at| format!(" since {at}"));
        format!("condition ContinuousArchiving is {}{since}: {}", condition.status, condition.message)
    });
    said.into_iter().collect()
}
