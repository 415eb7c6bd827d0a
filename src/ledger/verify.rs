//! `ledger verify`: SQLite's own checks and ours.

use serde::Serialize;
use sqlx::Row as _;

use super::{Ledger, LedgerError, sql};
use crate::domain::{Evidence, Finding};

/// What the checks said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// What is wrong, one thing a line; empty = nothing.
    pub problems: Vec<String>,
    /// Checks that were made.
    pub checks: Vec<&'static str>,
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn whole(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Rules of ours: name, and a statement that answers one row per broken case.
const RULES: &[(&str, &str)] = &[
    ("no two open findings of one key", sql::VERIFY_TWO_OPEN),
    ("findings say what their columns say", sql::VERIFY_FINDING_KEY),
    ("findings are first seen before they are last seen", sql::VERIFY_FINDING_ORDER),
    ("runs end after they began", sql::VERIFY_RUN_ORDER),
    ("drills say what their evidence says", sql::VERIFY_DRILL),
    ("only drills have evidence", sql::VERIFY_DRILL_KIND),
    ("alerts say what their columns say", sql::VERIFY_ALERT_KEY),
];

impl Ledger {
    /// Checks the whole file: every page and index, every reference, and that every row can be read as what it was written from.
    pub async fn verify(&self) -> Result<Verified, LedgerError> {
        let mut verified = Verified::default();
        verified.checks.push("pages and indexes");
        let said: Vec<String> = sqlx::query_scalar(sql::INTEGRITY_CHECK).fetch_all(&self.reader).await.map_err(self.sorted())?;
        verified.problems.extend(said.into_iter().filter(|line| line != "ok"));
        verified.checks.push("references");
        let orphans = sqlx::query(sql::FOREIGN_KEY_CHECK).fetch_all(&self.reader).await.map_err(self.sorted())?;
        for row in orphans {
            let child: String = row.try_get("child").map_err(self.sorted())?;
            let parent: String = row.try_get("parent").map_err(self.sorted())?;
            verified.problems.push(format!("a row of {child} points to a row of {parent} that is not there"));
        }
        for (name, statement) in RULES {
            verified.checks.push(name);
            let broken: Vec<String> = sqlx::query_scalar(*statement).fetch_all(&self.reader).await.map_err(self.sorted())?;
            verified.problems.extend(broken);
        }
        self.verify_texts(&mut verified).await?;
        Ok(verified)
    }

    async fn verify_texts(&self, verified: &mut Verified) -> Result<(), LedgerError> {
        verified.checks.push("findings and evidence can be read");
        let texts = sqlx::query(sql::TEXTS_FINDINGS).fetch_all(&self.reader).await.map_err(self.sorted())?;
        for row in texts {
            let (id, text): (i64, String) =
                (row.try_get("id").map_err(self.sorted())?, row.try_get("text").map_err(self.sorted())?);
            if let Err(error) = serde_json::from_str::<Finding>(&text) {
                verified.problems.push(format!("finding {id} cannot be read: {error}"));
            }
        }
        let texts = sqlx::query(sql::TEXTS_EVIDENCE).fetch_all(&self.reader).await.map_err(self.sorted())?;
        for row in texts {
            let (id, text): (i64, String) =
                (row.try_get("id").map_err(self.sorted())?, row.try_get("text").map_err(self.sorted())?);
            if let Err(error) = serde_json::from_str::<Evidence>(&text) {
                verified.problems.push(format!("evidence of run {id} cannot be read: {error}"));
            }
        }
        Ok(())
    }
}
