//! Evidence as a person reads it: the answer first, then what it rests on, then the next command. Reads the same without colour.

use std::fmt::Write as _;

use crate::domain::{
    AssertionResult, CheckEnd, Evidence, Intent, Phase, Restored, RestoredBy, StepEnd, StepRecord, Undone, Verdict,
    bytes_in_words, duration_in_words, rate,
};

/// `PROVEN  in 14.2 s (budget 30 min) · data as of 14:58:07Z (RPO 2 min, budget 15 min)`
pub fn headline(evidence: &Evidence) -> String {
    let mut line = match (evidence.verdict, evidence.rto_seconds) {
        (Verdict::Proven, Some(seconds)) => format!("PROVEN  in {}", seconds_in_words(seconds)),
        (Verdict::Proven, None) => "PROVEN".to_owned(),
        (Verdict::Failed, _) => "FAILED".to_owned(),
        (Verdict::Unknown, _) => "UNKNOWN".to_owned(),
    };
    if evidence.verdict != Verdict::Proven {
        let why = evidence.reasons.first().map_or("no reason was written down", String::as_str);
        let _ = write!(line, "  {why}");
        if let Some(more) = evidence.reasons.len().checked_sub(1).filter(|more| *more > 0) {
            let _ = write!(line, " (and {more} more)");
        }
        return line;
    }
    if let Some(budget) = evidence.rto_budget_seconds {
        let _ = write!(line, " (budget {})", duration_in_words(budget));
    }
    if let Some(moment) = evidence.rpo.data_as_of {
        let _ = write!(line, " · data as of {}", to_the_second(moment));
    }
    let rpo =
        evidence.rpo.seconds.map_or_else(|| "RPO unknown".to_owned(), |seconds| format!("RPO {}", duration_in_words(seconds)));
    let budget = evidence.rpo_budget_seconds.map(|budget| format!(", budget {}", duration_in_words(budget))).unwrap_or_default();
    let _ = write!(line, " ({rpo}{budget})");
    line
}

fn to_the_second(moment: jiff::Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Durations of a drill are small: a decimal is worth its place below two minutes.
fn seconds_in_words(seconds: f64) -> String {
    if seconds < 120.0 { format!("{seconds:.1} s") } else { duration_in_words(seconds) }
}

/// One step in a line, for the terminal as it goes and for the report.
pub fn step_line(record: &StepRecord) -> String {
    let (word, why) = match &record.end {
        StepEnd::Done => ("done", String::new()),
        StepEnd::Failed { why } => ("FAILED", why.clone()),
        StepEnd::CouldNot { why, .. } => ("could not", why.clone()),
        StepEnd::Stuck { why } => ("STUCK", why.clone()),
        StepEnd::Skipped => ("skipped", String::new()),
    };
    let what = if why.is_empty() { done_words(record) } else { why };
    let time = if record.began.is_some() { seconds_in_words(record.seconds) } else { String::new() };
    format!("{word:<9}  {:<12} {time:>9}  {what}", record.call.step).trim_end().to_owned()
}

/// What a done step gave, as far as a person wants to know.
fn done_words(record: &StepRecord) -> String {
    let Some(receipt) = &record.receipt else { return String::new() };
    if let Some(note) = receipt.notes.first() {
        return note.clone();
    }
    let moved = receipt.phases.iter().filter_map(|phase| phase.bytes.map(|bytes| (bytes, phase.seconds)));
    let (bytes, seconds) = moved.fold((0, 0.0), |(bytes, seconds), (more, longer)| (bytes + more, seconds + longer));
    if bytes > 0 { format!("{}, {}", bytes_in_words(bytes), rate(bytes, seconds)) } else { String::new() }
}

/// The whole report. `path` is where the evidence lies.
pub fn report(evidence: &Evidence, path: &str) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", headline(evidence));
    let _ = writeln!(text, "{}", title(evidence));
    section(&mut text, "because", &evidence.reasons);
    let steps: Vec<String> = evidence.steps.iter().map(step_line).collect();
    section(&mut text, "steps", &steps);
    phases(&mut text, &evidence.phases);
    checks(&mut text, &evidence.assertions);
    facts(&mut text, evidence);
    clean_up(&mut text, evidence);
    // "Read the report" is for whoever only sees the verdict.
    let hints: Vec<String> = evidence.hints.iter().filter(|hint| !hint.ends_with("dalsegno drill report")).cloned().collect();
    section(&mut text, "hint", &hints);
    let _ = writeln!(text, "\n  run       {}\n  evidence  {path}", evidence.run);
    text
}

fn title(evidence: &Evidence) -> String {
    let mut line = format!("drill {} · {}", evidence.runbook, evidence.subject);
    if let Some(Restored { place, name, by }) = &evidence.restored {
        let RestoredBy::BaseAndWal { segments, recovery, .. } = by;
        let _ = write!(line, " ← {place} · base {name} + {segments} segments");
        if let Some(recovery) = recovery {
            let _ = write!(line, " · target {}, timeline {}", recovery.target, recovery.timeline);
        }
    }
    let _ = write!(line, " · {}", to_the_second(evidence.began));
    line
}

fn section(text: &mut String, name: &str, lines: &[String]) {
    for (number, line) in lines.iter().enumerate() {
        let head = if number == 0 { name } else { "" };
        let start = if number == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{start}  {head:<9} {line}");
    }
}

fn phases(text: &mut String, phases: &[Phase]) {
    let words: Vec<String> = phases
        .iter()
        .map(|phase| {
            let moved = phase.bytes.map(|bytes| format!(" ({}, {})", bytes_in_words(bytes), rate(bytes, phase.seconds)));
            format!("{} {}{}", phase.name, seconds_in_words(phase.seconds), moved.unwrap_or_default())
        })
        .collect();
    if !words.is_empty() {
        let _ = writeln!(text, "\n  {:<9} {}", "phases", words.join(" · "));
    }
}

fn checks(text: &mut String, assertions: &[AssertionResult]) {
    if assertions.is_empty() {
        return;
    }
    let passed = assertions.iter().filter(|assertion| assertion.end == CheckEnd::Passed).count();
    let mut lines = vec![format!("{passed} of {} passed", assertions.len())];
    for assertion in assertions {
        let word = match assertion.end {
            CheckEnd::Passed => "passed",
            CheckEnd::Failed => "FAILED",
            CheckEnd::Undecided => "undecided",
        };
        let stale = if assertion.tells_stale { "  (tells stale data)" } else { "" };
        lines.push(format!("{word:<9} {:<16} expected {}, seen {}{stale}", assertion.name, assertion.expected, assertion.seen));
    }
    section(text, "checks", &lines);
}

fn facts(text: &mut String, evidence: &Evidence) {
    let mut lines = Vec::new();
    let by = evidence.restored.as_ref().map(|restored| &restored.by);
    if let Some(RestoredBy::BaseAndWal { recovery: Some(recovery), .. }) = by {
        let reached = recovery.reached_segment.as_deref().unwrap_or("unknown");
        let lsn = recovery.reached_lsn.as_ref().map(|lsn| format!(" at {lsn}")).unwrap_or_default();
        lines.push(format!("recovery had to reach {}, reached {reached}{lsn}", recovery.expected_segment));
    }
    let moment = |moment: Option<jiff::Timestamp>| moment.map_or_else(|| "unknown".to_owned(), to_the_second);
    let covered_by = evidence.rpo.covered_by.map(|by| format!(" (by {})", by.as_str())).unwrap_or_default();
    let before =
        evidence.rpo.seconds.map(|seconds| format!(", {} before the drill", duration_in_words(seconds))).unwrap_or_default();
    lines.push(format!(
        "data as of {} · covered until {}{before}{covered_by}",
        moment(evidence.rpo.data_as_of),
        moment(evidence.rpo.covered_until)
    ));
    lines.extend(no_rpo_set(evidence));
    lines.push(format!("isolation {} (at least {} asked)", evidence.isolation.as_str(), evidence.isolation_declared.as_str()));
    lines.extend(evidence.isolation_facts.iter().map(|fact| format!("  {fact}")));
    if let Some(RestoredBy::BaseAndWal { postgres: Some(postgres), .. }) = by {
        lines.push(format!("PostgreSQL {postgres}"));
    }
    let requests = &evidence.requests;
    if *requests != crate::domain::Requests::default() {
        let read = bytes_in_words(requests.bytes_in);
        lines.push(format!("{} requests of class A, {} of class B, {read} read", requests.class_a, requests.class_b));
    }
    section(text, "seen", &lines);
}

/// Without a budget a proof says what lies there, and nothing of whether that is too old.
fn no_rpo_set(evidence: &Evidence) -> Option<String> {
    let seconds = evidence.rpo.seconds.filter(|_| evidence.rpo_budget_seconds.is_none())?;
    Some(format!("no RPO is set: nothing says whether {} is too old (policy.rpo)", duration_in_words(seconds)))
}

fn clean_up(text: &mut String, evidence: &Evidence) {
    let lines: Vec<String> = evidence
        .steps
        .iter()
        .filter_map(|record| {
            let made = record.intent.as_ref().map(Intent::made).unwrap_or_default();
            match record.undone.as_ref()? {
                Undone::Removed if made.is_empty() => Some(format!("removed what {} made", record.call.step)),
                Undone::Removed => Some(format!("removed {}", made.join(", "))),
                Undone::NothingToDo => None,
                Undone::Stuck { why } => Some(format!("NOT removed {}: {why}", made.join(", "))),
            }
        })
        .collect();
    section(text, "cleaned", &lines);
    section(text, "LEFT OVER", &evidence.left_over);
    if !evidence.left_over.is_empty() {
        let _ = writeln!(text, "  {:<9} mend the cause, then:  dalsegno drill gc", "");
    }
}
