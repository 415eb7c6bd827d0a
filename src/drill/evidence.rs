//! The evidence of a drill, from its records.

use std::collections::BTreeMap;

use serde_json::Value;

use super::declared::{Course, Declared};
use super::facts::{CHOOSE, Facts, RECOVER};
use super::judge::Judgement;
use super::rpo::rpo;
use crate::domain::{Drilled, EVIDENCE_FORMAT, Evidence, Isolation, Phase, RecoveryEnd, RunId, StepRecord};

/// Puts the evidence together.
pub fn evidence(run: RunId, records: &[StepRecord], declared: &Declared, course: &Course, judgement: &Judgement) -> Evidence {
    let facts = Facts(records);
    Evidence {
        format: EVIDENCE_FORMAT,
        run,
        site: declared.site.clone(),
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
        drilled: drilled(facts, declared),
        recovery: recovery(facts),
        isolation_declared: declared.isolation,
        isolation: facts.isolation().unwrap_or(Isolation::None),
        isolation_facts: facts.texts(RECOVER, "isolation_facts"),
        rpo: rpo(facts, course.began),
        rpo_budget_seconds: declared.rpo_budget_seconds,
        rto_seconds: facts.rto_seconds(course.began),
        rto_budget_seconds: declared.rto_budget_seconds,
        phases: phases(records, course),
        assertions: facts.assertions().cloned().collect(),
        steps: records.to_vec(),
        left_over: course.left_over.clone(),
        requests: course.requests,
        sizes: sizes(records),
    }
}

fn drilled(facts: Facts<'_>, declared: &Declared) -> Option<Drilled> {
    Some(Drilled {
        place: declared.place.clone(),
        backup: facts.text(CHOOSE, "backup")?,
        system_expected: declared.system_expected.or_else(|| facts.system(CHOOSE)),
        system_restored: facts.system(RECOVER),
        segments: facts.number(CHOOSE, "segments").unwrap_or(0),
        postgres: facts.text(RECOVER, "postgres"),
    })
}

fn recovery(facts: Facts<'_>) -> Option<RecoveryEnd> {
    Some(RecoveryEnd {
        target: facts.target()?,
        timeline: facts.number(CHOOSE, "timeline").and_then(|number| u32::try_from(number).ok())?,
        expected_segment: facts.text(CHOOSE, "end_segment")?,
        reached_segment: facts.text(RECOVER, "reached_segment"),
        reached_lsn: facts.text(RECOVER, "reached_lsn"),
    })
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
