//! A full disk is our lack: said as such, and nothing that was committed is lost.

use std::process::Command;

use dalsegno::domain::{ExitCode, Explained as _, ProviderId};
use dalsegno::domain::{Memory, Severity};
use dalsegno::ledger::LedgerError;

use super::kill::folder_of_child;
use super::{at, finding, open, pass, subject};

/// Fills the disk it is given. Does nothing unless it is the child.
#[tokio::test]
async fn child_that_fills_its_disk() {
    let Some(folder) = folder_of_child() else { return };
    let ledger = open(&folder).await;
    let run = pass(&ledger, 0).await;
    ledger.commit_findings(run, at(0), &[finding("kept", &subject("a"), Severity::Critical)], &|_| true).await.unwrap();
    let noise = Memory(serde_json::Value::String("x".repeat(40_000)));
    let error = loop {
        let id = ProviderId(dalsegno::domain::RunId::new().to_string());
        if let Err(error) = ledger.remember(at(1), &id, &noise).await {
            break error;
        }
    };
    assert!(matches!(error, LedgerError::Full { .. }), "{error:?}");
    assert_eq!((error.code(), error.exit()), ("ledger-full", ExitCode::CouldNotLook));
    assert!(error.hint().unwrap().contains("df"));
    assert_eq!(ledger.open_findings().await.unwrap()[0].finding.code, "kept");
    assert!(ledger.verify().await.unwrap().whole());
    println!("was full");
}

#[test]
fn a_full_disk_is_said_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let inner =
        "mount -t tmpfs -o size=1m none \"$0\" && exec \"$1\" --exact ledger::full::child_that_fills_its_disk --nocapture";
    let run = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", inner])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .env("DALSEGNO_TEST_LEDGER_CHILD", folder.path())
        .output();
    let Ok(output) = run else {
        skip("unshare is not there");
        return;
    };
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() && (said.contains("unshare:") || said.contains("mount:")) {
        skip(&said);
        return;
    }
    assert!(output.status.success() && said.contains("was full"), "{said}");
}

fn skip(why: &str) {
    // A runner that forbids user namespaces cannot make a small disk.
    eprintln!("SKIPPED a_full_disk_is_said_and_loses_nothing: {why}");
}
