//! A check: looks now and judges. Nothing is recorded, sent or started.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Serialize;

use super::look::{Look, covers_of, look_in_waves, with_covers, with_seen};
use super::outcome::{Counted, ExitRule, exit_of};
use crate::domain::{Cx, ExitCode, Expected, FactKind, Finding, Known, ProviderId, Subject, SubjectKind};
use crate::ledger::{Ledger, LedgerError};
use crate::policy::judge;

/// What a check came to.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// When it looked.
    pub now: Timestamp,
    /// Seconds it took.
    pub seconds: f64,
    /// How many of what.
    pub counted: Counted,
    /// What is wrong, nearest harm first.
    pub findings: Vec<Finding>,
    /// Subjects that were seen.
    pub seen: Vec<Subject>,
    /// Subjects with neither fact nor gap: a bug of ours.
    pub bugs: Vec<(Subject, FactKind)>,
    /// The exit code.
    pub exit: ExitCode,
}

/// What a check may use of the ledger, which it only reads.
#[derive(Clone, Copy)]
pub enum Before<'a> {
    /// There is none.
    Nothing,
    /// Proofs, and what observers left at the last pass: so it is seen what vanished since.
    Everything(&'a Ledger),
    /// Proofs only: observers ask everything anew, as a recording must.
    Proofs(&'a Ledger),
}

impl<'a> Before<'a> {
    const fn proofs(self) -> Option<&'a Ledger> {
        match self {
            Self::Nothing => None,
            Self::Everything(ledger) | Self::Proofs(ledger) => Some(ledger),
        }
    }

    const fn memory(self) -> Option<&'a Ledger> {
        match self {
            Self::Nothing | Self::Proofs(_) => None,
            Self::Everything(ledger) => Some(ledger),
        }
    }
}

/// Looks at all, or at what `subject` names and what it rests on.
pub async fn check(
    looks: &[Look],
    expected: &Expected,
    before: Before<'_>,
    subject: Option<&str>,
    limit: Duration,
    rule: ExitRule,
    cx: &Cx,
) -> Result<Checked, LedgerError> {
    let begun = Instant::now();
    let configured = narrowed(with_covers(expected, &covers_of(looks)), subject);
    let asked_for: BTreeSet<&Subject> = configured.covers.iter().map(|(subject, _)| subject).collect();
    let wanted: Vec<Look> = looks
        .iter()
        .filter(|look| {
            look.observer.discovers()
                || look.observer.covers(&Known::default()).iter().any(|(subject, _)| asked_for.contains(subject))
        })
        .cloned()
        .collect();
    let seen = look_in_waves(&wanted, Vec::new(), before.memory(), cx, || limit, async |_| Ok(())).await?;
    let (observations, covers) = (seen.observations, seen.covers);
    let whole = with_seen(expected, &covers, &seen.expects);
    let asked = Asked::new(subject, &whole);
    let expected = narrowed(whole, subject);
    let proofs = match before.proofs() {
        Some(ledger) => super::pass::proofs(ledger, &expected, &observations).await?,
        None => Vec::new(),
    };
    let mut observations = observations;
    if let Some(ledger) = before.proofs() {
        let remembered = super::clock::remembered(ledger, &observations, cx.now).await?;
        observations.push((ProviderId("ledger".to_owned()), remembered));
    }
    let mut judgement = judge(cx.now, &expected, &observations, &proofs);
    if before.proofs().is_none() {
        judgement.findings.iter_mut().for_each(not_remembered);
    }
    judgement
        .findings
        .retain(|finding| asked.is_meant(&finding.subject) || (finding.could_not_look && asked.may_hide(&finding.subject)));
    let facts = observations.iter().flat_map(|(_, observation)| &observation.facts);
    let seen: BTreeSet<Subject> = facts
        .filter(|fact| !fact.is_number())
        .map(|fact| fact.subject().clone())
        .filter(|subject| asked.is_meant(subject))
        .collect();
    Ok(Checked {
        now: cx.now,
        seconds: begun.elapsed().as_secs_f64(),
        counted: Counted::of(&judgement.findings),
        exit: exit_of(&judgement.findings, judgement.bugs.len(), 0, rule),
        findings: judgement.findings,
        seen: seen.into_iter().collect(),
        bugs: judgement.bugs,
    })
}

/// Without a ledger nobody remembers drills: that none is known does not say that there was none.
pub(super) fn not_remembered(finding: &mut Finding) {
    if finding.code == "never-drilled" {
        finding.could_not_look = true;
        "whether a restore was ever proven is not known: no ledger was asked".clone_into(&mut finding.summary);
        "drills are remembered by the ledger, and a check without it knows none".clone_into(&mut finding.cause);
        finding.evidence.clear();
    }
}

/// What was asked for, when not all was: an observer that discovers sees more than that.
struct Asked<'a> {
    text: Option<&'a str>,
    below: BTreeSet<Subject>,
}

impl<'a> Asked<'a> {
    fn new(text: Option<&'a str>, expected: &Expected) -> Self {
        let named = |subject: &Subject| text.is_some_and(|text| subject.answers_to(text));
        let below = expected.rests_on.iter().filter(|(above, _)| named(above)).map(|(_, below)| below.clone()).collect();
        Self { text, below }
    }

    fn is_meant(&self, subject: &Subject) -> bool {
        self.text.is_none_or(|text| subject.answers_to(text)) || self.below.contains(subject)
    }

    /// A cluster that does not answer may hide what was asked for.
    fn may_hide(&self, subject: &Subject) -> bool {
        self.text.is_some() && subject.kind() == SubjectKind::Cluster
    }
}

/// Only what answers to `subject`, and what that rests on.
fn narrowed(expected: Expected, subject: Option<&str>) -> Expected {
    let Some(text) = subject else { return expected };
    let named = |subject: &Subject| subject.answers_to(text);
    let below: BTreeSet<Subject> =
        expected.rests_on.iter().filter(|(above, _)| named(above)).map(|(_, below)| below.clone()).collect();
    let keep = |subject: &Subject| named(subject) || below.contains(subject);
    Expected {
        covers: expected.covers.into_iter().filter(|(subject, _)| keep(subject)).collect(),
        policies: expected.policies.into_iter().filter(|(subject, _)| keep(subject)).collect(),
        placeholders: expected.placeholders.into_iter().filter(|placeholder| keep(&placeholder.subject)).collect(),
        rests_on: expected.rests_on.into_iter().filter(|(above, _)| keep(above)).collect(),
        isolation: expected.isolation,
        attention: expected.attention,
    }
}
