//! `dalsegno show`: one recorded run.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::failure::Failure;
use super::history::{result, took};
use super::out::{Out, visible};
use crate::app::{Ledger, RunState, ShownFinding, ShownRun};
use crate::domain::{
    CheckEnd, Evidence, ExitCode, Requests, Restored, RestoredBy, Sample, StoreId, Verdict, age, bytes_in_words,
    duration_in_words,
};

/// One recorded run: what was seen, found, sent and started.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The run's number, its id, or the end of its id
    pub run: String,
}

/// Shows a run.
pub async fn run(args: &Args, ledger: &Ledger, now: Timestamp, out: &Out) -> Result<ExitCode, Failure> {
    let shown = ledger.show(&args.run).await?;
    out.show(&shown, |out| page(&shown, now, out))?;
    Ok(ExitCode::Fine)
}

/// The run as a page: the answer first, then findings, drill, requests and samples.
pub fn page(shown: &ShownRun, now: Timestamp, out: &Out) -> String {
    let parts = [
        headline(shown, now),
        findings(&shown.findings, now, out),
        shown.evidence.as_ref().map_or_else(String::new, |evidence| drill(evidence, shown.evidence_sha256.as_deref(), now)),
        requests(&shown.requests, out),
        samples(&shown.samples, now, out),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    out.paint_words(&parts.join("\n\n"))
}

fn headline(shown: &ShownRun, now: Timestamp) -> String {
    let run = &shown.run;
    let began = age(run.began, now);
    let mut line = format!("run {} · {} · began {} ({began}) · {}", run.number, run.kind.as_str(), run.began, result(run));
    if run.state == RunState::Interrupted {
        line.push_str(" (its process was gone before it ended)");
    } else if run.ended.is_some() {
        let _ = write!(line, " after {}", took(run));
    }
    if !run.host.is_empty() {
        let _ = write!(line, " · on {}", visible(&run.host));
    }
    let _ = write!(line, "\nid  {}", run.id);
    line
}

fn findings(findings: &[ShownFinding], now: Timestamp, out: &Out) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<&ShownFinding> = findings.iter().collect();
    sorted.sort_by_key(|shown| std::cmp::Reverse(shown.severity));
    let rows = sorted
        .iter()
        .map(|shown| {
            vec![
                shown.finding.subject.to_string(),
                shown.change.as_str().to_owned(),
                age(shown.since, now),
                shown.severity.as_str().to_uppercase(),
                shown.finding.code.clone(),
                shown.finding.summary.clone(),
            ]
        })
        .collect();
    out.table(&["SUBJECT", "CHANGE", "SINCE", "SEVERITY", "CODE", "SEEN"], rows)
}

/// The drill in a few lines; `drill report` has all of it.
fn drill(evidence: &Evidence, sha256: Option<&str>, now: Timestamp) -> String {
    let mut text = format!("{} {}", evidence.verdict.as_str().to_uppercase(), evidence.subject);
    let budget =
        |budget: Option<f64>| budget.map_or_else(String::new, |seconds| format!(" (budget {})", duration_in_words(seconds)));
    if let Some(seconds) = evidence.rto_seconds {
        let _ = write!(text, " · back after {}{}", duration_in_words(seconds), budget(evidence.rto_budget_seconds));
    }
    match evidence.rpo.seconds {
        Some(seconds) => {
            let _ = write!(text, " · RPO {}{}", duration_in_words(seconds), budget(evidence.rpo_budget_seconds));
        }
        None => text.push_str(" · RPO unknown"),
    }
    if let Some(as_of) = evidence.rpo.data_as_of {
        let _ = write!(text, "\n  data as of {as_of} ({})", age(as_of, now));
    }
    if let Some(Restored { place, name, by }) = &evidence.restored {
        let RestoredBy::BaseAndWal { segments, .. } = by;
        let _ = write!(text, "\n  base {} from {}, {segments} segments", visible(name), visible(&place.to_string()));
    }
    let passed = evidence.assertions.iter().filter(|check| check.end == CheckEnd::Passed).count();
    let _ =
        write!(text, "\n  {passed} of {} checks passed · isolation {}", evidence.assertions.len(), evidence.isolation.as_str());
    for check in evidence.assertions.iter().filter(|check| check.end != CheckEnd::Passed) {
        let word = if check.end == CheckEnd::Failed { "failed" } else { "undecided" };
        let (name, expected, seen) = (visible(&check.name), visible(&check.expected), visible(&check.seen));
        let _ = write!(text, "\n  {word}  {name}: expected {expected}, seen {seen}");
    }
    for (word, lines) in [("because", &evidence.reasons), ("left over", &evidence.left_over), ("hint", &evidence.hints)] {
        for line in lines {
            let _ = write!(text, "\n  {word}  {}", visible(line));
        }
    }
    if let Some(sha256) = sha256 {
        let _ = write!(text, "\n  evidence sha256 {sha256}");
    }
    if evidence.verdict == Verdict::Proven {
        text
    } else {
        format!("{text}\n  more  dalsegno drill report {}", evidence.run.short())
    }
}

fn requests(requests: &[(StoreId, Requests)], out: &Out) -> String {
    if requests.is_empty() {
        return String::new();
    }
    let rows = requests
        .iter()
        .map(|(store, made)| {
            vec![
                store.to_string(),
                made.class_a.to_string(),
                made.class_b.to_string(),
                made.free.to_string(),
                bytes_in_words(made.bytes_in),
                bytes_in_words(made.bytes_out),
            ]
        })
        .collect();
    out.table(&["STORE", "LIST AND PUT", "GET AND HEAD", "FREE", "IN", "OUT"], rows)
}

fn samples(samples: &[Sample], now: Timestamp, out: &Out) -> String {
    if samples.is_empty() {
        return String::new();
    }
    let rows = samples
        .iter()
        .map(|sample| vec![sample.subject.to_string(), sample.metric.clone(), value(sample), age(sample.at, now)])
        .collect();
    out.table(&["SUBJECT", "METRIC", "VALUE", "TAKEN"], rows)
}

/// A value in the unit that its metric's name ends in.
fn value(sample: &Sample) -> String {
    if sample.metric.ends_with("_seconds") {
        return duration_in_words(sample.value);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size for people; saturates")]
    if sample.metric.ends_with("_bytes") && sample.value >= 0.0 {
        return bytes_in_words(sample.value as u64);
    }
    sample.value.to_string()
}
