//! Flips the decision about one code, for the test bench: a rule whose flip no test notices is a rule that nothing holds.
//! Compiled in with the feature `lab` only, never in a release. `tests/mutate.sh` goes through all codes without a rebuild.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use super::ground::{Ground, say};
use crate::domain::{Finding, Severity, Subject, code};

/// What is flipped.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Flip {
    /// Its findings are kept back.
    Never(String),
    /// Everything that was seen has it.
    Always(String),
}

static FLIP: OnceLock<Option<Flip>> = OnceLock::new();

/// `never:CODE` or `always:CODE`, for the rest of this process; the first call stands. This room reads no environment: the test does.
pub fn flip(text: Option<&str>) {
    let flip = text.and_then(|text| {
        let (how, code) = text.split_once(':')?;
        match how {
            "never" => Some(Flip::Never(code.to_owned())),
            "always" => Some(Flip::Always(code.to_owned())),
            _ => None,
        }
    });
    FLIP.get_or_init(|| flip);
}

pub(super) fn apply(ground: &Ground, findings: &mut Vec<Finding>) {
    match FLIP.get() {
        Some(Some(Flip::Never(code))) => findings.retain(|finding| &finding.code != code),
        Some(Some(Flip::Always(name))) => {
            let Some(row) = code(name) else { return };
            let told: BTreeSet<Subject> =
                findings.iter().filter(|finding| finding.code == row.code).map(|finding| finding.subject.clone()).collect();
            let seen: BTreeSet<Subject> = ground.subjects().into_iter().filter(|subject| !told.contains(subject)).collect();
            findings.extend(seen.iter().map(|subject| say(row.code, Severity::Critical, subject, "flipped".to_owned())));
        }
        Some(None) | None => {}
    }
}
