//! Assertions of a runbook: typed comparisons over the outputs of a step.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::{AssertionResult, CheckEnd};

/// One assertion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assertion {
    /// The output that is looked at.
    pub output: String,
    /// What it must be.
    pub test: Test,
    /// The author's word that stale data would fail it.
    pub tells_stale: bool,
}

/// What an output must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Equal to this. A number equals a text that prints the same.
    Equals(Value),
    /// A number of at least this.
    AtLeast(f64),
    /// There (`true`) or not there (`false`).
    Present(bool),
}

impl Assertion {
    /// Holds it against a receipt's outputs. What cannot be compared is undecided, never passed.
    pub fn hold(&self, step: &str, outputs: &Map<String, Value>) -> AssertionResult {
        let value = outputs.get(&self.output).filter(|value| !value.is_null());
        let seen = value.map_or_else(|| "nothing".to_owned(), printed);
        let (expected, end) = match &self.test {
            Test::Equals(Value::Null) => ("equals a value that no step gave".to_owned(), CheckEnd::Undecided),
            Test::Equals(wanted) => {
                let end = value.map_or(CheckEnd::Undecided, |value| passed(printed(value) == printed(wanted)));
                (format!("equals {}", printed(wanted)), end)
            }
            Test::AtLeast(limit) => {
                let end = value.and_then(number).map_or(CheckEnd::Undecided, |value| passed(value >= *limit));
                (format!("at least {limit}"), end)
            }
            Test::Present(wanted) => {
                let words = if *wanted { "present" } else { "absent" };
                (words.to_owned(), passed(value.is_some() == *wanted))
            }
        };
        AssertionResult {
            name: format!("{step}.{}", self.output),
            expected,
            seen,
            end,
            tells_stale: self.tells_stale,
            seconds: 0.0,
        }
    }
}

const fn passed(holds: bool) -> CheckEnd {
    if holds { CheckEnd::Passed } else { CheckEnd::Failed }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
