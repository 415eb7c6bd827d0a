//! Messages on their way. Each is delivered at least once, with the same key at every attempt, across restarts.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use sqlx::SqliteConnection;

use super::column::{Reading, ms};
use super::{Ledger, LedgerError, sql};
use crate::domain::{Message, RunId};

/// A message that is to be sent now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Its row.
    pub id: i64,
    /// The message.
    pub message: Message,
    /// When it was made.
    pub made_at: Timestamp,
    /// Attempts, this one included.
    pub attempts: i64,
}

/// What waits for a channel after at least one attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The channel.
    pub channel: String,
    /// Messages that wait.
    pub messages: i64,
    /// Since when it has taken nothing: the oldest message that it did not take.
    pub oldest: Timestamp,
    /// Attempts made of the most tried one.
    pub attempts: i64,
    /// What the last attempt ended with.
    pub last_error: Option<String>,
}

/// A channel whose last word is that a message was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Undelivered {
    /// The channel.
    pub channel: String,
    /// When it was given up.
    pub at: Timestamp,
    /// Why.
    pub why: String,
}

/// What is kept of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelKept {
    /// The channel.
    pub channel: String,
    /// When it last took a message.
    pub delivered: Option<Timestamp>,
    /// Messages that wait for it.
    pub waiting: i64,
}

impl Ledger {
    /// Every channel that the outbox knows.
    pub async fn channels(&self) -> Result<Vec<ChannelKept>, LedgerError> {
        let rows = sqlx::query(sql::OUTBOX_CHANNELS).fetch_all(&self.reader).await.map_err(self.sorted())?;
        rows.iter()
            .map(|row| {
                let read = Reading { file: &self.file, table: "outbox", row };
                Ok(ChannelKept { channel: read.get("channel")?, delivered: read.at_opt("delivered")?, waiting: read.get("n")? })
            })
            .collect()
    }

    /// Puts messages into the outbox; one whose key is known is not put twice. Answers how many were new.
    pub async fn queue(&self, run: RunId, now: Timestamp, messages: &[Message]) -> Result<usize, LedgerError> {
        let mut transaction = self.write().await?;
        let number = self.number(&mut transaction, run).await?;
        let mut queued = 0;
        for message in messages {
            queued += self.put_message(&mut transaction, number, now, message).await?;
        }
        self.commit(transaction).await?;
        Ok(queued)
    }

    pub(super) async fn put_message(
        &self,
        connection: &mut SqliteConnection,
        run: i64,
        now: Timestamp,
        message: &Message,
    ) -> Result<usize, LedgerError> {
        if message.replaces {
            self.supersede(&mut *connection, now, message).await?;
        }
        let put = sqlx::query(sql::OUTBOX_PUT)
            .bind(&message.key)
            .bind(&message.channel)
            .bind(run)
            .bind(&message.body)
            .bind(ms(now))
            .execute(connection)
            .await
            .map_err(self.sorted())?;
        Ok(usize::from(put.rows_affected() > 0))
    }

    async fn supersede(&self, connection: &mut SqliteConnection, now: Timestamp, by: &Message) -> Result<(), LedgerError> {
        let update = sqlx::query(sql::OUTBOX_SUPERSEDE).bind(&by.channel).bind(&by.key).bind(ms(now));
        update.execute(connection).await.map_err(self.sorted())?;
        Ok(())
    }

    /// Takes messages that are due, oldest first; of a channel none goes before one that still waits. They are ours until `now` + `lease`: another process does not send them meanwhile, and
    /// when we die before telling how it went, they are due again.
    pub async fn claim(&self, now: Timestamp, lease: SignedDuration, limit: u32) -> Result<Vec<Queued>, LedgerError> {
        let until = now.saturating_add(lease).unwrap_or(Timestamp::MAX);
        let mut transaction = self.write().await?;
        let rows = sqlx::query(sql::OUTBOX_CLAIM)
            .bind(ms(now))
            .bind(ms(until))
            .bind(limit)
            .fetch_all(&mut *transaction)
            .await
            .map_err(self.sorted())?;
        self.commit(transaction).await?;
        let mut queued = rows
            .iter()
            .map(|row| {
                let read = Reading { file: &self.file, table: "outbox", row };
                let message =
                    Message { channel: read.get("channel")?, key: read.get("key")?, body: read.get("body")?, replaces: false };
                Ok(Queued { id: read.get("id")?, message, made_at: read.at("made_at")?, attempts: read.get("attempts")? })
            })
            .collect::<Result<Vec<_>, LedgerError>>()?;
        queued.sort_by_key(|queued| queued.id);
        Ok(queued)
    }

    /// It was delivered.
    pub async fn delivered(&self, id: i64, now: Timestamp) -> Result<(), LedgerError> {
        let mut transaction = self.write().await?;
        let update = sqlx::query(sql::OUTBOX_DELIVERED).bind(id).bind(ms(now));
        update.execute(&mut *transaction).await.map_err(self.sorted())?;
        self.commit(transaction).await
    }

    /// It was not, and is tried again at `next_at`. `why` must carry no secret.
    pub async fn later(&self, id: i64, next_at: Timestamp, why: &str) -> Result<(), LedgerError> {
        let mut transaction = self.write().await?;
        let update = sqlx::query(sql::OUTBOX_LATER).bind(id).bind(ms(next_at)).bind(why);
        update.execute(&mut *transaction).await.map_err(self.sorted())?;
        self.commit(transaction).await
    }

    /// It was not tried, because an older one of its channel was not taken: it stands behind that one until `next_at`.
    pub async fn back(&self, id: i64, next_at: Timestamp) -> Result<(), LedgerError> {
        let mut transaction = self.write().await?;
        let update = sqlx::query(sql::OUTBOX_BACK).bind(id).bind(ms(next_at));
        update.execute(&mut *transaction).await.map_err(self.sorted())?;
        self.commit(transaction).await
    }

    /// It was not, and never will be.
    pub async fn given_up(&self, id: i64, now: Timestamp, why: &str) -> Result<(), LedgerError> {
        let mut transaction = self.write().await?;
        let update = sqlx::query(sql::OUTBOX_GIVEN_UP).bind(id).bind(ms(now)).bind(why);
        update.execute(&mut *transaction).await.map_err(self.sorted())?;
        self.commit(transaction).await
    }

    /// Channels with messages that wait after a failed attempt.
    pub async fn waiting(&self) -> Result<Vec<Waiting>, LedgerError> {
        let rows = sqlx::query(sql::OUTBOX_FAILING).fetch_all(&self.reader).await.map_err(self.sorted())?;
        rows.iter()
            .map(|row| {
                let read = Reading { file: &self.file, table: "outbox", row };
                Ok(Waiting {
                    channel: read.get("channel")?,
                    messages: read.get("n")?,
                    oldest: read.at("oldest")?,
                    attempts: read.get("attempts")?,
                    last_error: read.get("last_error")?,
                })
            })
            .collect()
    }

    /// Channels that gave a message up and delivered none since. Each is a finding, until a message comes through.
    pub async fn undelivered(&self) -> Result<Vec<Undelivered>, LedgerError> {
        let rows = sqlx::query(sql::OUTBOX_UNDELIVERED).fetch_all(&self.reader).await.map_err(self.sorted())?;
        rows.iter()
            .map(|row| {
                let read = Reading { file: &self.file, table: "outbox", row };
                Ok(Undelivered { channel: read.get("channel")?, at: read.at("gave_up_at")?, why: read.get("why")? })
            })
            .collect()
    }
}
