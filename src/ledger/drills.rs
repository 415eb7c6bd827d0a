//! Drills: taken in from their evidence files.

use futures::TryStreamExt as _;
use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::column::{Reading, json, ms, word};
use super::{Ledger, LedgerError, sql};
use crate::domain::{EVIDENCE_FORMAT, Evidence, ExitCode, Place, Requests, RunId, Subject};

/// What taking in did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenIn {
    /// It was not known before.
    New,
    /// It was; nothing changed.
    Known,
}

impl Ledger {
    /// Takes the evidence of a drill in; `sha256` is that of the file's bytes, hex. Twice is once; a second, different file of the same
    /// run is refused. The run is made when it is not known (a drill needs no ledger), and closed when it was running or interrupted.
    pub async fn take_in(&self, evidence: &Evidence, sha256: &str, now: Timestamp) -> Result<TakenIn, LedgerError> {
        let run = evidence.run.to_string();
        if evidence.format > EVIDENCE_FORMAT {
            return Err(LedgerError::EvidenceNewer { run, found: evidence.format, known: EVIDENCE_FORMAT });
        }
        let mut transaction = self.write().await?;
        let known: Option<String> =
            sqlx::query_scalar(sql::DRILL_BY_RUN).bind(&run).fetch_optional(&mut *transaction).await.map_err(self.sorted())?;
        match known {
            Some(known) if known == sha256 => return Ok(TakenIn::Known),
            Some(known) => return Err(LedgerError::EvidenceDiffers { run, known, given: sha256.to_owned() }),
            None => {}
        }
        sqlx::query(sql::RUN_TAKEN_IN)
            .bind(&run)
            .bind(ms(evidence.began))
            .bind(ms(evidence.ended))
            .bind(i64::from(exit_of(evidence).number()))
            .bind(&evidence.host)
            .execute(&mut *transaction)
            .await
            .map_err(self.sorted())?;
        let number = self.number(&mut transaction, evidence.run).await?;
        self.put_drill(&mut transaction, number, evidence, sha256, now).await?;
        // A drill asks the store as a pass does, and counts for the day on which it ended.
        if let Some(store) = evidence.restored.as_ref().and_then(|restored| restored.place.store())
            && evidence.requests != Requests::default()
        {
            self.add_requests(&mut transaction, number, evidence.ended, store, evidence.requests).await?;
        }
        self.commit(transaction).await?;
        Ok(TakenIn::New)
    }

    /// Whether the evidence of this drill was taken in.
    pub async fn knows_drill(&self, run: RunId) -> Result<bool, LedgerError> {
        let query = sqlx::query_scalar::<_, String>(sql::DRILL_BY_RUN).bind(run.to_string());
        Ok(query.fetch_optional(&self.reader).await.map_err(self.sorted())?.is_some())
    }

    async fn put_drill(
        &self,
        connection: &mut SqliteConnection,
        run: i64,
        evidence: &Evidence,
        sha256: &str,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let place = evidence.restored.as_ref().map(|restored| json(&self.file, "drills", &restored.place)).transpose()?;
        let mechanism =
            evidence.restored.as_ref().map(|restored| word(&self.file, "drills", &restored.by.mechanism())).transpose()?;
        sqlx::query(sql::DRILL_PUT)
            .bind(run)
            .bind(sha256)
            .bind(evidence.subject.to_string())
            .bind(evidence.verdict.as_str())
            .bind(place)
            .bind(mechanism)
            .bind(evidence.restored.as_ref().map(|restored| restored.name.as_str()))
            .bind(ms(evidence.began))
            .bind(ms(evidence.ended))
            .bind(ms(now))
            .bind(json(&self.file, "drills", evidence)?)
            .execute(connection)
            .await
            .map_err(self.sorted())?;
        Ok(())
    }

    /// The newest drill of each subject, whatever its verdict.
    pub async fn last_drills(&self) -> Result<Vec<Evidence>, LedgerError> {
        let rows = sqlx::query(sql::DRILLS_LAST).fetch_all(&self.reader).await.map_err(self.sorted())?;
        rows.iter().map(|row| Reading { file: &self.file, table: "drills", row }.json("evidence")).collect()
    }

    /// The newest proof of a subject at a place that `counts`. A proof at another place is none here; without a place all are asked.
    pub async fn last_proof(
        &self,
        subject: &Subject,
        place: Option<&Place>,
        counts: &(dyn Fn(&Evidence) -> bool + Sync),
    ) -> Result<Option<Evidence>, LedgerError> {
        let place = place.map(|place| json(&self.file, "drills", place)).transpose()?;
        let mut rows = sqlx::query(sql::DRILLS_PROVEN).bind(subject.to_string()).bind(place).fetch(&self.reader);
        while let Some(row) = rows.try_next().await.map_err(self.sorted())? {
            let evidence: Evidence = Reading { file: &self.file, table: "drills", row: &row }.json("evidence")?;
            if counts(&evidence) {
                return Ok(Some(evidence));
            }
        }
        Ok(None)
    }

    /// The newest failed drill of a subject at a place, or of one that failed before it knew the place.
    pub async fn last_failed(&self, subject: &Subject, place: Option<&Place>) -> Result<Option<Evidence>, LedgerError> {
        let place = place.map(|place| json(&self.file, "drills", place)).transpose()?;
        let query = sqlx::query(sql::DRILL_LAST_FAILED).bind(subject.to_string()).bind(place);
        let row = query.fetch_optional(&self.reader).await.map_err(self.sorted())?;
        row.map(|row| Reading { file: &self.file, table: "drills", row: &row }.json("evidence")).transpose()
    }
}

fn exit_of(evidence: &Evidence) -> ExitCode {
    let verdict = evidence.verdict.exit();
    if evidence.left_over.is_empty() { verdict } else { verdict.worse(ExitCode::Stuck) }
}
