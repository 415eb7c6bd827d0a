//! What is done inside a cluster: data written, WAL made, the archiver waited for.

use std::time::{Duration, Instant};

use super::Postgres;
use crate::LabError;

impl Postgres {
    /// Runs statements (several, separated by semicolons), no result.
    pub async fn sql(&self, text: &str) -> Result<(), LabError> {
        sqlx::raw_sql(sqlx::AssertSqlSafe(text.to_owned())).execute(self.pool()).await?;
        Ok(())
    }

    /// Runs statements and then switches WAL on the same session, so that what the statements change for new sessions has no say.
    /// Gives the name of the segment that is complete then.
    pub async fn sql_and_switch(&self, text: &str) -> Result<String, LabError> {
        let mut session = self.pool().acquire().await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(text.to_owned())).execute(&mut *session).await?;
        Ok(sqlx::query_scalar::<_, String>("select pg_walfile_name(pg_switch_wal())").fetch_one(&mut *session).await?)
    }

    /// The one text value that a query gives (cast it to text in the query).
    pub async fn value(&self, query: &str) -> Result<String, LabError> {
        Ok(sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(query.to_owned())).fetch_one(self.pool()).await?)
    }

    /// Adds rows to table `accounts` (made when absent), about 150 bytes each, half of them text
    /// that does not compress away, and gives the number of rows in it now.
    pub async fn write_accounts(&self, rows: u64) -> Result<u64, LabError> {
        self.sql(
            "create table if not exists accounts (id bigserial primary key, balance bigint not null default 0, filler text not null, at timestamptz not null default now())",
        )
        .await?;
        self.sql(&format!(
            "insert into accounts (balance, filler) select g, case when g % 2 = 0 then md5(g::text) || md5((g + 1)::text) else repeat('x', 64) end from generate_series(1, {rows}) g"
        ))
        .await?;
        let count = self.value("select count(*)::text from accounts").await?;
        count.parse().map_err(|_| LabError::Other(format!("a count that is no number: {count}")))
    }

    /// Writes WAL for about this many segments, and leaves the current one unfinished. Each segment
    /// holds committed rows in `ticks`, so that replay can be seen row by row.
    pub async fn write_segments(&self, segments: u32) -> Result<(), LabError> {
        self.sql("create table if not exists ticks (n bigserial primary key, at timestamptz not null default clock_timestamp())")
            .await?;
        for _ in 0..segments {
            // A logical message fills a segment without growing the data directory; the switch ends it.
            self.sql("insert into ticks default values; select pg_logical_emit_message(false, 'lab', repeat('w', 400000)); select pg_switch_wal()").await?;
        }
        self.sql("insert into ticks default values").await
    }

    /// Updates `accounts` at random places until about this many whole segments of real changes
    /// (heap, index and full-page records) have been written, as a busy database does.
    pub async fn churn(&self, segments: u64) -> Result<(), LabError> {
        let start = self.value("select pg_current_wal_lsn()::text").await?;
        let want = segments * self.segment_bytes;
        loop {
            let written = self.value(&format!("select floor(pg_current_wal_lsn() - '{start}'::pg_lsn)::text")).await?;
            if written.parse::<u64>().unwrap_or(0) >= want {
                return Ok(());
            }
            self.sql(
                "update accounts set balance = balance + 1, at = clock_timestamp() where id in (select (random() * (select max(id) from accounts))::bigint from generate_series(1, 5000))",
            )
            .await?;
        }
    }

    /// The name of the segment that is written now.
    pub async fn current_segment(&self) -> Result<String, LabError> {
        self.value("select pg_walfile_name(pg_current_wal_lsn())").await
    }

    /// Ends the current segment and waits until the archiver has delivered it; gives its name.
    pub async fn switch_and_wait_archived(&self) -> Result<String, LabError> {
        self.sql("create table if not exists ticks (n bigserial primary key, at timestamptz not null default clock_timestamp()); insert into ticks default values").await?;
        let segment = self.current_segment().await?;
        self.sql("select pg_switch_wal()").await?;
        self.wait_archived(&segment).await?;
        Ok(segment)
    }

    /// Waits until the archiver has delivered this segment or a later one.
    pub async fn wait_archived(&self, segment: &str) -> Result<(), LabError> {
        let mut until = Instant::now() + Duration::from_mins(3);
        let mut known = String::new();
        while Instant::now() < until {
            let last = self.value("select coalesce((select last_archived_wal from pg_stat_archiver), '')").await?;
            // Names of history files and labels sort among the segments' only by their first 24 digits.
            if last.get(..24).is_some_and(|name| name >= segment) {
                return Ok(());
            }
            // A long backlog takes its time; only an archiver that stands still is given up.
            if last != known {
                until = Instant::now() + Duration::from_mins(3);
                known = last;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let failed = self.value("select coalesce((select last_failed_wal from pg_stat_archiver), 'none')").await?;
        Err(LabError::NotReady {
            server: format!("the archiver ({segment} is not archived; last failure: {failed})"),
            seconds: 180,
            log: self.log_end(),
        })
    }

    /// The system identifier.
    pub async fn system_id(&self) -> Result<String, LabError> {
        self.value("select system_identifier::text from pg_control_system()").await
    }

    /// The server's clock now, in UTC, as `2026-11-30T19:34:42.015Z` (a target time for a restore).
    pub async fn now(&self) -> Result<String, LabError> {
        self.value("select to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')").await
    }
}
