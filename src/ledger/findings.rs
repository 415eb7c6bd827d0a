//! Findings: what is new, what is still there, what is cleared. Computed and kept in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;
use sqlx::SqliteConnection;

use super::column::{Reading, json, ms};
use super::{Ledger, LedgerError, sql};
use crate::domain::{Change, Finding, FindingKey, Message, RunId, Severity};

/// What a pass changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Committed {
    /// New, still and cleared; still ones include those that were not looked at.
    pub changes: Vec<Change>,
    /// Open findings whose subject was not looked at in this pass: nobody knows whether they are still there.
    pub not_looked: BTreeSet<FindingKey>,
    /// Messages that went into the outbox with them.
    pub queued: usize,
}

/// A finding that is not cleared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenFinding {
    /// The finding, as last seen.
    pub finding: Finding,
    /// When it was first seen.
    pub since: Timestamp,
    /// When it was last seen. Older than the newest pass: it was not looked at since.
    pub last_seen: Timestamp,
}

struct Row {
    id: i64,
    open: OpenFinding,
}

impl Ledger {
    /// Commits what a pass found. See [`Ledger::commit_findings_and_tell`]; this one tells nobody.
    pub async fn commit_findings(
        &self,
        run: RunId,
        now: Timestamp,
        findings: &[Finding],
        looked_at: &(dyn Fn(&FindingKey) -> bool + Sync),
    ) -> Result<Committed, LedgerError> {
        self.commit_findings_and_tell(run, now, findings, looked_at, &|_| Vec::new()).await
    }

    /// Commits what a pass found and the messages about it, in one transaction: killed before it, the next pass finds the same
    /// things new; killed after it, the messages are in the outbox. There is no moment at which a finding is known and nobody is told.
    ///
    /// A finding that is not among `findings` is cleared only when `looked_at` says that its subject was looked at in this pass;
    /// else it is still there, as far as anybody knows. Of two findings of one key the more severe counts.
    pub async fn commit_findings_and_tell(
        &self,
        run: RunId,
        now: Timestamp,
        findings: &[Finding],
        looked_at: &(dyn Fn(&FindingKey) -> bool + Sync),
        tell: &(dyn Fn(&Committed) -> Vec<Message> + Sync),
    ) -> Result<Committed, LedgerError> {
        let mut transaction = self.write().await?;
        let number = self.number(&mut transaction, run).await?;
        let mut open: BTreeMap<FindingKey, Row> =
            self.open_rows(&mut transaction).await?.into_iter().map(|row| (row.open.finding.key(), row)).collect();
        let mut committed = Committed::default();
        for (key, finding) in by_key(findings) {
            let change = match open.remove(&key) {
                Some(row) => self.still(&mut transaction, number, now, finding, row).await?,
                None => self.appeared(&mut transaction, number, now, finding).await?,
            };
            committed.changes.push(change);
        }
        for (key, row) in open {
            let looked = looked_at(&key);
            committed.changes.push(self.absent(&mut transaction, number, now, row, looked).await?);
            if !looked {
                committed.not_looked.insert(key);
            }
        }
        for message in tell(&committed) {
            committed.queued += self.put_message(&mut transaction, number, now, &message).await?;
        }
        self.commit(transaction).await?;
        Ok(committed)
    }

    /// Findings that are not cleared, in the order in which they were first seen.
    pub async fn open_findings(&self) -> Result<Vec<OpenFinding>, LedgerError> {
        let mut connection = self.reader.acquire().await.map_err(self.sorted())?;
        Ok(self.open_rows(&mut connection).await?.into_iter().map(|row| row.open).collect())
    }

    async fn open_rows(&self, connection: &mut SqliteConnection) -> Result<Vec<Row>, LedgerError> {
        let rows = sqlx::query(sql::FINDINGS_OPEN).fetch_all(connection).await.map_err(self.sorted())?;
        rows.iter()
            .map(|row| {
                let read = Reading { file: &self.file, table: "findings", row };
                let open = OpenFinding {
                    finding: read.json("finding")?,
                    since: read.at("first_seen")?,
                    last_seen: read.at("last_seen")?,
                };
                Ok(Row { id: read.get("id")?, open })
            })
            .collect()
    }

    async fn appeared(
        &self,
        connection: &mut SqliteConnection,
        run: i64,
        now: Timestamp,
        finding: &Finding,
    ) -> Result<Change, LedgerError> {
        let id: i64 = sqlx::query_scalar(sql::FINDING_NEW)
            .bind(&finding.code)
            .bind(finding.subject.to_string())
            .bind(finding.severity.as_str())
            .bind(ms(now))
            .bind(json(&self.file, "findings", finding)?)
            .fetch_one(&mut *connection)
            .await
            .map_err(self.sorted())?;
        self.note(connection, run, id, "new", finding.severity).await?;
        Ok(Change::New { finding: finding.clone() })
    }

    async fn still(
        &self,
        connection: &mut SqliteConnection,
        run: i64,
        now: Timestamp,
        finding: &Finding,
        row: Row,
    ) -> Result<Change, LedgerError> {
        sqlx::query(sql::FINDING_STILL)
            .bind(row.id)
            .bind(finding.severity.as_str())
            .bind(ms(now))
            .bind(json(&self.file, "findings", finding)?)
            .execute(&mut *connection)
            .await
            .map_err(self.sorted())?;
        self.note(connection, run, row.id, "still", finding.severity).await?;
        let was = row.open.finding.severity;
        let severity_was = (was != finding.severity).then_some(was);
        Ok(Change::Still { finding: finding.clone(), since: row.open.since, severity_was })
    }

    async fn absent(
        &self,
        connection: &mut SqliteConnection,
        run: i64,
        now: Timestamp,
        row: Row,
        looked: bool,
    ) -> Result<Change, LedgerError> {
        let OpenFinding { finding, since, .. } = row.open;
        if !looked {
            self.note(connection, run, row.id, "not-looked", finding.severity).await?;
            return Ok(Change::Still { finding, since, severity_was: None });
        }
        sqlx::query(sql::FINDING_CLEARED).bind(row.id).bind(ms(now)).execute(&mut *connection).await.map_err(self.sorted())?;
        self.note(connection, run, row.id, "cleared", finding.severity).await?;
        Ok(Change::Cleared { finding, since })
    }

    async fn note(
        &self,
        connection: &mut SqliteConnection,
        run: i64,
        finding: i64,
        change: &str,
        severity: Severity,
    ) -> Result<(), LedgerError> {
        let put = sqlx::query(sql::RUN_FINDING_PUT).bind(run).bind(finding).bind(change).bind(severity.as_str());
        put.execute(connection).await.map_err(self.sorted())?;
        Ok(())
    }
}

/// One finding per key: the more severe, of two equals the first.
fn by_key(findings: &[Finding]) -> BTreeMap<FindingKey, &Finding> {
    let mut kept: BTreeMap<FindingKey, &Finding> = BTreeMap::new();
    for finding in findings {
        kept.entry(finding.key())
            .and_modify(|known| {
                if finding.severity > known.severity {
                    *known = finding;
                }
            })
            .or_insert(finding);
    }
    kept
}
