//! What the receipts say: the verbs' outputs under their names, read once and with suspicion.

use jiff::Timestamp;
use serde_json::Value;

use crate::domain::{AssertionResult, Isolation, StepEnd, StepRecord, SystemId};

/// The verb that chooses base backup and expected end.
pub(super) const CHOOSE: &str = "archive.choose";
/// The verb that recovers and answers.
pub(super) const RECOVER: &str = "pg.recover";
/// The assertion by which the restore shows where replay ended.
pub(super) const REPLAY_END: &str = "replay-end";
/// The assertion that holds the newest replayed commit against what the archive covers.
pub(super) const FRESH: &str = "fresh";
/// The assertion by which the restore shows that nothing is archived from the sandbox.
pub(super) const ARCHIVING_OFF: &str = "archiving-off";

/// The records of a drill.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a>(pub(super) &'a [StepRecord]);

impl<'a> Facts<'a> {
    /// The last step that called a verb.
    pub(super) fn step(self, verb: &str) -> Option<&'a StepRecord> {
        self.0.iter().rev().find(|record| record.call.verb == verb)
    }

    /// An output of the last step that called a verb.
    pub(super) fn output(self, verb: &str, name: &str) -> Option<&'a Value> {
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

    pub(super) fn moment(self, verb: &str, name: &str) -> Option<Timestamp> {
        self.text(verb, name)?.parse().ok()
    }

    pub(super) fn system(self, verb: &str) -> Option<SystemId> {
        SystemId::try_from(self.text(verb, "system_id")?).ok()
    }

    pub(super) fn isolation(self) -> Option<Isolation> {
        serde_json::from_value(self.output(RECOVER, "isolation")?.clone()).ok()
    }

    pub(super) fn texts(self, verb: &str, name: &str) -> Vec<String> {
        match self.output(verb, name) {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::String(text)) => vec![text.clone()],
            _ => Vec::new(),
        }
    }

    /// All assertions, in order.
    pub(super) fn assertions(self) -> impl Iterator<Item = &'a AssertionResult> {
        self.0.iter().filter_map(|record| record.receipt.as_ref()).flat_map(|receipt| &receipt.assertions)
    }

    /// `end`, or the time that was asked for.
    pub(super) fn target(self) -> Option<String> {
        self.text(CHOOSE, "target")
    }

    /// Seconds from the beginning to a database that answers.
    pub(super) fn rto_seconds(self, began: Timestamp) -> Option<f64> {
        let recover = self.step(RECOVER).filter(|record| record.end == StepEnd::Done)?;
        let until = recover.began?.duration_since(began).as_secs_f64() + recover.seconds;
        (until >= 0.0).then_some(until)
    }
}

/// A WAL segment's name: timeline and position, eight and sixteen hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) timeline: u32,
    pub(super) position: u64,
}

impl Segment {
    pub(super) fn parse(name: &str) -> Option<Self> {
        if name.len() != 24 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let timeline = u32::from_str_radix(name.get(..8)?, 16).ok()?;
        let position = u64::from_str_radix(name.get(8..)?, 16).ok()?;
        Some(Self { timeline, position })
    }
}
