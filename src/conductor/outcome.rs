//! From findings to an exit code.

use serde::{Deserialize, Serialize};

use crate::domain::{ExitCode, Finding, Severity};

/// What decides the exit code of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitRule {
    /// The least severity that makes it 1.
    pub threshold: Severity,
    /// `--exit work`: 0 when the pass did its work, whatever it found.
    pub by_work: bool,
}

/// How many of what, for headlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Critical ones that were seen.
    pub critical: usize,
    /// Warnings that were seen.
    pub warnings: usize,
    /// Worth knowing.
    pub infos: usize,
    /// Could not be looked at.
    pub unknown: usize,
}

impl Counted {
    /// Counts.
    pub fn of<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Self {
        let mut counted = Self::default();
        for finding in findings {
            match (finding.could_not_look, finding.severity) {
                (true, _) => counted.unknown += 1,
                (false, Severity::Critical) => counted.critical += 1,
                (false, Severity::Warning) => counted.warnings += 1,
                (false, Severity::Info) => counted.infos += 1,
            }
        }
        counted
    }
}

/// The exit code of a look: 70 for a bug, 5 for left-overs, 1 for findings at or above the threshold, 3 when only "could not look"
/// stands between us and fine. What could not be looked at counts whatever the threshold: it is never fine.
pub fn exit_of(findings: &[Finding], bugs: usize, left_overs: usize, rule: ExitRule) -> ExitCode {
    let mut exit = ExitCode::Fine;
    if bugs > 0 {
        exit = exit.worse(ExitCode::Bug);
    }
    if left_overs > 0 {
        exit = exit.worse(ExitCode::Stuck);
    }
    if rule.by_work {
        return exit;
    }
    for finding in findings {
        if finding.could_not_look {
            exit = exit.worse(ExitCode::CouldNotLook);
        } else if finding.severity >= rule.threshold {
            exit = exit.worse(ExitCode::Findings);
        }
    }
    exit
}
