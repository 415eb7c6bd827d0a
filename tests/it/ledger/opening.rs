use std::os::unix::fs::PermissionsExt as _;

use dalsegno::domain::{ExitCode, Explained as _};
use dalsegno::ledger::{HistoryFilter, LedgerError, remote_file_system};
use nix::sys::statfs::{FUSE_SUPER_MAGIC, FsType, NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, TMPFS_MAGIC};
use sqlx::Connection as _;

use super::{open, pass, raw, try_open};

#[tokio::test]
async fn the_folder_is_made_for_its_owner_only() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("deep/state");
    open(&folder).await.close().await;
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn what_was_committed_is_there_after_opening_again() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    ledger.close().await;
    let again = open(folder.path()).await;
    assert_eq!(again.history(&HistoryFilter::default()).await.unwrap()[0].id, run);
}

#[test]
fn remote_file_systems_are_told_from_local_ones() {
    assert_eq!(remote_file_system(NFS_SUPER_MAGIC), Some("NFS"));
    assert_eq!(remote_file_system(SMB_SUPER_MAGIC), Some("CIFS"));
    assert_eq!(remote_file_system(FsType(0xFF53_4D42)), Some("CIFS"));
    assert_eq!(remote_file_system(FsType(0xFE53_4D42)), Some("CIFS"));
    assert_eq!(remote_file_system(FUSE_SUPER_MAGIC), Some("FUSE"));
    assert_eq!(remote_file_system(TMPFS_MAGIC), None);
    assert_eq!(remote_file_system(FsType(0xEF53)), None, "ext4");
}

#[tokio::test]
async fn a_saved_database_of_schema_1_is_migrated_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = {
        use sqlx::ConnectOptions as _;
        let file = folder.path().join("ledger.sqlite");
        sqlx::sqlite::SqliteConnectOptions::new().filename(file).create_if_missing(true).connect().await.unwrap()
    };
    sqlx::raw_sql(include_str!("saved/schema-1.sql")).execute(&mut made).await.unwrap();
    made.close().await.unwrap();
    let ledger = open(folder.path()).await;
    let verified = ledger.verify().await.unwrap();
    assert_eq!(verified.problems, Vec::<String>::new());
    let history = ledger.history(&HistoryFilter::default()).await.unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(ledger.open_findings().await.unwrap().len(), 1);
    assert_eq!(ledger.last_drills().await.unwrap().len(), 1);
    assert_eq!(ledger.points().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_newer_schema_is_refused_with_a_hint_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).await.close().await;
    let mut connection = raw(folder.path()).await;
    sqlx::raw_sql(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (999, 'future', 1, x'00', 0)",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
    let before = std::fs::read(folder.path().join("ledger.sqlite")).unwrap();
    let error = try_open(folder.path()).await.unwrap_err();
    assert!(matches!(error, LedgerError::Newer { found: 999, .. }), "{error}");
    assert_eq!(error.exit(), ExitCode::Usage);
    assert!(error.hint().is_some());
    assert_eq!(std::fs::read(folder.path().join("ledger.sqlite")).unwrap(), before);
}

/// Damages a good file, and says that opening refuses it and leaves it as it is.
async fn is_refused(damage: impl Fn(Vec<u8>) -> Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    for second in 0..40 {
        pass(&ledger, second).await;
    }
    ledger.close().await;
    let file = folder.path().join("ledger.sqlite");
    let damaged = damage(std::fs::read(&file).unwrap());
    std::fs::write(&file, &damaged).unwrap();
    let error = try_open(folder.path()).await.unwrap_err();
    assert!(matches!(error, LedgerError::Damaged { .. }), "{error:?}");
    assert_eq!(error.exit(), ExitCode::Stuck);
    assert_eq!(error.code(), "ledger-damaged");
    assert_eq!(std::fs::read(&file).unwrap(), damaged, "a damaged ledger is never changed");
}

#[tokio::test]
async fn a_truncated_file_is_refused() {
    is_refused(|bytes| bytes[..bytes.len() / 2].to_vec()).await;
}

#[tokio::test]
async fn an_emptied_file_is_refused_and_not_begun_anew() {
    is_refused(|_| Vec::new()).await;
}

#[tokio::test]
async fn a_file_of_something_else_is_refused() {
    is_refused(|bytes| vec![b'x'; bytes.len()]).await;
}

#[tokio::test]
async fn a_garbled_page_is_refused() {
    is_refused(|mut bytes| {
        let page = 4096;
        for byte in &mut bytes[3 * page..8 * page] {
            *byte = byte.wrapping_mul(31) ^ 0x5a;
        }
        bytes
    })
    .await;
}

#[tokio::test]
async fn a_journal_whose_database_is_gone_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).await.close().await;
    std::fs::remove_file(folder.path().join("ledger.sqlite")).unwrap();
    std::fs::write(folder.path().join("ledger.sqlite-wal"), b"left").unwrap();
    let error = try_open(folder.path()).await.unwrap_err();
    assert!(matches!(error, LedgerError::Damaged { .. }), "{error:?}");
}

#[tokio::test]
async fn a_database_of_another_program_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    {
        use sqlx::ConnectOptions as _;
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&file).create_if_missing(true);
        let mut other = options.connect().await.unwrap();
        sqlx::raw_sql("CREATE TABLE theirs (id INTEGER)").execute(&mut other).await.unwrap();
        other.close().await.unwrap();
    }
    let before = std::fs::read(&file).unwrap();
    let error = try_open(folder.path()).await.unwrap_err();
    assert!(matches!(error, LedgerError::Foreign { .. }), "{error:?}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn a_making_that_was_killed_is_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ledger.sqlite.making"), b"half").unwrap();
    let ledger = open(folder.path()).await;
    assert!(ledger.verify().await.unwrap().whole());
}
