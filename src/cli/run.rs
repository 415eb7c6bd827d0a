//! `dalsegno run`: one pass.

use std::path::PathBuf;

use super::at_least::AtLeast;
use super::check::{block, bugs, counted, headline, indented};
use super::failure::Failure;
use super::out::{Out, Tone};
use crate::conductor::{ExitRule, PassOutcome};
use crate::domain::{Change, Ended, ExitCode, age, duration_in_words, many};

/// What decides the exit code of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ExitBy {
    /// What was found (0, 1, 3, …).
    #[default]
    Findings,
    /// 0 when the pass did its work, whatever it found: for Kubernetes Jobs with backoffLimit 0.
    Work,
}

/// Look at everything, say what changed, follow what was started, start what is due; then exit.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// What decides the exit code
    #[arg(long, value_enum, default_value_t, value_name = "BY")]
    pub exit: ExitBy,
    /// The least severity that makes the exit code 1
    #[arg(long, value_enum, default_value_t, value_name = "SEVERITY")]
    pub fail_on: AtLeast,
    /// Write the metrics of this pass there, for the textfile collector of the node exporter
    #[arg(long, value_name = "FILE")]
    pub metrics_file: Option<PathBuf>,
}

impl Args {
    /// What decides the exit code.
    pub fn rule(&self) -> ExitRule {
        ExitRule { threshold: self.fail_on.into(), by_work: self.exit == ExitBy::Work }
    }
}

/// Prints what a pass came to; answers its exit code.
pub fn show(outcome: &PassOutcome, site: &str, out: &Out) -> Result<ExitCode, Failure> {
    out.show(outcome, |out| table(outcome, site, out))?;
    Ok(outcome.exit)
}

/// The screen: what is new first, then what is still there, then what was cleared.
pub fn table(outcome: &PassOutcome, site: &str, out: &Out) -> String {
    let seen = many(outcome.seen.len(), "subject");
    let took = format!("run {} · looked at {seen} in {}", outcome.number, duration_in_words(outcome.seconds));
    let mut blocks = vec![out.paint(Tone::Strong, &headline(site, &[&took, &counted(outcome.counted)]))];
    blocks.extend(bugs(&outcome.bugs));
    let new = outcome.changes.iter().filter_map(|change| match change {
        Change::New { finding } => Some(block(finding, "new", out)),
        _ => None,
    });
    let still = outcome.changes.iter().filter_map(|change| match change {
        Change::Still { finding, since, severity_was } => {
            let was = severity_was.map_or_else(String::new, |was| format!(", was {}", was.as_str()));
            let seen = outcome.findings.iter().any(|found| found.key() == finding.key());
            let unseen = if seen { "" } else { ", not looked at in this run" };
            Some(block(finding, &format!("since {}{was}{unseen}", age(*since, outcome.now)), out))
        }
        _ => None,
    });
    blocks.extend(new.chain(still));
    let cleared: Vec<String> = outcome
        .changes
        .iter()
        .filter_map(|change| match change {
            Change::Cleared { finding, since, why } => {
                let why = if *why == Ended::NotConfigured { ", and is no longer configured" } else { "" };
                let since = age(*since, outcome.now);
                Some(format!("cleared  {}  {}  (was there since {since}{why})", finding.subject, finding.code))
            }
            _ => None,
        })
        .collect();
    if !cleared.is_empty() {
        blocks.push(cleared.join("\n"));
    }
    blocks.extend(talk(outcome, out));
    blocks.join("\n\n")
}

/// Interrupted drills that were closed, and channels that did not take what was said.
fn talk(outcome: &PassOutcome, out: &Out) -> Option<String> {
    let swept = outcome.swept.closed.iter().map(|line| indented("swept", line, out));
    let waiting = outcome.delivery.waiting.iter().map(|(channel, why)| indented("waits", &format!("{channel}: {why}"), out));
    let heartbeat =
        outcome.delivery.heartbeat.as_ref().filter(|how| *how != "delivered").map(|how| indented("heartbeat", how, out));
    let requests = outcome.requests.iter().filter(|_| out.wide()).map(|(store, made)| {
        indented(
            "requests",
            &format!("{store}: {} list and write, {} read, {} B in", made.class_a, made.class_b, made.bytes_in),
            out,
        )
    });
    let lines: Vec<String> = swept.chain(waiting).chain(heartbeat).chain(requests).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
