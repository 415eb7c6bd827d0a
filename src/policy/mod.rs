//! Observations → findings. Pure: the same facts at the same `now` give the same findings, in the same order.
//!
//! Judging starts from what *should* be known ([`Expected`]): a subject with neither fact nor gap is a bug of ours and
//! never fine. Every gap becomes a finding by its cause, and one cause is one finding: a store that does not answer
//! swallows the gaps of the subjects on it and names them. Rules look at facts, never at names or examples; each
//! threshold is a named constant with its reason.

mod archive;
mod backups;
mod clears;
mod clock;
mod cnpg;
#[cfg(feature = "lab")]
mod flip;
mod gaps;
mod ground;
pub mod life;
mod lifecycle;
mod placeholder;
mod recovery;
mod store;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::domain::{
    CheckEnd, Evidence, Expected, FactKind, Finding, FindingKey, Isolation, Observation, Place, ProviderId, RunId, Subject,
    Verdict,
};

pub use clears::{archive_clears, clock_clears, cluster_clears, reads_archives, store_clears};
pub use clock::clocks;
#[cfg(feature = "lab")]
pub use flip::flip;
use ground::Ground;

/// What an earlier drill said of a subject at a place. The ledger keeps them; policy asks how old the newest are.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// What was drilled.
    pub subject: Subject,
    /// The place that was restored from; `None` when the drill ended before it had chosen.
    pub place: Option<Place>,
    /// What it said.
    pub verdict: Verdict,
    /// When it ended.
    pub at: Timestamp,
    /// The run.
    pub run: RunId,
    /// The first of its reasons, when it is not proven.
    pub reason: Option<String>,
    /// Where recovery ended: `end`, or a time; `None` = not known.
    pub target: Option<String>,
    /// How closed the sandbox was shown to be.
    pub isolation: Isolation,
    /// Whether each check that the configuration asked for has passed.
    pub whole: bool,
}

impl Proof {
    /// Whether it answers the question that a policy asks: that everything up to the end comes back, in a sandbox that is closed as
    /// configured, with all configured checks. One that stops at an earlier time, or asks less, proves something else.
    pub fn counts(&self, least: Option<Isolation>) -> bool {
        self.verdict == Verdict::Proven
            && self.place.is_some()
            && self.target.as_deref() == Some(THE_END)
            && least.is_none_or(|least| self.isolation >= least)
            && self.whole
    }
}

impl From<&Evidence> for Proof {
    fn from(evidence: &Evidence) -> Self {
        Self {
            subject: evidence.subject.clone(),
            place: evidence.restored.as_ref().map(|restored| restored.place.clone()),
            verdict: evidence.verdict,
            at: evidence.ended,
            run: evidence.run,
            reason: evidence.reasons.first().cloned(),
            target: evidence.restored.as_ref().and_then(|restored| restored.by.target()).map(str::to_owned),
            isolation: evidence.isolation,
            whole: evidence.checks.iter().all(|name| passed(evidence, name)),
        }
    }
}

/// The target that means everything there is.
const THE_END: &str = "end";

fn passed(evidence: &Evidence, name: &str) -> bool {
    evidence.assertions.iter().any(|assertion| assertion.name == name && assertion.end == CheckEnd::Passed)
}

/// What judging came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// What is wrong, nearest harm first; at most one per code and subject.
    pub findings: Vec<Finding>,
    /// Subjects that should have come back as a fact or as a gap and did not: our own fault, exit 70.
    pub bugs: Vec<(Subject, FactKind)>,
}

/// Judges one pass. `proofs` may hold every drill that is known, in any order.
pub fn judge(now: Timestamp, expected: &Expected, observations: &[(ProviderId, Observation)], proofs: &[Proof]) -> Judgement {
    let ground = Ground::new(now, expected, observations, proofs);
    let mut findings = placeholder::judge(&ground);
    findings.extend(gaps::judge(&ground));
    findings.extend(store::judge(&ground));
    findings.extend(lifecycle::judge(&ground));
    for archive in &ground.archives {
        findings.extend(archive::judge(&ground, archive));
        findings.extend(backups::judge(&ground, archive));
    }
    findings.extend(recovery::judge(&ground));
    findings.extend(cnpg::judge(&ground));
    findings.extend(clock::judge(&ground));
    #[cfg(feature = "lab")]
    flip::apply(&ground, &mut findings);
    Judgement { findings: merged(life::weigh(now, expected, observations, merged(findings))), bugs: ground.uncovered() }
}

/// One finding per code and subject: the worse severity stands, evidence is joined, and a real sighting outweighs "could not look".
fn merged(findings: Vec<Finding>) -> Vec<Finding> {
    let mut by_key: BTreeMap<FindingKey, Finding> = BTreeMap::new();
    for finding in findings {
        let key = finding.key();
        let Some(known) = by_key.remove(&key) else {
            by_key.insert(key, finding);
            continue;
        };
        let (mut first, second) = if finding.severity > known.severity { (finding, known) } else { (known, finding) };
        for line in std::iter::once(second.summary).chain(second.evidence) {
            if line != first.summary && !first.evidence.contains(&line) {
                first.evidence.push(line);
            }
        }
        first.could_not_look &= second.could_not_look;
        by_key.insert(key, first);
    }
    let mut all: Vec<Finding> = by_key.into_values().collect();
    all.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.subject.cmp(&b.subject)).then_with(|| a.code.cmp(&b.code)));
    all
}
