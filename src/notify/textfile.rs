//! A file of metrics for the textfile collector of Prometheus' node exporter, which reads whole files only:
//! <https://github.com/prometheus/node_exporter#textfile-collector>. So it is written beside and renamed.

use std::path::{Path, PathBuf};

use super::send::Sent;

/// Replaces the file.
pub(super) async fn write(path: &Path, text: &str) -> Sent {
    let beside = beside(path);
    let written = async {
        tokio::fs::write(&beside, text).await?;
        tokio::fs::rename(&beside, path).await
    };
    let outcome = written.await;
    if outcome.is_err() {
        // What could not be renamed is of no use to anybody.
        let _ = tokio::fs::remove_file(&beside).await;
    }
    said(path, outcome)
}

/// Whether a file could be written there; what stands there stays.
pub(super) async fn try_out(path: &Path) -> Sent {
    let beside = beside(path);
    let outcome = tokio::fs::write(&beside, "").await;
    let _ = tokio::fs::remove_file(&beside).await;
    said(path, outcome)
}

/// Not ending in `.prom`, so that the collector passes over it.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    name.into()
}

fn said(path: &Path, outcome: std::io::Result<()>) -> Sent {
    match outcome {
        Ok(()) => Sent::Delivered,
        Err(error) => Sent::Later { why: format!("{} cannot be written: {error}", path.display()), retry_after: None },
    }
}
