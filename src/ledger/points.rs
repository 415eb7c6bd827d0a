//! Recovery points with their place.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::SqliteConnection;

use super::column::{Reading, int, json, ms, word};
use super::{Ledger, LedgerError, sql};
use crate::domain::{Place, RecoveryPoint, Subject};

/// A recovery point that was there when its place was last looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KnownPoint {
    /// The point.
    pub point: RecoveryPoint,
    /// When it was first seen.
    pub first_seen: Timestamp,
    /// When it was last seen.
    pub last_seen: Timestamp,
}

impl Ledger {
    /// Keeps recovery points. Those of a looked-at place that are not among them are gone; those of other places stay.
    pub async fn commit_points(
        &self,
        now: Timestamp,
        points: &[RecoveryPoint],
        looked: &[(Subject, Place)],
    ) -> Result<(), LedgerError> {
        let mut transaction = self.write().await?;
        self.put_points(&mut transaction, now, points.iter(), looked).await?;
        self.commit(transaction).await
    }

    pub(super) async fn put_points(
        &self,
        connection: &mut SqliteConnection,
        now: Timestamp,
        points: impl Iterator<Item = &RecoveryPoint>,
        looked: &[(Subject, Place)],
    ) -> Result<(), LedgerError> {
        for point in points {
            sqlx::query(sql::POINT_PUT)
                .bind(point.subject.to_string())
                .bind(json(&self.file, "recovery_points", &point.place)?)
                .bind(word(&self.file, "recovery_points", &point.mechanism)?)
                .bind(&point.name)
                .bind(ms(point.from))
                .bind(point.covered_until.map(ms))
                .bind(int(point.stored_bytes))
                .bind(ms(now))
                .execute(&mut *connection)
                .await
                .map_err(self.sorted())?;
        }
        for (subject, place) in looked {
            sqlx::query(sql::POINTS_GONE)
                .bind(subject.to_string())
                .bind(json(&self.file, "recovery_points", place)?)
                .bind(ms(now))
                .execute(&mut *connection)
                .await
                .map_err(self.sorted())?;
        }
        Ok(())
    }

    /// Recovery points that are there, by subject, oldest first.
    pub async fn points(&self) -> Result<Vec<KnownPoint>, LedgerError> {
        let rows = sqlx::query(sql::POINTS).fetch_all(&self.reader).await.map_err(self.sorted())?;
        rows.iter()
            .map(|row| {
                let read = Reading { file: &self.file, table: "recovery_points", row };
                let point = RecoveryPoint {
                    subject: read.word("subject")?,
                    place: read.json("place")?,
                    mechanism: read.word("mechanism")?,
                    name: read.get("name")?,
                    from: read.at("possible_from")?,
                    covered_until: read.at_opt("covered_until")?,
                    stored_bytes: read.count("stored_bytes")?,
                };
                Ok(KnownPoint { point, first_seen: read.at("first_seen")?, last_seen: read.at("last_seen")? })
            })
            .collect()
    }
}
