//! Everything that is known of one run.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::column::Reading;
use super::{HistoryFilter, Ledger, LedgerError, RunLine, sql};
use crate::domain::{Evidence, Finding, Requests, Sample, Severity, StoreId};

/// What a run says of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeInRun {
    /// First seen in it.
    New,
    /// Seen again.
    Still,
    /// Known before; its subject was not looked at, so nothing can be said.
    NotLooked,
    /// Looked for and not found any more.
    Cleared,
}

impl ChangeInRun {
    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Still => "still",
            Self::NotLooked => "not looked at",
            Self::Cleared => "cleared",
        }
    }
}

/// A finding as it stood in a run. Its text is the one last seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownFinding {
    /// What the run says of it.
    pub change: ChangeInRun,
    /// Its severity in that run.
    pub severity: Severity,
    /// When it was first seen.
    pub since: Timestamp,
    /// The finding.
    pub finding: Finding,
}

/// A run with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownRun {
    /// The run.
    pub run: RunLine,
    /// Its findings, in the order in which they were first seen. "Still" is kept for [`super::RAW_DAYS`] days.
    pub findings: Vec<ShownFinding>,
    /// Its samples, kept for [`super::RAW_DAYS`] days.
    pub samples: Vec<Sample>,
    /// Requests by store.
    pub requests: Vec<(StoreId, Requests)>,
    /// Of a drill: its evidence.
    pub evidence: Option<Evidence>,
    /// SHA-256 of the evidence file, hex.
    pub evidence_sha256: Option<String>,
}

impl Ledger {
    /// The run that `asked` means, see [`Ledger::find`].
    pub async fn show(&self, asked: &str) -> Result<ShownRun, LedgerError> {
        let number = self.find(asked).await?;
        let line = self.lines(&HistoryFilter::default(), Some(number)).await?.pop();
        let run = line.ok_or_else(|| LedgerError::NoSuchRun { asked: asked.into() })?;
        let (evidence, evidence_sha256) = self.evidence_of(number).await?.unzip();
        Ok(ShownRun {
            run,
            findings: self.findings_of(number).await?,
            samples: self.samples_of(number).await?,
            requests: self.requests_of(number).await?,
            evidence,
            evidence_sha256,
        })
    }

    async fn findings_of(&self, run: i64) -> Result<Vec<ShownFinding>, LedgerError> {
        let rows = sqlx::query(sql::RUN_FINDINGS).bind(run).fetch_all(&self.reader).await.map_err(self.sorted())?;
        rows.iter()
            .map(|row| {
                let read = Reading { file: &self.file, table: "run_findings", row };
                Ok(ShownFinding {
                    change: read.word("change")?,
                    severity: read.word("severity")?,
                    since: read.at("first_seen")?,
                    finding: read.json("finding")?,
                })
            })
            .collect()
    }

    async fn samples_of(&self, run: i64) -> Result<Vec<Sample>, LedgerError> {
        let rows = sqlx::query(sql::RUN_SAMPLES).bind(run).fetch_all(&self.reader).await.map_err(self.sorted())?;
        rows.iter()
            .map(|row| {
                let read = Reading { file: &self.file, table: "samples", row };
                let (subject, metric) = (read.word("subject")?, read.get("metric")?);
                Ok(Sample { subject, metric, value: read.get("value")?, at: read.at("at")? })
            })
            .collect()
    }

    async fn requests_of(&self, run: i64) -> Result<Vec<(StoreId, Requests)>, LedgerError> {
        let rows = sqlx::query(sql::RUN_REQUESTS).bind(run).fetch_all(&self.reader).await.map_err(self.sorted())?;
        rows.iter()
            .map(|row| {
                let read = Reading { file: &self.file, table: "run_requests", row };
                let requests = Requests {
                    class_a: read.count("class_a")?,
                    class_b: read.count("class_b")?,
                    free: read.count("free")?,
                    bytes_in: read.count("bytes_in")?,
                    bytes_out: read.count("bytes_out")?,
                };
                Ok((StoreId(read.get("store")?), requests))
            })
            .collect()
    }

    async fn evidence_of(&self, run: i64) -> Result<Option<(Evidence, String)>, LedgerError> {
        let row = sqlx::query(sql::RUN_EVIDENCE).bind(run).fetch_optional(&self.reader).await.map_err(self.sorted())?;
        row.map(|row| {
            let read = Reading { file: &self.file, table: "drills", row: &row };
            Ok((read.json("evidence")?, read.get("sha256")?))
        })
        .transpose()
    }
}
