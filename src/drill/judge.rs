//! The verdict.

use serde::{Deserialize, Serialize};

use super::declared::{Course, Declared};
use super::facts::{ARCHIVING_OFF, CHOOSE, FRESH, Facts, RECOVER, REPLAY_END, Segment};
use super::reason::Reason;
use super::rpo::rpo;
use crate::domain::{AssertionResult, ExitCode, Outcome3, StepEnd, StepRecord, Verdict, duration_in_words};

/// What a drill says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is not `proven`, what is bad first; empty when it is.
    pub reasons: Vec<String>,
    /// What to do, in the order of the reasons.
    pub hints: Vec<String>,
    /// Finding codes that the reasons stand for.
    pub codes: Vec<String>,
    /// The exit code: the verdict's, or 5 when something was left over or is stuck.
    #[serde(skip, default = "fine")]
    pub exit: ExitCode,
}

const fn fine() -> ExitCode {
    ExitCode::Fine
}

const REPORT: &str = "read what was seen:  dalsegno drill report";

/// Judges a drill. *Proven* is what is left when no ingredient is missing; a reason that was looked at and is bad makes it
/// *failed*; every other reason makes it *unknown*. Left-overs change the exit code, not the verdict.
pub fn judge(records: &[StepRecord], declared: &Declared, course: &Course) -> Judgement {
    let facts = Facts(records);
    let mut reasons = Vec::new();
    run(records, course, &mut reasons);
    // What no step came to is not listed one by one: the step that ended badly is the reason.
    let recovered = facts.step(RECOVER).is_some_and(|record| record.end == StepEnd::Done);
    if recovered || reasons.is_empty() {
        system(facts, declared, &mut reasons);
        end(facts, &mut reasons);
        isolation(facts, declared, &mut reasons);
        freshness(facts, &mut reasons);
    }
    assertions(facts, &mut reasons);
    budgets(facts, declared, course, recovered, &mut reasons);
    sum(reasons, records, course)
}

fn sum(mut reasons: Vec<Reason>, records: &[StepRecord], course: &Course) -> Judgement {
    reasons.sort_by_key(|reason| reason.verdict); // stable; failed before unknown
    let verdict = reasons.first().map_or(Verdict::Proven, |reason| reason.verdict);
    let stuck = !course.left_over.is_empty() || records.iter().any(|record| matches!(record.end, StepEnd::Stuck { .. }));
    let mut judgement = Judgement { verdict, reasons: Vec::new(), hints: Vec::new(), codes: Vec::new(), exit: verdict.exit() };
    for reason in reasons {
        push_new(&mut judgement.reasons, reason.why);
        push_new(&mut judgement.hints, reason.hint);
        push_new(&mut judgement.codes, reason.code.to_owned());
    }
    if stuck {
        judgement.exit = judgement.exit.worse(ExitCode::Stuck);
    }
    judgement
}

fn push_new(list: &mut Vec<String>, text: String) {
    if !text.is_empty() && !list.contains(&text) {
        list.push(text);
    }
}

/// Every step done, nobody cancelled, the process lived.
fn run(records: &[StepRecord], course: &Course, reasons: &mut Vec<Reason>) {
    if records.is_empty() {
        reasons.push(Reason::open("the drill did nothing", REPORT));
    }
    let mut skipped = Vec::new();
    for record in records {
        let step = &record.call.step;
        match &record.end {
            StepEnd::Done => {}
            StepEnd::Failed { why } => reasons.push(Reason::bad("drill-failed", format!("{step}: {why}"), REPORT)),
            StepEnd::CouldNot { why, hint } => reasons.push(Reason::open(format!("{step}: {why}"), hint.clone())),
            StepEnd::Stuck { why } => {
                let hint = "look by hand what is there, then:  dalsegno drill gc";
                reasons.push(Reason::open(format!("{step}: stuck, a human must look: {why}"), hint));
            }
            StepEnd::Skipped => skipped.push(step.as_str()),
        }
    }
    if course.interrupted {
        reasons.push(Reason::open("the drill was interrupted: its process went away", "drill again:  dalsegno drill pg-restore"));
    } else if course.cancelled {
        reasons.push(Reason::open("the drill was cancelled", "drill again:  dalsegno drill pg-restore"));
    }
    if reasons.is_empty() && !skipped.is_empty() {
        reasons.push(Reason::open(format!("not done: {}", skipped.join(", ")), REPORT));
    }
}

/// The system that came back is the one that was expected, by the configuration and by backup.info.
fn system(facts: Facts<'_>, declared: &Declared, reasons: &mut Vec<Reason>) {
    let by_backup = facts.system(CHOOSE);
    let Some(restored) = facts.system(RECOVER) else {
        reasons.push(Reason::open("the system identifier of the restored cluster was not read", REPORT));
        return;
    };
    if declared.system_expected.is_none() && by_backup.is_none() {
        let hint = "name it in the configuration:  postgres.NAME.system-id";
        reasons.push(Reason::open("no system identifier is expected: neither the configuration nor backup.info names one", hint));
    }
    for (expected, by) in [(declared.system_expected, "the configuration"), (by_backup, "backup.info")] {
        if let Some(expected) = expected.filter(|expected| *expected != restored) {
            let why = format!("another system came back: {by} says {expected}, the restored cluster says {restored}");
            reasons.push(Reason::bad(
                "archive-system-unexpected",
                why,
                "see who else writes into that prefix:  dalsegno archive audit",
            ));
        }
    }
}

/// Replay reached the end that the catalogue says.
fn end(facts: Facts<'_>, reasons: &mut Vec<Reason>) {
    if !facts.assertions().any(|assertion| assertion.name == REPLAY_END) {
        reasons.push(Reason::open("nobody looked whether replay reached its expected end", REPORT));
    }
    match facts.target().as_deref() {
        None => reasons.push(Reason::open("the target of recovery is not known", REPORT)),
        Some("end") => end_segment(facts, reasons),
        Some(_) => {} // a time: the restore's own assertion says whether replay stopped there
    }
}

fn end_segment(facts: Facts<'_>, reasons: &mut Vec<Reason>) {
    let read = |verb: &str, name: &str| facts.text(verb, name).and_then(|text| Some((Segment::parse(&text)?, text)));
    let expected = read(CHOOSE, "end_segment");
    let reached = read(RECOVER, "reached_segment");
    let (Some((expected, expected_name)), Some((reached, reached_name))) = (expected, reached) else {
        reasons.push(Reason::open("the segment that replay had to reach, or did reach, is not known", REPORT));
        return;
    };
    if reached.timeline != expected.timeline || reached.position < expected.position {
        let why = format!("replay ended at {reached_name}, the archive goes to {expected_name}");
        reasons.push(Reason::bad("drill-failed", why, "find the hole or the damaged segment:  dalsegno archive audit"));
    }
}

/// The sandbox was closed as declared, and archiving was read back off. Both are ours: never `failed`.
fn isolation(facts: Facts<'_>, declared: &Declared, reasons: &mut Vec<Reason>) {
    let asked = declared.isolation.as_str();
    match facts.isolation() {
        None => reasons.push(Reason::open(format!("isolation was not shown, at least \"{asked}\" is asked for"), REPORT)),
        Some(shown) if shown < declared.isolation => {
            let why = format!("the sandbox was \"{}\", at least \"{asked}\" is asked for", shown.as_str());
            let hint = "allow user namespaces on this host, or let a copy of the runbook ask for less (isolation-at-least)";
            reasons.push(Reason::open(why, hint));
        }
        Some(_) => {}
    }
    if !facts.assertions().any(|assertion| assertion.name == ARCHIVING_OFF) {
        reasons.push(Reason::open("archiving was not read back as off", REPORT));
    }
}

/// At least one passed assertion could have failed on stale data. One that did not pass is a reason of its own.
fn freshness(facts: Facts<'_>, reasons: &mut Vec<Reason>) {
    if !facts.assertions().any(|assertion| assertion.tells_stale) {
        let hint = "add a check that stale data would fail:  postgres.NAME.checks, expect: {newer-than-seconds: …}";
        reasons.push(Reason::open("no passed check could have failed on stale data", hint));
    }
}

fn assertions(facts: Facts<'_>, reasons: &mut Vec<Reason>) {
    let told = |assertion: &AssertionResult| assertion.tells_stale && assertion.outcome == Outcome3::Passed;
    let told_otherwise = facts.assertions().any(told);
    for assertion in facts.assertions() {
        let AssertionResult { name, expected, seen, .. } = assertion;
        let words = format!("check {name}: expected {expected}, seen {seen}");
        match assertion.outcome {
            Outcome3::Passed => {}
            // On a quiet cluster commit times cannot tell; a check of the owner's that can tell has passed.
            Outcome3::Undecided if name == FRESH && told_otherwise => {}
            Outcome3::Undecided => reasons.push(Reason::open(format!("{words}: could not be decided"), REPORT)),
            // Our sandbox, not the archive.
            Outcome3::Failed if name == ARCHIVING_OFF => reasons.push(Reason::open(words, REPORT)),
            Outcome3::Failed if name == REPLAY_END => {
                reasons.push(Reason::bad("drill-failed", words, "find the hole or the damaged segment:  dalsegno archive audit"));
            }
            Outcome3::Failed if name == "system-id" => {
                reasons.push(Reason::bad(
                    "system-id-differs",
                    words,
                    "see who else writes into that prefix:  dalsegno archive audit",
                ));
            }
            Outcome3::Failed if assertion.tells_stale => {
                reasons.push(Reason::bad("drill-failed", words, "see why WAL does not arrive:  dalsegno check"));
            }
            Outcome3::Failed => {
                let hint =
                    "compare with the source, then look for the last good moment:  dalsegno drill pg-restore --target TIME";
                reasons.push(Reason::bad("drill-failed", words, hint));
            }
        }
    }
}

fn budgets(facts: Facts<'_>, declared: &Declared, course: &Course, recovered: bool, reasons: &mut Vec<Reason>) {
    if let Some(budget) = declared.rto_budget_seconds {
        match facts.rto_seconds(course.began) {
            Some(seconds) if seconds > budget => {
                let why = format!(
                    "it took {} until it answered, allowed are {}",
                    duration_in_words(seconds),
                    duration_in_words(budget)
                );
                let hint = "see which phase took it:  dalsegno drill report";
                reasons.push(Reason::bad("drill-failed", why, hint));
            }
            None if recovered => {
                reasons.push(Reason::open("the time until it answered is not known, and a budget stands", REPORT));
            }
            // Not recovered: said by the step. Within the budget: fine.
            None | Some(_) => {}
        }
    }
    if let Some(budget) = declared.rpo_budget_seconds {
        match rpo(facts, course.began).seconds {
            Some(seconds) if seconds > budget => {
                let why = format!(
                    "nothing is covered for the last {}, allowed are {}",
                    duration_in_words(seconds),
                    duration_in_words(budget)
                );
                let hint = "see why WAL does not arrive:  dalsegno check";
                reasons.push(Reason::bad("drill-failed", why, hint));
            }
            None if recovered || reasons.is_empty() => {
                let hint = "compare this host's clock with the store's, then:  dalsegno archive windows";
                reasons.push(Reason::open("until when the archive covers is not known, and a budget stands", hint));
            }
            None | Some(_) => {}
        }
    }
}
