//! What a person reads.

use dalsegno::domain::{CheckEnd, Undone};
use dalsegno::drill::{evidence, headline, judge, report};

use super::evidence::perfect_evidence;
use super::perfect::{course, declared, of, records};

#[test]
fn a_proven_drill_says_so_first_with_its_times_and_budgets() {
    assert_eq!(
        headline(&perfect_evidence()),
        "PROVEN  in 8.0 s (budget 30 min) · data as of 2026-09-30T14:58:07Z (RPO 108 s, budget 15 min)"
    );
}

#[test]
fn the_report_reads_the_same_as_it_did() {
    insta::assert_snapshot!(report(&perfect_evidence(), "/var/lib/dalsegno/drills/R/evidence.json"));
}

#[test]
fn the_report_of_a_failed_drill_reads_the_same_as_it_did() {
    let (mut records, mut course) = (records(), course());
    let check = of(&mut records, "pg.check").receipt.as_mut().unwrap();
    check
        .assertions
        .iter_mut()
        .filter(|assertion| assertion.name == "fresh")
        .for_each(|assertion| assertion.end = CheckEnd::Failed);
    of(&mut records, "sandbox.make").undone = Some(Undone::Stuck { why: "device is busy".into() });
    course.left_over = vec!["step sandbox (/var/tmp/dalsegno/sandbox): device is busy".into()];
    let judgement = judge(&records, &declared(), &course);
    let evidence = evidence(records[0].call.run, &records, &declared(), &course, &judgement);
    insta::assert_snapshot!(report(&evidence, "/var/lib/dalsegno/drills/R/evidence.json"));
}

#[test]
fn without_an_rpo_the_report_says_that_nothing_tells_whether_it_is_too_old() {
    let mut evidence = perfect_evidence();
    evidence.rpo.seconds = Some(10.0 * 86_400.0);
    let note = "no RPO is set: nothing says whether 10 d is too old";
    assert!(!report(&evidence, "x").contains(note), "with a budget the verdict says it");
    evidence.rpo_budget_seconds = None;
    let text = report(&evidence, "x");
    assert!(text.contains(note) && text.contains("10 d before the drill"), "{text}");
    assert!(headline(&evidence).contains("RPO 10 d"), "{}", headline(&evidence));
}
