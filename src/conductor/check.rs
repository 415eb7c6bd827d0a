//! A check: looks now and judges. Nothing is recorded, sent or started.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Serialize;

use super::look::{Look, Wave, read_by, waves};
use super::outcome::{Counted, ExitRule, exit_of};
use crate::domain::{Cx, ExitCode, Expected, Fact, FactKind, Finding, Known, Observation, ProviderId, Subject};
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
    let expected = narrowed(with_covers(expected, looks), subject);
    let asked_for: BTreeSet<&Subject> = expected.covers.iter().map(|(subject, _)| subject).collect();
    let wanted: Vec<Look> = looks
        .iter()
        .filter(|look| look.observer.covers().iter().any(|(subject, _)| asked_for.contains(subject)))
        .cloned()
        .collect();
    let observations = observe(&wanted, before.memory(), limit, cx).await?;
    let proofs = match before.proofs() {
        Some(ledger) => super::pass::proofs(ledger, &observations).await?,
        None => Vec::new(),
    };
    let judgement = judge(cx.now, &expected, &observations, &proofs);
    let facts = observations.iter().flat_map(|(_, observation)| &observation.facts);
    let seen: BTreeSet<Subject> =
        facts.filter(|fact| !matches!(fact, Fact::Sample(_))).map(|fact| fact.subject().clone()).collect();
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

pub(super) async fn observe(
    looks: &[Look],
    ledger: Option<&Ledger>,
    limit: Duration,
    cx: &Cx,
) -> Result<Vec<(ProviderId, Observation)>, LedgerError> {
    let mut observations: Vec<(ProviderId, Observation)> = Vec::new();
    for wave in waves(looks) {
        let facts: Vec<Fact> = observations.iter().flat_map(|(_, observation)| observation.facts.clone()).collect();
        let mut asked = Vec::new();
        for look in wave {
            let memory = match ledger {
                Some(ledger) => ledger.recall(&look.observer.name()).await?,
                None => None,
            };
            asked.push((look.clone(), Known { facts: read_by(look.observer.as_ref(), &facts), memory }));
        }
        let mut wave = Wave::start(asked, cx, limit);
        while let Some(looked) = wave.next().await {
            observations.push((looked.provider, looked.observation));
        }
    }
    Ok(observations)
}

/// What is expected, by configuration and by what observers say that they cover.
pub(super) fn with_covers(expected: &Expected, looks: &[Look]) -> Expected {
    let mut expected = expected.clone();
    for pair in looks.iter().flat_map(|look| look.observer.covers()) {
        if !expected.covers.contains(&pair) {
            expected.covers.push(pair);
        }
    }
    expected
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
    }
}
