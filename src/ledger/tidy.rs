//! Rolling samples up by the hour, and letting old rows go.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::column::ms;
use super::{Ledger, LedgerError, sql};

/// Raw samples, and "still" lines of runs, are kept this many days.
pub const RAW_DAYS: i64 = 14;
/// Hours, finished passes and cleared findings are kept this many days: 13 months.
pub const HOURLY_DAYS: i64 = 396;
/// Delivered messages are kept this many days; given-up ones as long as findings.
const OUTBOX_DAYS: i64 = 30;
/// Raw samples are capped: beyond so many the oldest go first, after they were rolled up.
const RAW_ROWS: i64 = 2_000_000;

pub(super) const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// The mark up to which hours are rolled up.
pub(super) const ROLLED_UNTIL: &str = "rolled-until";

/// The start of the hour that lies so many days before `now`. Whole hours go, so that an hour is never rolled up from a part of it.
pub(super) fn days_before(now: Timestamp, days: i64) -> i64 {
    let at = ms(now) - days * DAY_MS;
    at - at.rem_euclid(HOUR_MS)
}

impl Ledger {
    /// Rolls finished hours up and lets old rows go. Does its work once an hour, and nothing in between; twice is once.
    pub async fn tidy(&self, now: Timestamp) -> Result<(), LedgerError> {
        let hour = ms(now) - ms(now).rem_euclid(HOUR_MS);
        let mark = sqlx::query_scalar::<_, i64>(sql::MARK_GET).bind(ROLLED_UNTIL);
        let rolled = mark.fetch_optional(&self.reader).await.map_err(self.sorted())?.unwrap_or(0);
        if rolled >= hour {
            return Ok(());
        }
        let mut transaction = self.write().await?;
        sqlx::query(sql::SAMPLES_ROLL).bind(rolled).bind(hour).execute(&mut *transaction).await.map_err(self.sorted())?;
        sqlx::query(sql::MARK_SET).bind(ROLLED_UNTIL).bind(hour).execute(&mut *transaction).await.map_err(self.sorted())?;
        self.cap(&mut transaction, hour).await?;
        let (raw, long) = (days_before(now, RAW_DAYS), days_before(now, HOURLY_DAYS));
        for (statement, before) in [
            (sql::SAMPLES_PRUNE, raw),
            (sql::RUN_FINDINGS_PRUNE, raw),
            (sql::OUTBOX_PRUNE, days_before(now, OUTBOX_DAYS)),
            (sql::OUTBOX_PRUNE_GIVEN_UP, long),
            (sql::SAMPLES_HOURLY_PRUNE, long),
            (sql::FINDINGS_PRUNE, long),
            (sql::ACKS_PRUNE, long),
            (sql::POINTS_PRUNE, long),
            (sql::BUDGETS_PRUNE, long),
            (sql::RUNS_PRUNE, long),
        ] {
            sqlx::query(statement).bind(before).execute(&mut *transaction).await.map_err(self.sorted())?;
        }
        self.commit(transaction).await
    }

    async fn cap(&self, connection: &mut SqliteConnection, hour: i64) -> Result<(), LedgerError> {
        let rows: i64 = sqlx::query_scalar(sql::SAMPLES_COUNT).fetch_one(&mut *connection).await.map_err(self.sorted())?;
        if rows <= RAW_ROWS {
            return Ok(());
        }
        let cut: i64 =
            sqlx::query_scalar(sql::SAMPLES_CUT_AT).bind(RAW_ROWS).fetch_one(&mut *connection).await.map_err(self.sorted())?;
        // The hour of the cut goes as a whole, and the hour that goes on stays.
        let before = (cut - cut.rem_euclid(HOUR_MS) + HOUR_MS).min(hour);
        tracing::warn!(rows, "more raw samples than are kept; the oldest go, their hours stay");
        sqlx::query(sql::SAMPLES_PRUNE).bind(before).execute(connection).await.map_err(self.sorted())?;
        Ok(())
    }
}
