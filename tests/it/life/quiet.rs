use dalsegno::domain::{Attention, Expected, Maintenance, Policy, Silence, Subjects, Times, Told};

use super::{Site, at, critical, db, finding, warning, words};

fn window(from: i64, until: i64, subjects: &str) -> Expected {
    let when = Times::Once { from: at(from), until: at(until) };
    let maintenance = vec![Maintenance { subjects: vec![Subjects(subjects.into())], reason: "new disks".into(), when }];
    Expected { attention: Attention { maintenance, ..Attention::default() }, ..Expected::default() }
}

#[test]
fn a_warning_waits_for_the_grace_of_its_policy_and_a_critical_does_not() {
    let mut site = Site::default();
    let policy = Policy { grace_seconds: Some(1_800.0), ..Policy::default() };
    site.expected.policies.insert(db("app"), policy);
    assert!(site.pass(at(0), &[warning("base-backup-too-old")]).is_empty());
    assert!(matches!(site.quiet_of(&warning("base-backup-too-old").key()), Some(Silence::Grace { until }) if *until == at(30)));
    assert!(site.pass(at(25), &[warning("base-backup-too-old")]).is_empty());
    assert_eq!(words(&site.pass(at(30), &[warning("base-backup-too-old")])), ["new warning base-backup-too-old"]);
    let mut other = Site { expected: site.expected.clone(), ..Site::default() };
    assert_eq!(words(&other.pass(at(0), &[critical("wal-gap")])), ["new critical wal-gap"]);
    let gitea = finding("base-backup-too-old", &db("gitea"), dalsegno::domain::Severity::Warning);
    assert_eq!(other.pass(at(5), &[critical("wal-gap"), gitea]).len(), 1, "another subject has no grace");
}

#[test]
fn a_warning_that_turns_critical_inside_its_grace_is_said_at_once() {
    let mut site = Site::default();
    site.expected.attention.grace_seconds = 3_600.0;
    assert!(site.pass(at(0), &[warning("wal-gap")]).is_empty());
    assert_eq!(words(&site.pass(at(5), &[critical("wal-gap")])), ["new critical wal-gap"]);
}

#[test]
fn what_is_acknowledged_is_not_said_until_the_acknowledgement_ends() {
    let mut site = Site::default();
    site.pass(at(0), &[warning("wal-gap")]);
    site.ack(&warning("wal-gap"), at(1), at(60));
    for minute in [5, 30, 55] {
        assert!(site.pass(at(minute), &[warning("wal-gap")]).is_empty());
    }
    assert!(matches!(site.quiet_of(&warning("wal-gap").key()), Some(Silence::Acknowledged { author, .. }) if author == "vera"));
    let notices = site.pass(at(60), &[warning("wal-gap")]);
    assert_eq!(notices[0].told, Told::Still);
    assert!(notices[0].because.as_deref().unwrap().contains("vera"), "{:?}", notices[0].because);
    assert!(site.pass(at(65), &[warning("wal-gap")]).is_empty(), "once");
}

#[test]
fn something_worse_than_what_was_acknowledged_is_said() {
    let mut site = Site::default();
    site.pass(at(0), &[warning("wal-gap")]);
    site.ack(&warning("wal-gap"), at(1), at(6_000));
    assert_eq!(words(&site.pass(at(5), &[critical("wal-gap")])), ["worse critical wal-gap"]);
}

#[test]
fn an_acknowledgement_ends_with_its_finding() {
    let mut site = Site::default();
    site.pass(at(0), &[critical("wal-gap")]);
    site.ack(&critical("wal-gap"), at(1), at(60_000));
    site.pass(at(5), &[critical("wal-gap")]);
    assert_eq!(words(&site.pass(at(10), &[])), ["cleared critical wal-gap"], "good news is said");
    site.pass(at(10 + 181), &[]);
    assert!(site.heard.acks.is_empty(), "what comes a month later is not what was acknowledged");
    assert_eq!(words(&site.pass(at(400), &[critical("wal-gap")])), ["new critical wal-gap"]);
}

#[test]
fn under_maintenance_nothing_is_said_and_what_is_still_there_afterwards_is() {
    let mut site = Site { expected: window(0, 60, "pg/home/prod/*"), ..Site::default() };
    assert!(site.pass(at(0), &[critical("wal-gap"), warning("base-backup-too-old")]).is_empty());
    assert!(site.pass(at(55), &[critical("wal-gap")]).is_empty(), "one of them ended inside: nobody heard of it");
    let notices = site.pass(at(60), &[critical("wal-gap")]);
    assert_eq!(words(&notices), ["new critical wal-gap"]);
    assert!(notices[0].because.as_deref().unwrap().contains("new disks"));
    assert_eq!(site.open.len(), 1, "it was recorded all the time");
}

#[test]
fn other_subjects_are_not_under_maintenance() {
    let mut site = Site { expected: window(0, 60, "gitea-db"), ..Site::default() };
    assert_eq!(site.pass(at(0), &[critical("wal-gap")]).len(), 1);
}

#[test]
fn what_was_told_before_and_ended_inside_a_window_is_said_to_be_over_after_it() {
    let mut site = Site { expected: window(10, 60, "*"), ..Site::default() };
    site.pass(at(0), &[critical("wal-gap")]);
    assert!(site.pass(at(15), &[]).is_empty());
    assert_eq!(words(&site.pass(at(65), &[])), ["cleared critical wal-gap"]);
}

#[test]
fn a_window_of_the_week_opens_on_its_days_in_its_zone_and_reaches_over_midnight() {
    // 2026-09-30 is a Wednesday; Zurich is two hours ahead of UTC then.
    let window = Times::Weekly { weekdays: vec![3], minute: 23 * 60, zone: "Europe/Zurich".into(), seconds: 2 * 3_600 };
    let open = |text: &str| window.open_until(text.parse().unwrap()).map(|until| until.to_string());
    assert_eq!(open("2026-09-30T20:59:00Z"), None);
    assert_eq!(open("2026-09-30T21:00:00Z").as_deref(), Some("2026-09-30T23:00:00Z"));
    assert_eq!(open("2026-09-30T22:30:00Z").as_deref(), Some("2026-09-30T23:00:00Z"), "it is Thursday in Zurich");
    assert_eq!(open("2026-09-30T23:00:00Z"), None);
    assert_eq!(open("2026-10-01T21:30:00Z"), None, "Thursday evening");
    let every = Times::Weekly { weekdays: vec![], minute: 0, zone: "UTC".into(), seconds: 60 };
    assert!(every.open_until("2026-10-02T00:00:30Z".parse().unwrap()).is_some());
    let nowhere = Times::Weekly { weekdays: vec![], minute: 0, zone: "Mars/Olympus".into(), seconds: 86_000 };
    assert_eq!(nowhere.open_until(at(0)), None, "what is not understood silences nobody");
}

#[test]
fn subjects_are_meant_by_their_whole_their_end_or_what_is_below() {
    let app = db("app");
    for text in ["*", "pg/home/prod/app", "app", "pg/app", "prod/app", "pg/home/*", "pg/*"] {
        assert!(Subjects(text.into()).matches(&app), "{text}");
    }
    for text in ["ap", "pp", "pg/home/prod/ap", "pg/home/pro/*", "store/*", "pg/home/prod/app/*"] {
        assert!(!Subjects(text.into()).matches(&app), "{text}");
    }
}
