//! Evidence of drills: taken in at the start of a pass, since a drill needs no ledger to run.

use std::path::Path;

use crate::domain::{Cx, Explained, Finding, Severity, Subject};
use crate::execution::{list_evidence, read_evidence_and_digest};
use crate::ledger::{Ledger, LedgerError, TakenIn};

/// Takes in what is new below these folders. A file that cannot be read is a finding and stops nothing; errors of the ledger do.
pub(super) async fn take_in(ledger: &Ledger, folders: &[&Path], cx: &Cx) -> Result<Vec<Finding>, LedgerError> {
    let mut findings = Vec::new();
    let mut files = Vec::new();
    for folder in folders {
        match list_evidence(folder) {
            Ok(found) => files.extend(found),
            Err(error) => findings.push(unreadable(folder, &error)),
        }
    }
    for (_, path) in files {
        match read_evidence_and_digest(&path) {
            Err(error) => findings.push(unreadable(&path, &error)),
            Ok((evidence, digest)) => match ledger.take_in(&evidence, &digest, cx.now).await {
                Ok(TakenIn::New | TakenIn::Known) => {}
                Err(error @ LedgerError::EvidenceNewer { .. }) => findings.push(unreadable(&path, &error)),
                // It was read, and contradicts what was taken in before: that is seen, not unseen.
                Err(error @ LedgerError::EvidenceDiffers { .. }) => {
                    findings.push(Finding { could_not_look: false, ..unreadable(&path, &error) });
                }
                Err(error) => return Err(error),
            },
        }
    }
    Ok(findings)
}

fn unreadable(path: &Path, error: &dyn Explained) -> Finding {
    let why = error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
    Finding {
        code: "evidence-unreadable".to_owned(),
        severity: Severity::Warning,
        subject: Subject::dalsegno("drills"),
        summary: format!("evidence at {} cannot be taken in: {why}", path.display()),
        evidence: vec![why.clone()],
        cause: why,
        remedy: error.hint().unwrap_or_default(),
        could_not_look: true,
    }
}
