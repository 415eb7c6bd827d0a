use dalsegno::domain::{RunId, Severity, Verdict};
use sqlx::Connection as _;

use super::drills::evidence;
use super::{at, finding, open, pass, raw, subject};

async fn filled(folder: &std::path::Path) {
    let ledger = open(folder).await;
    let run = pass(&ledger, 0).await;
    ledger.commit_findings(run, at(0), &[finding("wal-gap", &subject("a"), Severity::Critical)], &|_| true).await.unwrap();
    ledger.take_in(&evidence(RunId::new(), "a", Verdict::Failed, 0), "aa", at(1)).await.unwrap();
    ledger.close().await;
}

#[tokio::test]
async fn a_good_ledger_has_no_problems() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let verified = open(folder.path()).await.verify().await.unwrap();
    assert!(verified.whole(), "{verified:?}");
    assert!(verified.checks.len() >= 8);
}

#[tokio::test]
async fn each_broken_rule_is_named() {
    for (sign, statement) in [
        (
            "two open findings",
            "DROP INDEX findings_open; INSERT INTO findings (code, subject, severity, first_seen, last_seen, \
          last_looked, finding) SELECT code, subject, severity, first_seen, last_seen, last_looked, finding FROM findings",
        ),
        ("its text says", "UPDATE findings SET code = 'other'"),
        ("before it was first seen", "UPDATE findings SET last_seen = first_seen - 1"),
        ("ended before it began", "UPDATE runs SET began = ended + 1 WHERE ended IS NOT NULL"),
        ("its evidence says", "UPDATE drills SET verdict = 'proven'"),
        ("has drill evidence and is a pass", "UPDATE runs SET kind = 'pass'"),
        ("points to a row of runs", "PRAGMA foreign_keys = OFF; DELETE FROM runs WHERE kind = 'drill'"),
        ("cannot be read", "UPDATE findings SET finding = json_remove(finding, '$.remedy')"),
        ("cannot be read", "UPDATE drills SET evidence = json_remove(evidence, '$.rpo')"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path()).await;
        let mut connection = raw(folder.path()).await;
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        let verified = open(folder.path()).await.verify().await.unwrap();
        assert!(verified.problems.iter().any(|line| line.contains(sign)), "{sign}: {:?}", verified.problems);
    }
}

#[tokio::test]
async fn export_writes_every_row_as_a_json_line() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let ledger = open(folder.path()).await;
    let mut written = Vec::new();
    let lines = ledger.export(&mut written).await.unwrap();
    let parsed: Vec<serde_json::Value> =
        String::from_utf8(written).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(parsed.len() as u64, lines);
    let of = |table: &str| parsed.iter().filter(|row| row["table"] == table).count();
    assert_eq!((of("runs"), of("findings"), of("run_findings"), of("drills")), (2, 1, 1, 1));
    assert!(parsed.iter().any(|row| row["finding"]["code"] == "wal-gap"));
    assert!(parsed.iter().any(|row| row["evidence"]["verdict"] == "failed"));
}

#[tokio::test]
async fn an_export_that_cannot_be_written_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    assert!(open(folder.path()).await.export(&mut Full).await.is_err());
}
