//! `dalsegno status`: what the last pass saw.

use std::fmt::Write as _;

use super::check::{block, counted, headline};
use super::failure::Failure;
use super::out::{Out, Tone};
use crate::conductor::{Line, State, Status};
use crate::domain::{ExitCode, Subject, SubjectKind, age};

/// Lines of state "fine" that are shown, unless `-o wide`.
const FINE_LINES: usize = 5;
/// Findings that are told in full below the table, unless `-o wide`.
const TOLD: usize = 3;

/// What the last pass saw: one line per subject, nearest harm first.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Only this subject, or those whose end this is
    pub subject: Option<String>,
}

/// Prints the status; 0 whatever it says, since nothing was looked at: `dalsegno check` looks.
pub fn show(mut status: Status, args: &Args, out: &Out) -> Result<ExitCode, Failure> {
    if let Some(text) = &args.subject {
        status.lines.retain(|line| line.subject.answers_to(text));
    }
    out.show(&status, |out| table(&status, out))?;
    Ok(ExitCode::Fine)
}

/// The screen.
pub fn table(status: &Status, out: &Out) -> String {
    let looked = match &status.pass {
        None => "never looked: dalsegno run".to_owned(),
        Some(pass) => {
            let old = if status.stale { ", which is too long ago" } else { "" };
            format!("looked {} (run {}){old}", age(pass.began, status.now), pass.number)
        }
    };
    let mut text = out.paint(Tone::Strong, &headline(&status.site, &[&looked, &counted(status.counted)]));
    if status.lines.is_empty() {
        text.push_str("\n\nno subjects are known\n");
        return text;
    }
    let fine = status.lines.iter().filter(|line| line.state == State::Fine).count();
    let shown = if out.wide() { usize::MAX } else { status.lines.len() - fine.saturating_sub(FINE_LINES) };
    let subjects: Vec<&Subject> = status.lines.iter().map(|line| &line.subject).collect();
    let rows = status.lines.iter().take(shown).map(|line| row(line, status, &subjects, out)).collect();
    text.push_str("\n\n");
    text.push_str(&out.table(&["SUBJECT", "MECHANISM", "RESTORABLE TO", "PROVEN", "CLOCK", "STATE"], rows));
    if status.lines.len() > shown {
        let _ = write!(text, "\n…{} more are fine (-o wide shows all)", status.lines.len() - shown);
    }
    let told = if out.wide() { usize::MAX } else { TOLD };
    let open = status.lines.iter().flat_map(|line| &line.findings);
    for open in open.clone().take(told) {
        let _ = write!(text, "\n\n{}", block(&open.finding, &format!("since {}", age(open.since, status.now)), out));
    }
    let more = open.count().saturating_sub(told);
    if more > 0 {
        let _ = write!(text, "\n\n…and {more} more findings (-o wide shows all)");
    }
    text
}

fn row(line: &Line, status: &Status, subjects: &[&Subject], out: &Out) -> Vec<String> {
    let restorable = match (line.restorable_to, line.subject.kind()) {
        (Some(at), _) if line.rpo_budget_seconds.is_none() => format!("{} (no RPO)", age(at, status.now)),
        (Some(at), _) => age(at, status.now),
        (None, SubjectKind::Pg) => "?".to_owned(),
        (None, _) => "-".to_owned(),
    };
    let proven = match (line.proven, line.subject.kind()) {
        (Some(at), _) => age(at, status.now),
        (None, SubjectKind::Pg) => "never".to_owned(),
        (None, _) => "-".to_owned(),
    };
    let clock = line.clock.as_ref().map_or_else(|| "-".to_owned(), |clock| clock.words.clone());
    let name = if out.wide() { line.subject.to_string() } else { line.subject.short_among(subjects) };
    let mut state = line.state.as_str().to_owned();
    if !line.why.is_empty() {
        let _ = write!(state, "  {}", line.why);
    }
    vec![name, line.mechanism.clone().unwrap_or_else(|| "-".to_owned()), restorable, proven, clock, state]
}
