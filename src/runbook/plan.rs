//! A checked runbook with its parameters bound: what execution runs and the journal keeps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::assertion::{Assertion, Test};
use super::check::Checked;
use super::mistake::{Mistake, instead};
use super::reference::{Found, Reference, Stage, fill, fill_map};
use super::text::{Budget, OnFailure, Parameter, Step};
use crate::domain::{Call, Isolation, RunId};

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The run it is for.
    pub run: RunId,
    /// The runbook's name.
    pub runbook: String,
    /// SHA-256 of its text, hex.
    pub runbook_sha256: String,
    /// Parameters with a value.
    pub parameters: BTreeMap<String, Value>,
    /// The sandbox must be at least this closed.
    pub isolation_at_least: Isolation,
    /// Allowed RTO in seconds.
    pub rto_seconds: Option<f64>,
    /// Allowed RPO in seconds.
    pub rpo_seconds: Option<f64>,
    /// What is done, in order.
    pub steps: Vec<PlannedStep>,
    /// What is done at the end in any case.
    pub finally: Vec<PlannedStep>,
}

/// A step whose parameters are bound; outputs of earlier steps still stand as `$(step.output)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// Its name.
    pub name: String,
    /// Its verb.
    pub verb: String,
    /// Its arguments.
    pub with: Map<String, Value>,
    /// Longest time for the whole step, in seconds.
    pub time_limit_seconds: Option<f64>,
    /// What its receipt must say.
    pub assertions: Vec<Assertion>,
    /// What happens when it ends badly.
    pub on_failure: OnFailure,
}

/// An argument needs the output of a step that has none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step {step} needs {reference}, which no earlier step has given")]
pub struct Unresolved {
    /// The step that needs it.
    pub step: String,
    /// What is missing.
    pub reference: String,
}

/// Outputs of steps that are done, by step name.
pub type Outputs = BTreeMap<String, Map<String, Value>>;

impl PlannedStep {
    /// The call for `--plan`: outputs that are not known yet stay as `$(step.output)`.
    pub fn call_on_paper(&self, run: RunId) -> Call {
        Call {
            run,
            step: self.name.clone(),
            verb: self.verb.clone(),
            args: fill_map(&self.with, Stage::Calling, &|_| Found::Later),
        }
    }

    /// The call with every output in its place.
    pub fn call(&self, run: RunId, outputs: &Outputs) -> Result<Call, Unresolved> {
        let missing = std::cell::RefCell::new(None);
        let args = fill_map(&self.with, Stage::Calling, &|reference| {
            let value = match reference {
                Reference::Output { step, output } => outputs.get(step).and_then(|of_step| of_step.get(output)),
                Reference::Parameter(_) | Reference::Malformed(_) => None,
            };
            if let Some(value) = value {
                return Found::Value(value.clone());
            }
            missing.borrow_mut().get_or_insert_with(|| reference.to_string());
            Found::Later
        });
        match missing.into_inner() {
            None => Ok(Call { run, step: self.name.clone(), verb: self.verb.clone(), args }),
            Some(reference) => Err(Unresolved { step: self.name.clone(), reference }),
        }
    }
}

impl PlannedStep {
    /// The assertions with outputs of earlier steps in their places.
    pub fn assertions(&self, outputs: &Outputs) -> Vec<Assertion> {
        let look = |reference: &Reference| match reference {
            Reference::Output { step, output } => outputs
                .get(step)
                .and_then(|of_step| of_step.get(output))
                .map_or(Found::Nothing, |value| Found::Value(value.clone())),
            Reference::Parameter(_) | Reference::Malformed(_) => Found::Nothing,
        };
        self.assertions.iter().map(|assertion| bound_assertion(assertion, Stage::Calling, &look)).collect()
    }
}

/// Binds parameters. `given` holds texts from the command line or typed values from the configuration.
pub fn plan(checked: &Checked, run: RunId, given: &BTreeMap<String, Value>) -> Result<Plan, Vec<Mistake>> {
    let book = &checked.runbook;
    let mut mistakes = Vec::new();
    for name in given.keys().filter(|name| !book.parameters.iter().any(|parameter| parameter.name == **name)) {
        let known = book.parameters.iter().map(|parameter| parameter.name.as_str());
        mistakes.push(unplaced(name, format!("this runbook has no such parameter, {}", instead(name, known))));
    }
    let mut bound = BTreeMap::new();
    for parameter in &book.parameters {
        match bind(parameter, given.get(&parameter.name)) {
            Ok(Some(value)) => drop(bound.insert(parameter.name.clone(), value)),
            Ok(None) => {}
            Err(what) => mistakes.push(unplaced(&parameter.name, what)),
        }
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let steps = |steps: &[Step]| steps.iter().map(|step| planned(step, &bound)).collect();
    Ok(Plan {
        run,
        runbook: book.name.clone(),
        runbook_sha256: checked.sha256.clone(),
        isolation_at_least: book.isolation_at_least,
        rto_seconds: budget(book.rto.as_ref(), &bound),
        rpo_seconds: budget(book.rpo.as_ref(), &bound),
        steps: steps(&book.steps),
        finally: steps(&book.finally),
        parameters: bound,
    })
}

fn unplaced(parameter: &str, what: String) -> Mistake {
    Mistake { line: 0, column: 0, path: format!("parameter {parameter}"), what }
}

fn bind(parameter: &Parameter, given: Option<&Value>) -> Result<Option<Value>, String> {
    match given {
        Some(value) => parameter.kind.read(value).map(Some),
        None if parameter.required => Err(format!("must be given ({})", parameter.about)),
        None => Ok(parameter.default.clone()),
    }
}

fn budget(budget: Option<&Budget>, bound: &BTreeMap<String, Value>) -> Option<f64> {
    match budget? {
        Budget::Seconds(seconds) => Some(*seconds),
        Budget::Parameter(name) => bound.get(name).and_then(Value::as_f64),
    }
}

fn planned(step: &Step, bound: &BTreeMap<String, Value>) -> PlannedStep {
    let look = |reference: &Reference| match reference {
        Reference::Parameter(name) => bound.get(name).map_or(Found::Nothing, |value| Found::Value(value.clone())),
        Reference::Output { .. } | Reference::Malformed(_) => Found::Later,
    };
    let assertions = step.assertions.iter().map(|assertion| bound_assertion(assertion, Stage::Binding, &look)).collect();
    PlannedStep {
        name: step.name.clone(),
        verb: step.verb.clone(),
        with: fill_map(&step.with, Stage::Binding, &look),
        time_limit_seconds: step.time_limit_seconds,
        assertions,
        on_failure: step.on_failure,
    }
}

fn bound_assertion(assertion: &Assertion, stage: Stage, look: &dyn Fn(&Reference) -> Found) -> Assertion {
    let mut bound = assertion.clone();
    if let Test::Equals(value) = &assertion.test {
        // What has no value cannot be compared with: the assertion is undecided.
        bound.test = Test::Equals(fill(value, stage, look).unwrap_or(Value::Null));
    }
    bound
}
