//! What was said of findings, and what people said to it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::column::{Reading, json, ms};
use super::{Ledger, LedgerError, sql};
use crate::domain::{Ack, Alert, FindingKey, Heard};

/// An acknowledgement, and when it ended if it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptAck {
    /// What was acknowledged, by whom and why.
    #[serde(flatten)]
    pub ack: Ack,
    /// Withdrawn, replaced, or its finding is over. An expiry is no end of this kind.
    pub ended_at: Option<Timestamp>,
}

impl KeptAck {
    /// Whether it holds now.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.ended_at.is_none() && now < self.ack.until
    }
}

impl Ledger {
    /// Alerts that are not forgotten.
    pub async fn alerts(&self) -> Result<Vec<Alert>, LedgerError> {
        let mut connection = self.reader.acquire().await.map_err(self.sorted())?;
        self.read_alerts(&mut connection).await
    }

    /// Acknowledgements, newest first.
    pub async fn acks(&self, limit: u32) -> Result<Vec<KeptAck>, LedgerError> {
        let rows = sqlx::query(sql::ACKS_ALL).bind(limit).fetch_all(&self.reader).await.map_err(self.sorted())?;
        rows.iter().map(|row| Ok(KeptAck { ack: self.read_ack(row)?, ended_at: self.reading(row).at_opt("ended_at")? })).collect()
    }

    /// Keeps an acknowledgement; an earlier one of the same finding ends.
    pub async fn acknowledge(&self, ack: &Ack) -> Result<(), LedgerError> {
        let mut transaction = self.write().await?;
        self.end_acks(&mut transaction, &ack.key, ack.made_at).await?;
        sqlx::query(sql::ACK_PUT)
            .bind(&ack.key.code)
            .bind(ack.key.subject.to_string())
            .bind(ack.severity.as_str())
            .bind(&ack.reason)
            .bind(&ack.author)
            .bind(ms(ack.made_at))
            .bind(ms(ack.until))
            .execute(&mut *transaction)
            .await
            .map_err(self.sorted())?;
        self.commit(transaction).await
    }

    /// Takes an acknowledgement back; answers whether there was one.
    pub async fn withdraw_ack(&self, key: &FindingKey, now: Timestamp) -> Result<bool, LedgerError> {
        let mut transaction = self.write().await?;
        let ended = self.end_acks(&mut transaction, key, now).await?;
        self.commit(transaction).await?;
        Ok(ended > 0)
    }

    pub(super) async fn heard(&self, connection: &mut SqliteConnection) -> Result<Heard, LedgerError> {
        let alerts = self.read_alerts(connection).await?;
        let rows = sqlx::query(sql::ACKS_OPEN).fetch_all(connection).await.map_err(self.sorted())?;
        let acks = rows.iter().map(|row| self.read_ack(row)).collect::<Result<_, _>>()?;
        Ok(Heard { alerts, acks })
    }

    /// Writes what changed, and forgets what is not among `after`.
    pub(super) async fn put_alerts(
        &self,
        connection: &mut SqliteConnection,
        before: &[Alert],
        after: &[Alert],
    ) -> Result<(), LedgerError> {
        let kept: BTreeSet<FindingKey> = after.iter().map(Alert::key).collect();
        for alert in before.iter().map(Alert::key).filter(|key| !kept.contains(key)) {
            let forget = sqlx::query(sql::ALERT_FORGET).bind(&alert.code).bind(alert.subject.to_string());
            forget.execute(&mut *connection).await.map_err(self.sorted())?;
        }
        for alert in after.iter().filter(|alert| !before.contains(alert)) {
            let put = sqlx::query(sql::ALERT_PUT)
                .bind(&alert.finding.code)
                .bind(alert.finding.subject.to_string())
                .bind(json(&self.file, "alerts", alert)?);
            put.execute(&mut *connection).await.map_err(self.sorted())?;
        }
        Ok(())
    }

    pub(super) async fn end_acks(
        &self,
        connection: &mut SqliteConnection,
        key: &FindingKey,
        now: Timestamp,
    ) -> Result<u64, LedgerError> {
        let end = sqlx::query(sql::ACK_END).bind(&key.code).bind(key.subject.to_string()).bind(ms(now));
        Ok(end.execute(connection).await.map_err(self.sorted())?.rows_affected())
    }

    async fn read_alerts(&self, connection: &mut SqliteConnection) -> Result<Vec<Alert>, LedgerError> {
        let rows = sqlx::query(sql::ALERTS).fetch_all(connection).await.map_err(self.sorted())?;
        rows.iter().map(|row| Reading { file: &self.file, table: "alerts", row }.json("alert")).collect()
    }

    fn reading<'a>(&'a self, row: &'a SqliteRow) -> Reading<'a> {
        Reading { file: &self.file, table: "acks", row }
    }

    fn read_ack(&self, row: &SqliteRow) -> Result<Ack, LedgerError> {
        let read = self.reading(row);
        Ok(Ack {
            key: FindingKey { code: read.get("code")?, subject: read.word("subject")? },
            severity: read.word("severity")?,
            reason: read.get("reason")?,
            author: read.get("author")?,
            made_at: read.at("made_at")?,
            until: read.at("until")?,
        })
    }
}
