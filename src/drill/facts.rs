//! What the receipts say: the verbs' outputs under their names, read once and with suspicion.

use jiff::Timestamp;
use serde_json::Value;

use crate::domain::{AssertionResult, CoveredBy, Isolation, Mechanism, StepEnd, StepRecord, SystemId, verb_names};

/// The records of a drill. Of every mechanism, one verb chooses what is restored (and says `covered_until`), and one brings up
/// what then answers (and says `data_as_of`, `isolation` and `isolation_facts`).
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    records: &'a [StepRecord],
    mechanism: Mechanism,
    chooses: &'static str,
    answers: &'static str,
}

impl<'a> Facts<'a> {
    /// The records, read as those of a mechanism.
    pub(super) fn of(records: &'a [StepRecord], mechanism: Mechanism) -> Self {
        let (chooses, answering) = match mechanism {
            // On this machine, or by the operator of a Kubernetes cluster: what must be shown is the same.
            Mechanism::BaseAndWal => (verb_names::ARCHIVE_CHOOSE, [verb_names::PG_RECOVER, verb_names::CNPG_RECOVER]),
        };
        let called = |verb: &&'static str| records.iter().any(|record| record.call.verb == *verb);
        let answers = answering.into_iter().rev().find(called).unwrap_or(verb_names::PG_RECOVER);
        Self { records, mechanism, chooses, answers }
    }

    /// The last step that called a verb.
    fn step(self, verb: &str) -> Option<&'a StepRecord> {
        self.records.iter().rev().find(|record| record.call.verb == verb)
    }

    /// The verb that brought up what answers.
    pub(super) const fn answers(self) -> &'static str {
        self.answers
    }

    /// Every step that chose what is restored.
    pub(super) fn choosing(self) -> impl Iterator<Item = &'a StepRecord> {
        self.records.iter().filter(move |record| record.call.verb == self.chooses)
    }

    /// All steps.
    pub(super) const fn records(self) -> &'a [StepRecord] {
        self.records
    }

    /// An output of the last step that called a verb.
    fn output(self, verb: &str, name: &str) -> Option<&'a Value> {
        self.step(verb)?.receipt.as_ref()?.outputs.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(self, verb: &str, name: &str) -> Option<String> {
        match self.output(verb, name)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    pub(super) fn number(self, verb: &str, name: &str) -> Option<u64> {
        self.text(verb, name)?.parse().ok()
    }

    fn moment(self, verb: &str, name: &str) -> Option<Timestamp> {
        self.text(verb, name)?.parse().ok()
    }

    pub(super) fn system(self, verb: &str) -> Option<SystemId> {
        SystemId::try_from(self.text(verb, "system_id")?).ok()
    }

    /// All assertions, in order.
    pub(super) fn assertions(self) -> impl Iterator<Item = &'a AssertionResult> {
        self.records.iter().filter_map(|record| record.receipt.as_ref()).flat_map(|receipt| &receipt.assertions)
    }

    /// Whether what was restored answers.
    pub(super) fn answered(self) -> bool {
        self.answering().is_some()
    }

    fn answering(self) -> Option<&'a StepRecord> {
        self.step(self.answers).filter(|record| record.end == StepEnd::Done)
    }

    /// The newest data that came back.
    pub(super) fn data_as_of(self) -> Option<Timestamp> {
        self.moment(self.answers, "data_as_of")
    }

    /// Until when nothing can be missing.
    pub(super) fn covered_until(self) -> Option<Timestamp> {
        self.moment(self.chooses, "covered_until")
    }

    /// How that is known.
    pub(super) const fn covered_by(self) -> CoveredBy {
        match self.mechanism {
            Mechanism::BaseAndWal => CoveredBy::LastSegmentWritten,
        }
    }

    /// How closed the sandbox was.
    pub(super) fn isolation(self) -> Option<Isolation> {
        serde_json::from_value(self.output(self.answers, "isolation")?.clone()).ok()
    }

    /// How that was shown.
    pub(super) fn isolation_facts(self) -> Vec<String> {
        match self.output(self.answers, "isolation_facts") {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::String(text)) => vec![text.clone()],
            _ => Vec::new(),
        }
    }

    /// Seconds from the beginning to what answers.
    pub(super) fn rto_seconds(self, began: Timestamp) -> Option<f64> {
        let answering = self.answering()?;
        let until = answering.began?.duration_since(began).as_secs_f64() + answering.seconds;
        (until >= 0.0).then_some(until)
    }
}
