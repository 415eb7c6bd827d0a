//! A reason against *proven*.

use crate::domain::Verdict;

/// Where to read on.
pub(super) const REPORT: &str = "read what was seen:  dalsegno drill report";

/// One reason, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reason {
    /// `Failed` or `Unknown`.
    pub(super) verdict: Verdict,
    pub(super) why: String,
    pub(super) hint: String,
    /// The finding code it stands for.
    pub(super) code: &'static str,
}

impl Reason {
    /// Something was looked at and is bad.
    pub(super) fn bad(code: &'static str, why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { verdict: Verdict::Failed, why: why.into(), hint: hint.into(), code }
    }

    /// It could not be looked at, or not far enough.
    pub(super) fn open(why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { verdict: Verdict::Unknown, why: why.into(), hint: hint.into(), code: "drill-undecided" }
    }
}
