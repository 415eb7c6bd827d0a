//! Schedules: read otherwise than meant, forgotten after maintenance, never run.

use jiff::Timestamp;

use super::super::super::ground::{DAY, Ground, plus, say};
use super::super::stand::is_stopped;
use super::named;
use super::runs::{GRACE, Newest, SNAPSHOT, active, calendar, missed, newest_base, newest_snapshot};
use crate::domain::{
    Calendar, CalendarDialect, CnpgBackup, CnpgFact, CnpgSchedule, CnpgSiteFact, Finding, Severity, Subject, age,
};

/// Runs that are shown, so that the reader sees what a schedule does.
const SHOWN_RUNS: usize = 5;
/// One missed run may be a maintenance that is still under way; the second one in a row is forgotten.
const FORGOTTEN_RUNS: usize = 2;
/// The operator writes when it checks next as soon as it sees a schedule, and nothing when it finds no date for it.
const TAKEN_UP: f64 = DAY;

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    [field_count(ground, cluster), suspended(ground, cluster), never_fired(ground, cluster)].into_iter().flatten().collect()
}

/// Five fields: CNPG takes the first for seconds, and only a warning at admission says so.
fn field_count(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let short =
        |schedule: &&CnpgSchedule| !schedule.expression.starts_with('@') && schedule.expression.split_whitespace().count() == 5;
    let found: Vec<&CnpgSchedule> = cluster.schedules.iter().flatten().filter(short).collect();
    let first = found.first()?;
    let names: Vec<String> = found.iter().map(|schedule| schedule.name.clone()).collect();
    let evidence = found
        .iter()
        .flat_map(|schedule| {
            let text = &schedule.expression;
            let really = runs(&calendar(schedule).ok(), ground.now);
            let meant = runs(&Calendar::parse(CalendarDialect::CronJob, text).ok(), ground.now);
            [
                format!("{} \"{text}\" runs at {really}", schedule.name),
                format!("{} with the seconds in front, \"0 {text}\", would run at {meant}", schedule.name),
            ]
        })
        .collect();
    Some(Finding {
        evidence,
        cause: format!("\"{}\" has five fields; CNPG reads the first as seconds", first.expression),
        remedy: patch(cluster, first, &format!("{{\"spec\":{{\"schedule\":\"0 {}\"}}}}", first.expression)),
        ..say(
            "schedule-cron-field-count",
            Severity::Warning,
            &cluster.subject,
            format!(
                "{} has five fields, so that it runs at other times than it seems to: \"{}\"",
                named("schedule", &names),
                first.expression
            ),
        )
    })
}

fn runs(calendar: &Option<Calendar>, now: Timestamp) -> String {
    let times = calendar.iter().flat_map(|calendar| calendar.upcoming(now, SHOWN_RUNS));
    let shown: Vec<String> = times.map(|time| time.to_string()).collect();
    if shown.is_empty() { "no time at all".to_owned() } else { shown.join(", ") }
}

fn patch(cluster: &CnpgFact, schedule: &CnpgSchedule, body: &str) -> String {
    format!("kubectl patch scheduledbackup -n {} {} --type merge -p '{body}'", cluster.cluster.namespace, schedule.name)
}

/// Suspended for longer than two of its runs while nothing else takes base backups.
pub(super) fn suspended(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    if is_stopped(cluster) || !active(cluster).is_empty() {
        return None;
    }
    let overdue = |schedule: &&CnpgSchedule| {
        let newest = newest_base(ground, cluster).map(|newest| newest.began);
        let newest =
            if schedule.method == SNAPSHOT { newest.max(newest_snapshot(cluster).map(|newest| newest.began)) } else { newest };
        let since = newest.or(schedule.last_run).or(schedule.created);
        schedule.suspended
            && calendar(schedule).is_ok_and(|calendar| {
                since.is_some_and(|since| missed(ground, &calendar, since, FORGOTTEN_RUNS) >= FORGOTTEN_RUNS)
            })
    };
    let found: Vec<&CnpgSchedule> = cluster.schedules.iter().flatten().filter(overdue).collect();
    let first = found.first()?;
    let names: Vec<String> = found.iter().map(|schedule| schedule.name.clone()).collect();
    let newest = later(newest_base(ground, cluster), newest_snapshot(cluster));
    let old = newest
        .as_ref()
        .map_or_else(|| "there is none".to_owned(), |(ended, _)| format!("the last one ended {}", age(*ended, ground.now)));
    let lines = found.iter().map(|schedule| {
        let last = schedule.last_run.map_or_else(|| "never".to_owned(), |at| at.to_string());
        format!("ScheduledBackup {} \"{}\": suspend true, last run {last}", schedule.name, schedule.expression)
    });
    Some(Finding {
        evidence: lines.chain(newest.map(|(_, told_by)| told_by)).collect(),
        cause: format!("{} is suspended and no other schedule of this Cluster runs", first.name),
        remedy: patch(cluster, first, "{\"spec\":{\"suspend\":false}}"),
        ..say(
            "schedule-suspended-overdue",
            Severity::Critical,
            &cluster.subject,
            format!("{} is suspended and no base backup is taken: {old}", named("schedule", &names)),
        )
    })
}

/// The later of two, by its end, with who says so.
fn later(one: Option<Newest>, other: Option<Newest>) -> Option<(Timestamp, String)> {
    one.into_iter().chain(other).map(|newest| (newest.ended, newest.told_by)).max()
}

/// It runs by its own word, and no Backup ever came of it; or no moment will ever satisfy it.
pub(super) fn never_fired(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    if is_stopped(cluster) {
        return None;
    }
    let made_some = |schedule: &CnpgSchedule| {
        let made = |backups: &Vec<_>| backups.iter().any(|backup: &CnpgBackup| backup.schedule.as_ref() == Some(&schedule.name));
        // Backups that were not looked at may be there.
        cluster.backups.as_ref().is_none_or(made)
    };
    let schedules = cluster.schedules.iter().flatten().filter(|schedule| !schedule.suspended);
    let found: Vec<(&CnpgSchedule, String)> =
        schedules.filter_map(|schedule| Some((schedule, why_never(ground.now, schedule, made_some(schedule))?))).collect();
    let events = cluster
        .events
        .iter()
        .flatten()
        .filter(|event| found.iter().any(|(schedule, _)| event.about == format!("ScheduledBackup {}", schedule.name)));
    let events: Vec<String> = events.map(|event| format!("event {}: {}", event.reason, event.message)).collect();
    never(&cluster.subject, &found, events, &cluster.cluster.namespace)
}

/// Why nothing comes of a schedule, if nothing does.
fn why_never(now: Timestamp, schedule: &CnpgSchedule, made_some: bool) -> Option<String> {
    let text = &schedule.expression;
    let calendar = match calendar(schedule) {
        Ok(calendar) => calendar,
        Err(error) => return Some(format!("CNPG cannot read its schedule: {error}; {}", error.hint())),
    };
    if calendar.next_after(now).is_none() {
        return Some(format!("no date satisfies \"{text}\""));
    }
    let created = schedule.created?;
    let untouched = schedule.last_check.is_none() && schedule.next_run.is_none() && schedule.last_run.is_none();
    if untouched && !made_some && plus(created, TAKEN_UP) < now {
        return Some(format!("made {}, and the operator has never taken it up: its status is empty", age(created, now)));
    }
    let due = if schedule.immediate { created } else { calendar.next_after(created)? };
    let overdue = schedule.last_run.is_none() && !made_some && plus(due, GRACE) < now;
    overdue.then(|| {
        let checked = schedule.last_check.map_or_else(|| "never".to_owned(), |at| age(at, now));
        format!("made {}, first due {due}, last checked by the operator {checked}, no Backup came of it", age(created, now))
    })
}

fn never(subject: &Subject, found: &[(&CnpgSchedule, String)], events: Vec<String>, namespace: &str) -> Option<Finding> {
    let (first, why) = found.first()?;
    let names: Vec<String> = found.iter().map(|(schedule, _)| schedule.name.clone()).collect();
    let lines =
        found.iter().map(|(schedule, why)| format!("ScheduledBackup {} \"{}\": {why}", schedule.name, schedule.expression));
    let errors =
        found.iter().filter_map(|(schedule, _)| schedule.error.as_ref().map(|error| format!("{}: {error}", schedule.name)));
    Some(Finding {
        evidence: lines.chain(errors).chain(events).collect(),
        cause: why.clone(),
        remedy: format!(
            "kubectl describe scheduledbackup -n {namespace} {}; correct it, and take one base backup by hand",
            first.name
        ),
        ..say("schedule-never-fired", Severity::Critical, subject, format!("{} never runs: {why}", named("schedule", &names)))
    })
}

/// Schedules for a Cluster that is not there, and that no Backup ever came of.
pub(super) fn orphans(ground: &Ground, site: &CnpgSiteFact) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (namespace, schedule) in site.orphan_schedules.iter().filter(|(_, schedule)| !schedule.suspended) {
        let due = schedule.created.map(|created| plus(created, GRACE)).filter(|due| *due < ground.now);
        if schedule.last_run.is_some() || due.is_none() {
            continue;
        }
        let subject = super::queue::meant(ground, site, namespace, &schedule.cluster);
        let why = format!("it names Cluster {namespace}/{}, which is not there", schedule.cluster);
        findings.extend(never(&subject, &[(schedule, why)], Vec::new(), namespace));
    }
    findings
}
