//! Findings: what is new, what is still there, what is cleared. Computed and kept in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;
use sqlx::SqliteConnection;

use super::column::{Reading, json, ms};
use super::{Ledger, LedgerError, sql};
use crate::domain::{Alert, Change, Ended, Finding, FindingKey, Glance, Heard, Message, RunId, Severity};

/// What a pass changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Committed {
    /// New, still and cleared; still ones include those that were not looked at.
    pub changes: Vec<Change>,
    /// Open findings whose subject was not looked at in this pass: nobody knows whether they are still there.
    pub not_looked: BTreeSet<FindingKey>,
    /// What was said of them before this pass.
    pub heard: Heard,
    /// Alerts as they are after it.
    pub alerts: Vec<Alert>,
    /// Messages that went into the outbox with them.
    pub queued: usize,
}

/// What is to be kept together with the findings that it is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Telling {
    /// For the outbox.
    pub messages: Vec<Message>,
    /// Alerts as they are now; `None` = nobody looked after them, and they stay as they were.
    pub alerts: Option<Vec<Alert>>,
    /// Alerts that are over: their acknowledgements end.
    pub over: Vec<FindingKey>,
}

impl From<Vec<Message>> for Telling {
    fn from(messages: Vec<Message>) -> Self {
        Self { messages, ..Self::default() }
    }
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
    pub async fn commit_findings<G: Into<Glance>>(
        &self,
        run: RunId,
        now: Timestamp,
        findings: &[Finding],
        looked_at: &(dyn Fn(&FindingKey) -> G + Sync),
    ) -> Result<Committed, LedgerError> {
        self.commit_findings_and_tell(run, now, findings, looked_at, &|_| Telling::default()).await
    }

    /// Commits what a pass found and the messages about it, in one transaction: killed before it, the next pass finds the same
    /// things new; killed after it, the messages are in the outbox. There is no moment at which a finding is known and nobody is told.
    ///
    /// A finding that is not among `findings` is cleared only when `looked_at` says that its subject was looked at in this pass;
    /// else it is still there, as far as anybody knows. Of two findings of one key the more severe counts. `tell` is given what was
    /// said before and answers what is said now; both the messages and what is remembered of them go into the same transaction.
    pub async fn commit_findings_and_tell<G: Into<Glance>, T: Into<Telling>>(
        &self,
        run: RunId,
        now: Timestamp,
        findings: &[Finding],
        looked_at: &(dyn Fn(&FindingKey) -> G + Sync),
        tell: &(dyn Fn(&Committed) -> T + Sync),
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
            let glance: Glance = looked_at(&key).into();
            committed.changes.push(self.absent(&mut transaction, number, now, row, glance).await?);
            if glance == Glance::NotLooked {
                committed.not_looked.insert(key);
            }
        }
        committed.heard = self.heard(&mut transaction).await?;
        let telling: Telling = tell(&committed).into();
        for message in &telling.messages {
            committed.queued += self.put_message(&mut transaction, number, now, message).await?;
        }
        if let Some(alerts) = telling.alerts {
            self.put_alerts(&mut transaction, &committed.heard.alerts, &alerts).await?;
            committed.alerts = alerts;
        }
        for key in &telling.over {
            self.end_acks(&mut transaction, key, now).await?;
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
        glance: Glance,
    ) -> Result<Change, LedgerError> {
        let OpenFinding { finding, since, .. } = row.open;
        let why = match glance {
            Glance::Over(why) => why,
            Glance::NotLooked => {
                self.note(connection, run, row.id, "not-looked", finding.severity).await?;
                return Ok(Change::Still { finding, since, severity_was: None });
            }
        };
        self.clear(connection, row.id, now, why).await?;
        self.note(connection, run, row.id, "cleared", finding.severity).await?;
        Ok(Change::Cleared { finding, since, why })
    }

    async fn clear(&self, connection: &mut SqliteConnection, id: i64, now: Timestamp, why: Ended) -> Result<(), LedgerError> {
        let update = sqlx::query(sql::FINDING_CLEARED).bind(id).bind(ms(now)).bind(why.as_str());
        update.execute(connection).await.map_err(self.sorted())?;
        Ok(())
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
