//! The evidence of a drill, from its records.

use std::collections::BTreeMap;

use serde_json::Value;

use super::declared::{Course, Declared};
use super::facts::Facts;
use super::judge::{Judgement, base_and_wal};
use super::rpo::rpo;
use crate::domain::{EVIDENCE_FORMAT, Evidence, Expects, Isolation, Phase, Restored, RunId, StepRecord};

/// Puts the evidence together.
pub fn evidence(run: RunId, records: &[StepRecord], declared: &Declared, course: &Course, judgement: &Judgement) -> Evidence {
    let facts = Facts::of(records, declared.expects.mechanism());
    Evidence {
        format: EVIDENCE_FORMAT,
        run,
        site: declared.site.clone(),
        host: declared.host.clone(),
        subject: declared.subject.clone(),
        runbook: declared.runbook.clone(),
        runbook_sha256: declared.runbook_sha256.clone(),
        made_by: declared.made_by.clone(),
        began: course.began,
        ended: course.ended,
        verdict: judgement.verdict,
        reasons: judgement.reasons.clone(),
        hints: judgement.hints.clone(),
        codes: judgement.codes.clone(),
        restored: restored(facts, declared),
        isolation_declared: declared.isolation,
        isolation: facts.isolation().unwrap_or(Isolation::None),
        isolation_facts: facts.isolation_facts(),
        rpo: rpo(facts, course.began),
        rpo_budget_seconds: declared.rpo_budget_seconds,
        rto_seconds: facts.rto_seconds(course.began),
        rto_budget_seconds: declared.rto_budget_seconds,
        phases: phases(records, course),
        checks: declared.checks.clone(),
        assertions: facts.assertions().cloned().collect(),
        steps: records.to_vec(),
        left_over: course.left_over.clone(),
        requests: course.requests,
        sizes: sizes(records),
    }
}

fn restored(facts: Facts<'_>, declared: &Declared) -> Option<Restored> {
    let (name, by) = match declared.expects {
        Expects::BaseAndWal { system } => base_and_wal::restored(facts, system)?,
    };
    Some(Restored { place: declared.place.clone(), name, by })
}

/// Phases as the verbs name them; a step without any is a phase of its own.
fn phases(records: &[StepRecord], course: &Course) -> Vec<Phase> {
    let mut phases = Vec::new();
    for record in records.iter().filter(|record| record.began.is_some()) {
        match record.receipt.as_ref().filter(|receipt| !receipt.phases.is_empty()) {
            Some(receipt) => phases.extend(receipt.phases.iter().cloned()),
            None => phases.push(Phase { name: record.call.step.clone(), seconds: record.seconds, bytes: None }),
        }
    }
    if let Some(seconds) = course.clean_up_seconds {
        phases.push(Phase { name: "clean-up".to_owned(), seconds, bytes: None });
    }
    phases
}

/// Every receipt may carry `sizes`: name → bytes or rows.
fn sizes(records: &[StepRecord]) -> BTreeMap<String, u64> {
    let receipts = records.iter().filter_map(|record| record.receipt.as_ref());
    let given = receipts.filter_map(|receipt| receipt.outputs.get("sizes").and_then(Value::as_object));
    given.flatten().filter_map(|(name, size)| Some((name.clone(), size.as_u64()?))).collect()
}
