//! `ledger export`: every table as JSON lines, one object a row, with its table's name. Times are epoch milliseconds, as stored.

use std::io::Write;

use futures::TryStreamExt as _;

use super::{Ledger, LedgerError, sql};

const TABLES: &[&str] = &[
    sql::EXPORT_RUNS,
    sql::EXPORT_REQUESTS,
    sql::EXPORT_BUDGETS,
    sql::EXPORT_SAMPLES,
    sql::EXPORT_HOURLY,
    sql::EXPORT_FINDINGS,
    sql::EXPORT_RUN_FINDINGS,
    sql::EXPORT_POINTS,
    sql::EXPORT_DRILLS,
    sql::EXPORT_OUTBOX,
    sql::EXPORT_ALERTS,
    sql::EXPORT_ACKS,
];

impl Ledger {
    /// Writes all rows, as of one moment; answers how many. Bodies of messages and memories of providers are left out.
    pub async fn export(&self, to: &mut (dyn Write + Send)) -> Result<u64, LedgerError> {
        let mut reading = self.reader.begin().await.map_err(self.sorted())?;
        let mut lines = 0;
        for statement in TABLES {
            let mut rows = sqlx::query_scalar::<_, String>(*statement).fetch(&mut *reading);
            while let Some(line) = rows.try_next().await.map_err(self.sorted())? {
                writeln!(to, "{line}").map_err(LedgerError::Write)?;
                lines += 1;
            }
        }
        to.flush().map_err(LedgerError::Write)?;
        Ok(lines)
    }
}
