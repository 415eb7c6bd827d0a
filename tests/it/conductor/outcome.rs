use dalsegno::conductor::{Counted, ExitRule, exit_of};
use dalsegno::domain::{ExitCode, Finding, Severity};

use super::scene::{RULE, db};

fn finding(severity: Severity, could_not_look: bool) -> Finding {
    Finding {
        code: "wal-gap".into(),
        severity,
        subject: db("app"),
        summary: String::new(),
        evidence: Vec::new(),
        cause: String::new(),
        remedy: String::new(),
        could_not_look,
    }
}

#[test]
fn the_first_that_applies_of_70_5_1_3_0() {
    let (seen, unseen) = (finding(Severity::Warning, false), finding(Severity::Critical, true));
    let all = [seen.clone(), unseen.clone()];
    assert_eq!(exit_of(&all, 1, 1, RULE), ExitCode::Bug);
    assert_eq!(exit_of(&all, 0, 1, RULE), ExitCode::Stuck);
    assert_eq!(exit_of(&all, 0, 0, RULE), ExitCode::Findings);
    assert_eq!(exit_of(std::slice::from_ref(&unseen), 0, 0, RULE), ExitCode::CouldNotLook);
    assert_eq!(exit_of(&[], 0, 0, RULE), ExitCode::Fine);
}

#[test]
fn a_threshold_quiets_findings_and_never_what_could_not_be_looked_at() {
    let critical = ExitRule { threshold: Severity::Critical, by_work: false };
    assert_eq!(exit_of(&[finding(Severity::Warning, false)], 0, 0, critical), ExitCode::Fine);
    assert_eq!(exit_of(&[finding(Severity::Info, true)], 0, 0, critical), ExitCode::CouldNotLook);
}

#[test]
fn by_work_is_fine_whatever_was_found_but_not_with_a_bug_or_left_overs() {
    let work = ExitRule { threshold: Severity::Warning, by_work: true };
    let found = [finding(Severity::Critical, false), finding(Severity::Critical, true)];
    assert_eq!(exit_of(&found, 0, 0, work), ExitCode::Fine);
    assert_eq!(exit_of(&found, 1, 0, work), ExitCode::Bug);
    assert_eq!(exit_of(&found, 0, 1, work), ExitCode::Stuck);
}

#[test]
fn unknown_is_counted_apart() {
    let found = [finding(Severity::Critical, true), finding(Severity::Critical, false), finding(Severity::Info, false)];
    assert_eq!(Counted::of(&found), Counted { critical: 1, warnings: 0, infos: 1, unknown: 1 });
}
