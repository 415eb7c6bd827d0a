//! Numbers with a time: raw for 14 days, by the hour for 13 months.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::SqliteConnection;

use super::column::{Reading, ms};
use super::tidy::{HOUR_MS, RAW_DAYS, ROLLED_UNTIL, days_before};
use super::{Ledger, LedgerError, sql};
use crate::domain::{RunId, Sample, Subject};

/// One hour of one metric of one subject.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HourOfSamples {
    /// Start of the hour.
    pub hour: Timestamp,
    /// Samples in it.
    pub count: i64,
    /// Smallest.
    pub minimum: f64,
    /// Largest.
    pub maximum: f64,
    /// Arithmetic mean.
    pub mean: f64,
}

impl Ledger {
    /// Keeps samples of a run: at most one per subject and metric, the last one given. Answers how many were kept; a value that is
    /// not a number, and one older than the raw samples that are kept, is left out.
    pub async fn commit_samples(&self, run: RunId, now: Timestamp, samples: &[Sample]) -> Result<usize, LedgerError> {
        let mut transaction = self.write().await?;
        let number = self.number(&mut transaction, run).await?;
        let kept = self.put_samples(&mut transaction, number, now, samples.iter()).await?;
        self.commit(transaction).await?;
        Ok(kept)
    }

    pub(super) async fn put_samples(
        &self,
        connection: &mut SqliteConnection,
        run: i64,
        now: Timestamp,
        samples: impl Iterator<Item = &Sample>,
    ) -> Result<usize, LedgerError> {
        let oldest = days_before(now, RAW_DAYS);
        let mut kept = 0;
        let mut earliest = i64::MAX;
        for sample in samples {
            let at = ms(sample.at);
            if !sample.value.is_finite() || at < oldest {
                tracing::warn!(subject = %sample.subject, metric = sample.metric, value = sample.value, at = %sample.at, "sample left out");
                continue;
            }
            sqlx::query(sql::SAMPLE_PUT)
                .bind(sample.subject.to_string())
                .bind(&sample.metric)
                .bind(run)
                .bind(at)
                .bind(sample.value)
                .execute(&mut *connection)
                .await
                .map_err(self.sorted())?;
            earliest = earliest.min(at);
            kept += 1;
        }
        if kept > 0 {
            // A late sample: its hour is rolled up again.
            let hour = earliest - earliest.rem_euclid(HOUR_MS);
            sqlx::query(sql::MARK_LOWER).bind(ROLLED_UNTIL).bind(hour).execute(connection).await.map_err(self.sorted())?;
        }
        Ok(kept)
    }

    /// Raw samples of a metric from `from` until before `until`, oldest first.
    pub async fn samples(
        &self,
        subject: &Subject,
        metric: &str,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<(Timestamp, f64)>, LedgerError> {
        let rows = sqlx::query(sql::SAMPLES_RAW)
            .bind(subject.to_string())
            .bind(metric)
            .bind(ms(from))
            .bind(ms(until))
            .fetch_all(&self.reader)
            .await
            .map_err(self.sorted())?;
        rows.iter()
            .map(|row| {
                let read = Reading { file: &self.file, table: "samples", row };
                Ok((read.at("at")?, read.get("value")?))
            })
            .collect()
    }

    /// The newest sample of each subject and metric that is not older than `from`.
    pub async fn latest_samples(&self, from: Timestamp) -> Result<Vec<Sample>, LedgerError> {
        let rows = sqlx::query(sql::SAMPLES_LATEST).bind(ms(from)).fetch_all(&self.reader).await.map_err(self.sorted())?;
        rows.iter()
            .map(|row| {
                let read = Reading { file: &self.file, table: "samples", row };
                let (subject, metric) = (read.word("subject")?, read.get("metric")?);
                Ok(Sample { subject, metric, value: read.get("value")?, at: read.at("at")? })
            })
            .collect()
    }

    /// Hours of a metric from `from` until before `until`, oldest first. The hour that goes on is not among them.
    pub async fn hours(
        &self,
        subject: &Subject,
        metric: &str,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<HourOfSamples>, LedgerError> {
        let rows = sqlx::query(sql::SAMPLES_HOURLY)
            .bind(subject.to_string())
            .bind(metric)
            .bind(ms(from))
            .bind(ms(until))
            .fetch_all(&self.reader)
            .await
            .map_err(self.sorted())?;
        rows.iter()
            .map(|row| {
                let read = Reading { file: &self.file, table: "samples_hourly", row };
                Ok(HourOfSamples {
                    hour: read.at("hour")?,
                    count: read.get("count")?,
                    minimum: read.get("minimum")?,
                    maximum: read.get("maximum")?,
                    mean: read.get("mean")?,
                })
            })
            .collect()
    }
}
