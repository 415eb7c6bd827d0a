//! Evidence of drills: taken in at the start of a pass, since a drill needs no ledger to run.

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::domain::{Cx, Explained, Finding, Severity, Subject};
use crate::execution::{list_evidence, read_evidence};
use crate::ledger::{Ledger, LedgerError, TakenIn};

/// Takes in what is new below `drills`. A file that cannot be read is a finding and stops nothing; errors of the ledger do.
pub(super) async fn take_in(ledger: &Ledger, drills: &Path, cx: &Cx) -> Result<Vec<Finding>, LedgerError> {
    let files = match list_evidence(drills) {
        Ok(files) => files,
        Err(error) => return Ok(vec![unreadable(drills, &error)]),
    };
    let mut findings = Vec::new();
    for (_, path) in files {
        let digest = match std::fs::read(&path) {
            Ok(bytes) => hex(&Sha256::digest(&bytes)),
            Err(error) => {
                findings.push(unreadable_text(&path, &error.to_string(), "look at the file's rights"));
                continue;
            }
        };
        match read_evidence(&path) {
            Err(error) => findings.push(unreadable(&path, &error)),
            Ok(evidence) => match ledger.take_in(&evidence, &digest, cx.now).await {
                Ok(TakenIn::New | TakenIn::Known) => {}
                Err(error @ (LedgerError::EvidenceNewer { .. } | LedgerError::EvidenceDiffers { .. })) => {
                    findings.push(unreadable(&path, &error));
                }
                Err(error) => return Err(error),
            },
        }
    }
    Ok(findings)
}

fn unreadable(path: &Path, error: &dyn Explained) -> Finding {
    unreadable_text(path, &error.to_string(), &error.hint().unwrap_or_default())
}

fn unreadable_text(path: &Path, why: &str, hint: &str) -> Finding {
    Finding {
        code: "evidence-unreadable".to_owned(),
        severity: Severity::Warning,
        subject: Subject::dalsegno("drills"),
        summary: format!("evidence at {} cannot be taken in: {why}", path.display()),
        evidence: vec![why.to_owned()],
        cause: why.to_owned(),
        remedy: hint.to_owned(),
        could_not_look: false,
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
