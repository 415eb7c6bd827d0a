//! That what was restored is what the drill is of. A runbook is a text that anybody may write: what it restored is read from the
//! receipts and held against what was declared, never taken for granted.

use serde_json::Value;

use crate::domain::{Place, StepEnd, StepRecord, Subject};
use crate::drill::declared::Declared;
use crate::drill::facts::Facts;
use crate::drill::reason::{REPORT, Reason};

/// A step that chose, or was asked to work on, something else than what was declared. Not the archive's fault: never `failed`.
pub(super) fn another(facts: Facts<'_>, declared: &Declared) -> Option<Reason> {
    let asked = facts.records().iter().find_map(|record| {
        let text = record.call.text("subject").filter(|text| !text.starts_with("$("))?;
        (!declared.subject.answers_to(text)).then(|| wrong(record, &declared.subject.to_string(), text))
    });
    let chose = || {
        facts.choosing().find_map(|record| {
            let (subject, place) = (subject(record), place(record));
            match (subject.filter(|subject| *subject != declared.subject), place.filter(|place| *place != declared.place)) {
                (Some(subject), _) => Some(wrong(record, &declared.subject.to_string(), &subject.to_string())),
                (None, Some(place)) => Some(wrong(record, &declared.place.to_string(), &place.to_string())),
                (None, None) => None,
            }
        })
    };
    asked.or_else(chose)
}

/// Every step that chose says of what and where.
pub(super) fn chosen(facts: Facts<'_>, reasons: &mut Vec<Reason>) {
    for record in facts.choosing().filter(|record| record.end == StepEnd::Done) {
        if subject(record).is_none() || place(record).is_none() {
            let why = format!("{}: it is not known from which archive was restored", record.call.step);
            reasons.push(Reason::open(why, REPORT));
        }
    }
}

fn wrong(record: &StepRecord, declared: &str, seen: &str) -> Reason {
    Reason::open(
        format!("{}: the drill is of {declared}, and the runbook restores {seen}", record.call.step),
        "let the runbook pass its parameter on:  subject: $(subject)",
    )
}

fn output<'a>(record: &'a StepRecord, name: &str) -> Option<&'a Value> {
    record.receipt.as_ref()?.outputs.get(name)
}

fn subject(record: &StepRecord) -> Option<Subject> {
    serde_json::from_value(output(record, "subject")?.clone()).ok()
}

fn place(record: &StepRecord) -> Option<Place> {
    serde_json::from_value(output(record, "place")?.clone()).ok()
}
