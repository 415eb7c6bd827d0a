//! Requests made of each store: by run, and by day for the budget.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::column::{Reading, int, ms};
use super::tidy::HOUR_MS;
use super::{Ledger, LedgerError, sql};
use crate::domain::{Requests, RunId, StoreId};

/// Midnight UTC of the day of a moment. Budgets are counted by UTC day, as the stores bill.
fn day(at: Timestamp) -> i64 {
    ms(at) - ms(at).rem_euclid(24 * HOUR_MS)
}

impl Ledger {
    /// Adds requests to a run and to the store's day.
    pub async fn commit_requests(&self, run: RunId, now: Timestamp, store: &StoreId, made: Requests) -> Result<(), LedgerError> {
        let mut transaction = self.write().await?;
        let number = self.number(&mut transaction, run).await?;
        self.add_requests(&mut transaction, number, now, store, made).await?;
        self.commit(transaction).await
    }

    pub(super) async fn add_requests(
        &self,
        connection: &mut SqliteConnection,
        run: i64,
        now: Timestamp,
        store: &StoreId,
        made: Requests,
    ) -> Result<(), LedgerError> {
        sqlx::query(sql::REQUESTS_ADD)
            .bind(run)
            .bind(&store.0)
            .bind(int(made.class_a))
            .bind(int(made.class_b))
            .bind(int(made.free))
            .bind(int(made.bytes_in))
            .bind(int(made.bytes_out))
            .execute(&mut *connection)
            .await
            .map_err(self.sorted())?;
        sqlx::query(sql::BUDGET_ADD)
            .bind(&store.0)
            .bind(day(now))
            .bind(int(made.class_a))
            .bind(int(made.class_b))
            .bind(int(made.free))
            .execute(connection)
            .await
            .map_err(self.sorted())?;
        Ok(())
    }

    /// Requests made of a store on the UTC day of `now`, by all runs. Bytes are not counted by day.
    pub async fn requests_today(&self, store: &StoreId, now: Timestamp) -> Result<Requests, LedgerError> {
        let query = sqlx::query(sql::BUDGET_OF).bind(&store.0).bind(day(now));
        let Some(row) = query.fetch_optional(&self.reader).await.map_err(self.sorted())? else {
            return Ok(Requests::default());
        };
        let read = Reading { file: &self.file, table: "budgets", row: &row };
        Ok(Requests {
            class_a: read.count("class_a")?,
            class_b: read.count("class_b")?,
            free: read.count("free")?,
            ..Requests::default()
        })
    }
}
