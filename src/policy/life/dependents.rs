//! What hangs on a subject: named in what is said of it, and a warning about it weighs more.

use crate::domain::{Attention, Finding, Severity};

/// A warning about a subject that others hang on is critical: when it hurts, they all hurt. "Could not look" is no harm yet and stays.
pub(super) fn raise(attention: &Attention, findings: Vec<Finding>) -> Vec<Finding> {
    findings.into_iter().map(|finding| one(attention, finding)).collect()
}

fn one(attention: &Attention, mut finding: Finding) -> Finding {
    let names = attention.dependents_of(&finding.subject);
    if names.is_empty() || finding.severity == Severity::Info {
        return finding;
    }
    let names = names.join(", ");
    if finding.severity == Severity::Warning && !finding.could_not_look {
        finding.severity = Severity::Critical;
        finding.evidence.push(format!("a warning, raised because others depend on it: {names}"));
    } else {
        finding.evidence.push(format!("others depend on it: {names}"));
    }
    finding
}
