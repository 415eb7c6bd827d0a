//! Judges one recording and holds the outcome against `expect.yaml`.

use std::path::Path;

use dalsegno::app::{replay, replayed_catalogues};
use dalsegno::archive::RecoveryTarget;
use dalsegno::conductor::{ExitRule, Expectation, Via};
use dalsegno::domain::{Explained, Severity};

use super::compose::compose;
use super::table::Entry;

/// What came of one recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exactly what was expected.
    AsExpected,
    /// What was expected is not there.
    NotNamed(Vec<String>),
    /// Something is there that was not expected.
    Alarms(Vec<String>),
    /// The recording could not be judged.
    Broken(String),
}

pub(crate) async fn fault(root: &Path, entry: &Entry) -> Outcome {
    judge(compose(root, entry.name).path()).await
}

pub(crate) async fn twin(root: &Path, entry: &Entry) -> Outcome {
    judge(compose(root, &format!("{}.twin", entry.name)).path()).await
}

pub(crate) async fn judge(folder: &Path) -> Outcome {
    crate::policy::flip::from_environment();
    let expected = Expectation::read(folder).unwrap().expect("every entry of the corpus says what must come of it");
    let mut wanted: Vec<String> = expected
        .findings
        .iter()
        .map(|finding| match finding.via {
            Via::Check => line(&finding.code, finding.severity, &finding.subject.to_string()),
            // An answer has no severity of its own.
            Via::Receipt => format!("receipt {} {}", finding.code, finding.subject),
        })
        .collect();
    let rule = ExitRule { threshold: Severity::Info, by_work: false };
    let outcome = match replay(folder, rule).await {
        Ok(outcome) => outcome,
        Err(error) => return Outcome::Broken(format!("{error}: {}", error.hint().unwrap_or_default())),
    };
    if !outcome.bugs.is_empty() {
        return Outcome::Broken(format!("neither fact nor gap: {:?}", outcome.bugs));
    }
    let findings = outcome.findings.iter();
    let mut seen: Vec<String> = findings.map(|of| line(&of.code, of.severity, &of.subject.to_string())).collect();
    seen.extend(answers(folder).await);
    let alarms: Vec<String> = seen.iter().filter(|line| !wanted.contains(line)).cloned().collect();
    wanted.retain(|line| !seen.contains(line));
    if !wanted.is_empty() {
        return Outcome::NotNamed(wanted.into_iter().chain(alarms.iter().map(|line| format!("instead: {line}"))).collect());
    }
    if alarms.is_empty() { Outcome::AsExpected } else { Outcome::Alarms(alarms) }
}

fn line(code: &str, severity: Severity, subject: &str) -> String {
    format!("{code} {} {subject}", severity.as_str())
}

/// Asks again what `receipts.jsonl` says was asked: where a restore shall end.
async fn answers(folder: &Path) -> Vec<String> {
    let Ok(text) = std::fs::read_to_string(folder.join("000/receipts.jsonl")) else { return Vec::new() };
    let catalogues = replayed_catalogues(folder).await.unwrap();
    let mut refused = Vec::new();
    for row in text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()) {
        assert_eq!(row["verb"], "archive.choose");
        let (subject, catalogue) = catalogues.iter().find(|(subject, _)| row["subject"] == subject.to_string()).unwrap();
        let code = match RecoveryTarget::parse(row["intent"]["target"].as_str().unwrap()) {
            Err(error) => Some(error.code()),
            Ok(target) => catalogue.choose(target, None).err().map(|refusal| refusal.code()),
        };
        refused.extend(code.map(|code| format!("receipt {code} {subject}")));
    }
    refused
}
