//! Recordings: what a pass saw, judged again without any network. The room `tap` records and replays the seams; here is what stands
//! around them: what only a ledger knows, and what judging must come to.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::check::not_remembered;
use super::outcome::{Counted, ExitRule, exit_of};
use super::pass::PassOutcome;
use crate::domain::{Evidence, Exit, ExitCode, Explained, RunId, Sample, Severity, Subject, sha256_hex};
use crate::ledger::{Ledger, LedgerError, RunKind, RunState};
use crate::yaml;

/// `expect.yaml`: what judging a recording must come to. A healthy twin has `findings: []`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// All of the findings.
    pub findings: Vec<ExpectedFinding>,
    /// Codes that must not be there.
    #[serde(default)]
    pub absent: Vec<String>,
}

/// One expected finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedFinding {
    /// Its code.
    pub code: String,
    /// Its severity.
    pub severity: Severity,
    /// Its subject.
    pub subject: Subject,
    /// By which means it shows.
    #[serde(default)]
    pub via: Via,
}

/// By which means a fault shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// A pass or a check sees it.
    #[default]
    Check,
    /// Only the answer to an act shows it.
    Receipt,
}

/// Why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A file cannot be read or written.
    #[error("cannot {what} {path}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{path}: {why}")]
    Malformed {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The ledger that it is played into failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Explained for ReplayError {
    fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "recording-file",
            Self::Malformed { .. } => "recording-malformed",
            Self::Ledger(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Io { .. } => Some("is it the folder that check --record was given?".to_owned()),
            Self::Malformed { .. } => None,
            Self::Ledger(error) => error.hint(),
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Ledger(error) => error.exit(),
            _ => ExitCode::Usage,
        }
    }
}

impl Expectation {
    /// Reads `expect.yaml` of a folder; `None` when there is none, as in a recording of a user.
    pub fn read(folder: &Path) -> Result<Option<Self>, ReplayError> {
        let path = folder.join("expect.yaml");
        if path.exists() { document(&path).map(Some) } else { Ok(None) }
    }
}

/// A line of `ledger.jsonl`.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Remembered {
    /// A drill, whatever its verdict.
    Drill {
        /// Its evidence.
        evidence: Box<Evidence>,
    },
}

/// The line of `ledger.jsonl` for a drill: what judging reads of it. What checks saw in the restored database, and what the steps
/// were called with, is somebody else's data and stays at home.
pub fn remembered(evidence: Evidence) -> Option<String> {
    let mut evidence = Evidence { steps: Vec::new(), isolation_facts: Vec::new(), host: String::new(), ..evidence };
    for assertion in &mut evidence.assertions {
        assertion.expected.clear();
        assertion.seen.clear();
    }
    serde_json::to_string(&Remembered::Drill { evidence: Box::new(evidence) }).ok().map(|line| format!("{line}\n"))
}

/// Fills an empty ledger with what `ledger.jsonl` and `samples.jsonl` of a recording say, before its first pass.
pub async fn remember(folder: &Path, ledger: &Ledger, before: Timestamp) -> Result<(), ReplayError> {
    let path = folder.join(LEDGER_FILE);
    for (number, line) in lines(&path)?.into_iter().enumerate() {
        let Remembered::Drill { evidence } = json(&path, number, &line)?;
        let digest = sha256_hex(&line);
        ledger.take_in(&evidence, &digest, before).await?;
    }
    let path = folder.join("samples.jsonl");
    let mut samples = Vec::new();
    for (number, line) in lines(&path)?.into_iter().enumerate() {
        samples.push(json::<Sample>(&path, number, &line)?);
    }
    // A ledger keeps one sample per run: each old one gets a run of its own.
    for sample in samples {
        let run = RunId::new();
        ledger.begin(run, RunKind::Pass, sample.at).await?;
        ledger.commit_samples(run, before, std::slice::from_ref(&sample)).await?;
        ledger.end(run, sample.at, RunState::Done, ExitCode::Fine).await?;
    }
    Ok(())
}

/// The file of what a ledger knew. An empty one says that it knew nothing, a missing one that none was asked.
pub const LEDGER_FILE: &str = "ledger.jsonl";

/// The outcome of a recording beside which no ledger was asked: that no drill is known says nothing then, as in a check without one.
pub fn without_ledger(mut outcome: PassOutcome, rule: ExitRule) -> PassOutcome {
    outcome.findings.iter_mut().for_each(not_remembered);
    outcome.counted = Counted::of(&outcome.findings);
    outcome.exit = exit_of(&outcome.findings, outcome.bugs.len(), outcome.swept.stuck.len(), rule);
    outcome
}

fn lines(path: &Path) -> Result<Vec<String>, ReplayError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(ReplayError::Io { what: "read", path: path.to_owned(), source }),
    }
}

fn json<T: serde::de::DeserializeOwned>(path: &Path, number: usize, line: &str) -> Result<T, ReplayError> {
    serde_json::from_str(line)
        .map_err(|error| ReplayError::Malformed { path: path.to_owned(), why: format!("line {}: {error}", number + 1) })
}

fn document<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ReplayError> {
    let text = std::fs::read_to_string(path).map_err(|source| ReplayError::Io { what: "read", path: path.to_owned(), source })?;
    yaml::read(&text).map_err(|error| ReplayError::Malformed { path: path.to_owned(), why: error.to_string() })
}
