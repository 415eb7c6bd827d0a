//! The verdict: what every drill must show, and beside it what its mechanism must show.

pub(super) mod base_and_wal;
mod subject;

use serde::{Deserialize, Serialize};

use super::declared::{Course, Declared};
use super::facts::Facts;
use super::reason::{REPORT, Reason};
use super::rpo::rpo;
use crate::domain::verb_names::FRESH;
use crate::domain::{AssertionResult, CheckEnd, ExitCode, Expects, Placeholder, StepEnd, StepRecord, Verdict, duration_in_words};

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

/// Judges a drill. *Proven* is what is left when no ingredient is missing; a reason that was looked at and is bad makes it
/// *failed*; every other reason makes it *unknown*. Left-overs change the exit code, not the verdict.
pub fn judge(records: &[StepRecord], declared: &Declared, course: &Course) -> Judgement {
    let facts = Facts::of(records, declared.expects.mechanism());
    if let Some(another) = subject::another(facts, declared) {
        // Whatever it showed, good or bad, is about something else.
        return sum(vec![another], records, course);
    }
    let mut reasons = Vec::new();
    run(records, declared, course, &mut reasons);
    // What no step came to is not listed one by one: the step that ended badly is the reason.
    let answered = facts.answered();
    if answered || reasons.is_empty() {
        match declared.expects {
            Expects::BaseAndWal { system } => base_and_wal::judge(facts, system, &mut reasons),
        }
        subject::chosen(facts, &mut reasons);
        isolation(facts, declared, &mut reasons);
        freshness(facts, &mut reasons);
        configured(facts, declared, &mut reasons);
    }
    assertions(facts, declared, &mut reasons);
    budgets(facts, declared, course, answered, &mut reasons);
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
fn run(records: &[StepRecord], declared: &Declared, course: &Course, reasons: &mut Vec<Reason>) {
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
    let again = || format!("drill again:  dalsegno drill {}", declared.runbook);
    if course.interrupted {
        reasons.push(Reason::open("the drill was interrupted: its process went away", again()));
    } else if course.cancelled {
        reasons.push(Reason::open("the drill was cancelled", again()));
    }
    if reasons.is_empty() && !skipped.is_empty() {
        reasons.push(Reason::open(format!("not done: {}", skipped.join(", ")), REPORT));
    }
}

/// The sandbox was closed as declared. That is ours: never `failed`.
fn isolation(facts: Facts<'_>, declared: &Declared, reasons: &mut Vec<Reason>) {
    let asked = declared.isolation.as_str();
    match facts.isolation() {
        None => reasons.push(Reason::open(format!("isolation was not shown, at least \"{asked}\" is asked for"), REPORT)),
        Some(shown) if shown < declared.isolation => {
            let why = format!("the sandbox was \"{}\", at least \"{asked}\" is asked for", shown.as_str());
            let hint = "use a host that allows Landlock (Linux 6.2 or newer) and user namespaces, or let a copy of the runbook ask \
                        for less (isolation-at-least)";
            reasons.push(Reason::open(why, hint));
        }
        Some(_) => {}
    }
}

/// At least one passed assertion could have failed on stale data. One that did not pass is a reason of its own.
fn freshness(facts: Facts<'_>, reasons: &mut Vec<Reason>) {
    if !facts.assertions().any(|assertion| assertion.tells_stale) {
        let hint = "add a check that stale data would fail:  postgres.NAME.checks, expect: {newer-than-seconds: …}";
        reasons.push(Reason::open("no passed check could have failed on stale data", hint));
    }
}

/// Each check of the configuration has a result, and no placeholder hides what else it asks for.
fn configured(facts: Facts<'_>, declared: &Declared, reasons: &mut Vec<Reason>) {
    let ran = |name: &String| facts.assertions().any(|assertion| &assertion.name == name);
    for name in declared.checks.iter().filter(|name| !ran(name)) {
        let hint = "let the runbook call pg.check, as the shipped one does:  dalsegno drill pg-restore";
        reasons.push(Reason::open(format!("check {name} of the configuration was not made"), hint));
    }
    for Placeholder { key_path, value, at, .. } in &declared.placeholders {
        let why = format!("{key_path} is the placeholder {value} ({at}): not everything that should be checked could be");
        reasons.push(Reason::open(why, "fill it in, then:  dalsegno config check"));
    }
}

fn assertions(facts: Facts<'_>, declared: &Declared, reasons: &mut Vec<Reason>) {
    let told = |assertion: &AssertionResult| assertion.tells_stale && assertion.end == CheckEnd::Passed;
    let told_otherwise = facts.assertions().any(told);
    for assertion in facts.assertions() {
        let AssertionResult { name, expected, seen, .. } = assertion;
        let words = format!("check {name}: expected {expected}, seen {seen}");
        match assertion.end {
            CheckEnd::Passed => {}
            // On a quiet cluster commit times cannot tell; a check of the owner's that can tell has passed.
            CheckEnd::Undecided if name == FRESH && told_otherwise => {}
            CheckEnd::Undecided => reasons.push(Reason::open(format!("{words}: could not be decided"), REPORT)),
            CheckEnd::Failed => reasons.push(failed(declared, assertion, words)),
        }
    }
}

fn failed(declared: &Declared, assertion: &AssertionResult, words: String) -> Reason {
    let of_the_mechanism = match declared.expects {
        Expects::BaseAndWal { .. } => base_and_wal::failed(assertion, &words),
    };
    of_the_mechanism.unwrap_or_else(|| {
        if assertion.tells_stale {
            return Reason::bad("drill-failed", words, "see why new data does not arrive:  dalsegno check");
        }
        let again = format!("dalsegno drill {} --target TIME", declared.runbook);
        Reason::bad("drill-failed", words, format!("compare with the source, then look for the last good moment:  {again}"))
    })
}

fn budgets(facts: Facts<'_>, declared: &Declared, course: &Course, answered: bool, reasons: &mut Vec<Reason>) {
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
            None if answered => {
                reasons.push(Reason::open("the time until it answered is not known, and a budget stands", REPORT));
            }
            // It does not answer: said by the step. Within the budget: fine.
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
                let hint = "see why new data does not arrive:  dalsegno check";
                reasons.push(Reason::bad("drill-failed", why, hint));
            }
            None if answered || reasons.is_empty() => {
                let hint = "compare this host's clock with the store's, then:  dalsegno archive windows";
                reasons.push(Reason::open("until when the archive covers is not known, and a budget stands", hint));
            }
            None | Some(_) => {}
        }
    }
}
