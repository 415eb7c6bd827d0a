use sqlx::Connection as _;

use super::{open, raw};

#[tokio::test]
async fn every_statement_runs_against_a_migrated_database() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).await.close().await;
    let mut connection = raw(folder.path()).await;
    let statements = dalsegno::ledger::statements();
    assert!(statements.len() > 50);
    for (name, text) in statements {
        let explain = sqlx::AssertSqlSafe(format!("EXPLAIN {text}"));
        if let Err(error) = sqlx::query(explain).fetch_all(&mut connection).await {
            panic!("{name}: {error}\n{text}");
        }
    }
    connection.close().await.unwrap();
}

/// `EXPLAIN` proves the list, so nothing may run a statement that is not in it.
#[test]
fn no_statement_is_written_outside_of_the_list() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ledger");
    for entry in walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap) {
        if entry.path().extension().is_none_or(|ending| ending != "rs") || entry.file_name() == "sql.rs" {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).unwrap();
        for (number, line) in text.lines().enumerate() {
            let written = ["query(\"", "query_scalar(\"", "raw_sql(", "AssertSqlSafe", "query(&format", "query(format"];
            assert!(!written.iter().any(|sign| line.contains(sign)), "{}:{}: {line}", entry.path().display(), number + 1);
        }
    }
}
