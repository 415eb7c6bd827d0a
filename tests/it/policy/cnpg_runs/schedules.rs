use dalsegno::domain::Severity;

use super::super::scene::{DAY, HOUR, ago, db};
use super::scene::{NIGHTLY, Scene, event, object, schedule};

#[test]
fn a_healthy_cluster_with_a_nightly_schedule_is_silent() {
    Scene::healthy().silent();
    Scene::healthy().no_archive().silent();
}

#[test]
fn five_fields_are_named_with_the_runs_that_come_of_them() {
    let finding = Scene::healthy()
        .cluster(|c| c.schedules = Some(vec![schedule("app", "hourly", "0 3 * * *")]))
        .cluster(|c| c.schedules.as_mut().unwrap().push(schedule("app", "nightly", NIGHTLY)))
        .only("schedule-cron-field-count", Severity::Warning);
    assert!(finding.evidence[0].contains("2026-11-30T15:03:00Z, 2026-11-30T16:03:00Z"), "{:?}", finding.evidence);
    assert!(finding.evidence[1].contains("2026-12-01T03:00:00Z, 2026-12-02T03:00:00Z"), "{:?}", finding.evidence);
    assert_eq!(
        finding.remedy,
        "kubectl patch scheduledbackup -n prod hourly --type merge -p '{\"spec\":{\"schedule\":\"0 0 3 * * *\"}}'"
    );
}

#[test]
fn six_fields_and_words_are_as_they_should_be() {
    for text in [NIGHTLY, "@daily", "@every 24h", "0 0 1 * * *", "@midnight"] {
        let scene = Scene::healthy().cluster(|c| c.schedules.as_mut().unwrap()[0].expression = text.into());
        let codes: Vec<String> = scene.findings().into_iter().map(|finding| finding.code).collect();
        assert!(!codes.contains(&"schedule-cron-field-count".to_owned()), "{text}: {codes:?}");
    }
}

fn suspended(last: f64) -> Scene {
    Scene::healthy()
        .archive(move |a| {
            for (number, backup) in a.backups.iter_mut().enumerate() {
                let ended = last + 24.0 * HOUR * (2 - number) as f64;
                (backup.begin_time, backup.end_time) = (Some(ago(ended + 60.0)), Some(ago(ended)));
            }
        })
        .cluster(move |c| {
            let schedule = &mut c.schedules.as_mut().unwrap()[0];
            (schedule.suspended, schedule.last_run, schedule.next_run) = (true, Some(ago(last)), Some(ago(last - DAY)));
            c.backups = Some(vec![object("app", last, "completed")]);
        })
}

#[test]
fn a_schedule_that_stays_suspended_for_two_of_its_runs_is_named_once() {
    let finding = suspended(77.0 * DAY).only("schedule-suspended-overdue", Severity::Critical);
    assert!(finding.summary.contains("77 d ago"), "{}", finding.summary);
    assert!(finding.remedy.contains("{\"spec\":{\"suspend\":false}}"), "{}", finding.remedy);
    suspended(77.0 * DAY).no_archive().only("schedule-suspended-overdue", Severity::Critical);
    // Nothing at all since it was made.
    suspended(77.0 * DAY)
        .no_archive()
        .cluster(|c| {
            c.backups = Some(Vec::new());
            c.schedules.as_mut().unwrap()[0].last_run = None;
        })
        .only("schedule-suspended-overdue", Severity::Critical);
}

#[test]
fn a_suspension_of_hours_or_beside_another_schedule_is_silent() {
    suspended(13.0 * HOUR).silent();
    suspended(30.0 * HOUR).silent();
    // Covered by another one, which took its base backup last night.
    Scene::healthy()
        .cluster(|c| {
            let mut old = schedule("app", "weekly", "0 0 3 * * 0");
            (old.suspended, old.last_run) = (true, Some(ago(70.0 * DAY)));
            c.schedules.as_mut().unwrap().push(old);
        })
        .silent();
    suspended(77.0 * DAY).cluster(|c| c.hibernated = true).silent();
    suspended(77.0 * DAY).cluster(|c| c.schedules = None).silent();
}

fn never(expression: &'static str, age: f64) -> Scene {
    Scene::healthy().cluster(move |c| {
        let mut weekly = schedule("app", "weekly", expression);
        (weekly.created, weekly.last_run) = (Some(ago(age)), None);
        (weekly.last_check, weekly.next_run) = (Some(ago(age)), None);
        c.schedules.as_mut().unwrap().push(weekly);
    })
}

#[test]
fn a_schedule_without_any_run_is_named_when_one_was_due() {
    let finding = never("0 0 3 * * 0", 121.0 * DAY).only("schedule-never-fired", Severity::Critical);
    assert!(finding.evidence[0].contains("first due 2026-08-02T03:00:00Z"), "{:?}", finding.evidence);
    // Made on a Sunday evening: the first Sunday after it is still to come.
    never("0 0 3 * * 0", 1.0 * DAY).silent();
    // Due at three this night, an hour's grace is long over; due 40 minutes ago, it is not.
    never("0 0 3 * * *", 1.0 * DAY).only("schedule-never-fired", Severity::Critical);
    never("0 20 14 * * *", 12.0 * HOUR).silent();
    // With `immediate` the first one is due at once.
    let immediate = |scene: Scene| scene.cluster(|c| c.schedules.as_mut().unwrap()[1].immediate = true);
    immediate(never("0 0 3 * * 0", 1.0 * DAY)).only("schedule-never-fired", Severity::Critical);
    immediate(never("0 0 3 * * 0", 0.5 * HOUR)).silent();
}

#[test]
fn a_schedule_that_can_never_run_is_named_however_old_it_is() {
    let finding = never("0 0 0 30 2 *", 1.0 * HOUR).only("schedule-never-fired", Severity::Critical);
    assert!(finding.cause.contains("no date satisfies"), "{}", finding.cause);
    let finding = never("0 0 25 * * *", 1.0 * HOUR).only("schedule-never-fired", Severity::Critical);
    assert!(finding.cause.contains("no hour"), "{}", finding.cause);
}

#[test]
fn a_schedule_that_the_operator_never_took_up_is_named_with_its_event() {
    // The first date of this text is a Sunday in February; the operator finds none and leaves the status empty.
    let finding = never("0 0 0 30 2 0", 121.0 * DAY)
        .cluster(|c| {
            c.schedules.as_mut().unwrap()[1].last_check = None;
            c.events = Some(vec![event("ScheduledBackup weekly", "NoSchedule", "No time satisfying the schedule", HOUR)]);
        })
        .only("schedule-never-fired", Severity::Critical);
    assert!(finding.evidence.iter().any(|line| line.contains("NoSchedule")), "{:?}", finding.evidence);
    assert!(finding.cause.contains("never taken it up"), "{}", finding.cause);
}

#[test]
fn backups_that_were_not_looked_at_are_no_proof_of_none() {
    never("0 0 3 * * 0", 121.0 * DAY).cluster(|c| c.backups = None).silent();
    never("0 0 3 * * 0", 121.0 * DAY)
        .cluster(|c| {
            let mut made = object("app", 50.0 * DAY, "failed");
            made.schedule = Some("weekly".into());
            c.backups.as_mut().unwrap().push(made);
        })
        .silent();
}

#[test]
fn a_schedule_for_a_cluster_that_is_not_there_is_told_at_the_one_that_was_meant() {
    let orphan = |name: &'static str, age: f64, ran: bool| {
        Scene::healthy().site(move |site| {
            let mut lost = schedule(name, "lost", NIGHTLY);
            (lost.created, lost.last_run) = (Some(ago(age)), ran.then(|| ago(age)));
            site.orphan_schedules.push(("prod".into(), lost));
        })
    };
    let finding = orphan("aps", 9.0 * DAY, false).only("schedule-never-fired", Severity::Critical);
    assert_eq!(finding.subject, db("app"));
    let finding = orphan("warehouse", 9.0 * DAY, false).only("schedule-never-fired", Severity::Critical);
    assert_eq!(finding.subject.to_string(), "cluster/home/home");
    orphan("app2", 0.5 * HOUR, false).silent();
    // It has made Backups: they speak for themselves.
    orphan("app2", 9.0 * DAY, true).silent();
}
