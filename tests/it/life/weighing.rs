use dalsegno::domain::{
    Attention, Awaited, AwaitedWhat, Denied, Expected, Fact, FactKind, Finding, Gap, Observation, ProviderId, Severity, Subjects,
    SystemId, SystemSeen,
};
use dalsegno::policy::{judge, life::weigh};

use super::{at, blind, db, finding, warning};
use crate::policy::scene::archive;

fn hangs_on_app() -> Expected {
    let dependents = vec![(Subjects("pg/app".into()), vec!["SSO".into(), "kubectl OIDC".into(), "Git".into()])];
    Expected { attention: Attention { dependents, ..Attention::default() }, ..Expected::default() }
}

fn weighed(expected: &Expected, finding: Finding) -> Finding {
    weigh(at(0), expected, &[], vec![finding]).remove(0)
}

#[test]
fn a_warning_about_what_others_hang_on_is_critical_and_names_them() {
    let raised = weighed(&hangs_on_app(), warning("base-backup-too-old"));
    assert_eq!(raised.severity, Severity::Critical);
    assert!(raised.evidence.iter().any(|line| line.contains("SSO, kubectl OIDC, Git")), "{:?}", raised.evidence);
}

#[test]
fn its_twins_are_not_raised() {
    let other = finding("base-backup-too-old", &db("other"), Severity::Warning);
    assert_eq!(weighed(&hangs_on_app(), other.clone()), other, "nobody hangs on it");
    let info = finding("recovery-window-overstated", &db("app"), Severity::Info);
    assert_eq!(weighed(&hangs_on_app(), info.clone()), info, "worth knowing stays so");
    let unseen = Finding { severity: Severity::Warning, ..blind("look-timed-out", &db("app")) };
    assert_eq!(weighed(&hangs_on_app(), unseen).severity, Severity::Warning, "what was not seen is no harm yet");
}

fn planned(what: AwaitedWhat, minute: i64, reason: Option<&str>) -> Expected {
    let awaited = vec![Awaited { what, until: at(minute), reason: reason.map(str::to_owned) }];
    Expected { attention: Attention { awaited, ..Attention::default() }, ..Expected::default() }
}

fn gap() -> (ProviderId, Observation) {
    let gap = Gap {
        subject: db("app"),
        what: FactKind::Archive,
        why: Denied::Refused,
        code: None,
        detail: "connection refused".into(),
        hint: String::new(),
    };
    (ProviderId("postgres/app".into()), Observation { gaps: vec![gap], ..Observation::default() })
}

fn seen() -> (ProviderId, Observation) {
    let facts = vec![Fact::Archive(Box::new(archive("app")))];
    (ProviderId("postgres/app".into()), Observation { facts, ..Observation::default() })
}

fn codes(minute: i64, expected: &Expected, observation: (ProviderId, Observation)) -> Vec<String> {
    judge(at(minute), expected, &[observation], &[]).findings.into_iter().map(|finding| finding.code).collect()
}

#[test]
fn what_is_planned_is_silent_before_its_day_and_a_finding_afterwards() {
    for what in [AwaitedWhat::Subject(Subjects("pg/app".into())), AwaitedWhat::Provider("postgres".into())] {
        let expected = planned(what, 60, None);
        assert_eq!(codes(0, &expected, gap()), Vec::<String>::new());
        assert!(codes(60, &expected, gap()).contains(&"expected-overdue".to_owned()));
    }
    let bare = Expected::default();
    assert!(!codes(0, &bare, gap()).is_empty(), "the twin: nobody planned it");
}

#[test]
fn what_is_there_is_neither_overdue_nor_silenced() {
    let expected = planned(AwaitedWhat::Subject(Subjects("pg/app".into())), 60, None);
    assert!(!codes(6_000, &expected, seen()).contains(&"expected-overdue".to_owned()));
    let mut ill = archive("app");
    ill.systems.push(SystemSeen { system_id: SystemId(42), seen_in: vec!["x".into()], newest: None });
    let observation = Observation { facts: vec![Fact::Archive(Box::new(ill))], ..Observation::default() };
    let found = codes(0, &expected, (ProviderId("postgres/app".into()), observation));
    assert!(!found.is_empty(), "it is there, so it is judged");
}

#[test]
fn what_is_not_adopted_says_why_when_its_day_has_come() {
    let expected = planned(AwaitedWhat::Provider("linstor".into()), 60, Some("one disk only"));
    assert_eq!(codes(0, &expected, seen()).iter().filter(|code| *code == "expected-overdue").count(), 0);
    let overdue = judge(at(61), &expected, &[seen()], &[]).findings.into_iter().find(|found| found.code == "expected-overdue");
    let overdue = overdue.unwrap();
    assert!(overdue.cause.contains("one disk only"), "{}", overdue.cause);
    assert_eq!(overdue.subject.to_string(), "dalsegno/expected/linstor");
}
