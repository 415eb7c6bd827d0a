//! What a provider left for its next look.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::column::{Reading, json, ms};
use super::{Ledger, LedgerError, sql};
use crate::domain::{Memory, ProviderId};

impl Ledger {
    /// What a provider left at its last look.
    pub async fn recall(&self, provider: &ProviderId) -> Result<Option<Memory>, LedgerError> {
        let query = sqlx::query(sql::MEMORY_GET).bind(&provider.0);
        let row = query.fetch_optional(&self.reader).await.map_err(self.sorted())?;
        row.map(|row| Reading { file: &self.file, table: "memory", row: &row }.json("value")).transpose()
    }

    /// Keeps what a provider leaves. [`Ledger::commit_observation`] does it together with the facts.
    pub async fn remember(&self, now: Timestamp, provider: &ProviderId, memory: &Memory) -> Result<(), LedgerError> {
        let mut transaction = self.write().await?;
        self.put_memory(&mut transaction, now, provider, memory).await?;
        self.commit(transaction).await
    }

    pub(super) async fn put_memory(
        &self,
        connection: &mut SqliteConnection,
        now: Timestamp,
        provider: &ProviderId,
        memory: &Memory,
    ) -> Result<(), LedgerError> {
        let text = json(&self.file, "memory", memory)?;
        let put = sqlx::query(sql::MEMORY_PUT).bind(&provider.0).bind(ms(now)).bind(text);
        put.execute(connection).await.map_err(self.sorted())?;
        Ok(())
    }
}
