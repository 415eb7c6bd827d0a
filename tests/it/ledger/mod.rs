//! The ledger: what was committed stays, what is damaged is refused.

mod alerts;
mod drills;
mod findings;
mod full;
mod kill;
mod metrics;
mod model;
mod opening;
mod outbox;
mod runs;
mod samples;
mod shown;
mod statements;
mod two_processes;
mod verify;

use std::path::Path;

use dalsegno::domain::{ArchivePlace, Finding, Place, Prefix, RunId, Severity, StoreId, Subject, SubjectKind};
use dalsegno::ledger::{Ledger, LedgerError, RunKind};
use dalsegno::process::Process;
use jiff::Timestamp;

/// 2026-09-30T12:00:00Z plus so many seconds.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_790_769_600 + seconds).unwrap()
}

pub(crate) fn me() -> Process {
    Process::this().unwrap()
}

pub(crate) async fn open(folder: &Path) -> Ledger {
    try_open(folder).await.unwrap()
}

pub(crate) async fn try_open(folder: &Path) -> Result<Ledger, LedgerError> {
    Ledger::open(folder, at(0), me()).await
}

pub(crate) async fn pass(ledger: &Ledger, seconds: i64) -> RunId {
    let run = RunId::new();
    ledger.begin(run, RunKind::Pass, at(seconds)).await.unwrap();
    run
}

pub(crate) fn subject(name: &str) -> Subject {
    Subject::new(SubjectKind::Pg, &["home", "prod", name])
}

pub(crate) fn place() -> Place {
    place_in("dr")
}

pub(crate) fn place_in(bucket: &str) -> Place {
    let (store, prefix) = (StoreId("minio".into()), Prefix::new("cnpg"));
    ArchivePlace { store, bucket: bucket.into(), prefix, server: "keycloak-db".into() }.into()
}

pub(crate) fn finding(code: &str, subject: &Subject, severity: Severity) -> Finding {
    Finding {
        code: code.into(),
        severity,
        subject: subject.clone(),
        summary: format!("{code} was seen"),
        evidence: vec!["a fact".into()],
        cause: "something broke".into(),
        remedy: "mend it".into(),
        could_not_look: false,
    }
}

/// The database file, opened by hand.
pub(crate) async fn raw(folder: &Path) -> sqlx::SqliteConnection {
    use sqlx::ConnectOptions as _;
    sqlx::sqlite::SqliteConnectOptions::new().filename(folder.join("ledger.sqlite")).connect().await.unwrap()
}
