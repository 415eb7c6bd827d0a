//! `dalsegno history`: recorded runs.

use jiff::Timestamp;

use super::failure::Failure;
use super::out::Out;
use crate::app::{AppError, HistoryFilter, Ledger, RunLine, RunState};
use crate::domain::{ExitCode, age, duration_in_words};

/// Recorded passes and drills, newest first.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Only runs that found, proved or failed something about this subject
    pub subject: Option<String>,
    /// How many
    #[arg(long, default_value_t = 20, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

/// Lists runs. A name that no run tells of is handed to `known`, which refuses it when nothing is called so.
pub async fn run(
    args: &Args,
    ledger: &Ledger,
    known: impl FnOnce(&str) -> Result<(), AppError>,
    now: Timestamp,
    out: &Out,
) -> Result<ExitCode, Failure> {
    let filter = HistoryFilter { subject: args.subject.clone(), limit: Some(args.limit), ..HistoryFilter::default() };
    let runs = ledger.history(&filter).await?;
    if let Some(subject) = args.subject.as_deref().filter(|_| runs.is_empty()) {
        known(subject)?;
    }
    out.show(&runs, |out| table(&runs, now, out))?;
    Ok(ExitCode::Fine)
}

/// One line per run, newest first.
pub fn table(runs: &[RunLine], now: Timestamp, out: &Out) -> String {
    if runs.is_empty() {
        return "no runs recorded".to_owned();
    }
    let rows = runs
        .iter()
        .map(|run| {
            vec![
                run.number.to_string(),
                run.kind.as_str().to_owned(),
                age(run.began, now),
                took(run),
                result(run),
                found(run),
                if run.requests > 0 { run.requests.to_string() } else { "-".to_owned() },
            ]
        })
        .collect();
    out.table(&["RUN", "KIND", "BEGAN", "TOOK", "RESULT", "FOUND", "REQUESTS"], rows)
}

/// How long it took. Of an interrupted run nobody knows.
pub(super) fn took(run: &RunLine) -> String {
    match (run.state, run.ended) {
        (RunState::Done | RunState::Failed, Some(ended)) => duration_in_words(ended.duration_since(run.began).as_secs_f64()),
        _ => "-".to_owned(),
    }
}

/// How it came out, in a word. A drill has a verdict; a pass has what its exit code says.
pub(super) fn result(run: &RunLine) -> String {
    match (run.state, run.verdict, run.exit_code) {
        (RunState::Running | RunState::Interrupted, None, _) => run.state.as_str().to_owned(),
        (_, Some(verdict), _) => verdict.as_str().to_uppercase(),
        (_, None, Some(code)) => exit_word(code),
        (state, None, None) => state.as_str().to_owned(),
    }
}

fn exit_word(code: i64) -> String {
    let words = [
        (ExitCode::Fine, "fine"),
        (ExitCode::Findings, "findings"),
        (ExitCode::Usage, "refused its configuration"),
        (ExitCode::CouldNotLook, "could not look"),
        (ExitCode::DrillFailed, "drill failed"),
        (ExitCode::Stuck, "stuck"),
        (ExitCode::LostRace, "lost the race"),
        (ExitCode::Bug, "bug"),
    ];
    match words.iter().find(|(exit, _)| i64::from(exit.number()) == code) {
        Some((_, word)) => (*word).to_owned(),
        None if code > 128 => format!("ended by signal {}", code - 128),
        None => format!("exit {code}"),
    }
}

fn found(run: &RunLine) -> String {
    if let Some(subject) = &run.subject {
        return subject.to_string();
    }
    let counts: Vec<String> = [(run.new, "new"), (run.still, "still"), (run.cleared, "cleared")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if counts.is_empty() { "-".to_owned() } else { counts.join(", ") }
}
