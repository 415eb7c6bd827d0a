//! A runbook checked on paper: against the language, and against the verbs that there are.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::assertion::Test;
use super::mistake::{Mistake, instead};
use super::read::{key_place, read};
use super::reference::{Reference, references};
use super::text::{Runbook, Step};
use crate::domain::{Risk, VerbSpec, sha256_hex};
use crate::yaml::{self, Broken, Spot};

/// A runbook without a mistake.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// What was read.
    pub runbook: Runbook,
    /// SHA-256 of the text, hex: which text a drill was made by.
    pub sha256: String,
}

/// Checks a runbook's text against the verbs that there are. All mistakes at once, in the order of the text.
pub fn check(text: &str, verbs: &[VerbSpec]) -> Result<Checked, Vec<Mistake>> {
    // Somebody else's parameters first: unquoted they are not even YAML, and the YAML error would hide the cause.
    let foreign = foreign_parameters(text);
    if !foreign.is_empty() {
        return Err(foreign);
    }
    let reading = read(&yaml::parse(text).map_err(|broken| vec![unreadable(broken)])?);
    let mut checker =
        Checker { book: &reading.runbook, places: &reading.places, verbs, mistakes: reading.mistakes, earlier: BTreeMap::new() };
    checker.allows();
    checker.steps();
    let mut mistakes = checker.mistakes;
    mistakes.sort();
    mistakes.dedup();
    if mistakes.is_empty() { Ok(Checked { sha256: sha256_hex(text), runbook: reading.runbook }) } else { Err(mistakes) }
}

fn unreadable(Broken { at, what }: Broken) -> Mistake {
    Mistake { line: at.line, column: at.column, path: String::new(), what: format!("not readable as YAML: {what}") }
}

/// `${x}` of Flux's envsubst and `{{x}}` of Helm: whoever delivers the file would replace them, or did not.
fn foreign_parameters(text: &str) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with('#') {
            continue;
        }
        for (mark, whose) in [("${", "Flux's envsubst"), ("{{", "Helm")] {
            let Some((before, _)) = line.split_once(mark) else { continue };
            mistakes.push(Mistake {
                line: number as u64 + 1,
                column: before.chars().count() as u64 + 1,
                path: String::new(),
                what: format!("\"{mark}\" is a parameter of {whose}, not of a runbook: it was not filled in, or it would be on delivery; a runbook's own parameter is written $(name)"),
            });
        }
    }
    mistakes
}

struct Checker<'a> {
    book: &'a Runbook,
    places: &'a BTreeMap<String, Spot>,
    verbs: &'a [VerbSpec],
    mistakes: Vec<Mistake>,
    /// Steps that may be referred to, with their outputs; `None` when the verb is unknown, so that one slip is one mistake.
    earlier: BTreeMap<String, Option<&'static [&'static str]>>,
}

impl<'a> Checker<'a> {
    fn wrong(&mut self, path: &str, what: impl Into<String>) {
        let mut place = path;
        let at = loop {
            if let Some(at) = self.places.get(place) {
                break *at;
            }
            match place.rfind(['.', '[']) {
                Some(end) => place = place.get(..end).unwrap_or_default(),
                None => break self.places.get("").copied().unwrap_or_default(),
            }
        };
        self.mistakes.push(Mistake { line: at.line, column: at.column, path: path.to_owned(), what: what.into() });
    }

    /// A mistake of the key, not of its value.
    fn wrong_key(&mut self, path: &str, what: String) {
        match self.places.get(&key_place(path)) {
            Some(at) => self.mistakes.push(Mistake { line: at.line, column: at.column, path: path.to_owned(), what }),
            None => self.wrong(path, what),
        }
    }

    fn spec(&self, name: &str) -> Option<VerbSpec> {
        self.verbs.iter().find(|spec| spec.name == name).copied()
    }

    fn allows(&mut self) {
        for (number, name) in self.book.allows.iter().enumerate() {
            let path = format!("allows[{number}]");
            match self.spec(name) {
                None => self.unknown_verb(&path, name),
                Some(spec) if spec.risk < Risk::Changes => {
                    self.wrong(&path, format!("{name} {} only, it needs no allowance", spec.risk.as_str()));
                }
                Some(_) if !self.all_steps().any(|(_, step)| step.verb == *name) => {
                    self.wrong(&path, format!("{name} is allowed but no step calls it"));
                }
                Some(_) => {}
            }
        }
    }

    fn all_steps(&self) -> impl Iterator<Item = (String, &'a Step)> + use<'a> {
        let book = self.book;
        let steps = book.steps.iter().enumerate().map(|(number, step)| (format!("steps[{number}]"), step));
        steps.chain(book.finally.iter().enumerate().map(|(number, step)| (format!("finally[{number}]"), step)))
    }

    fn steps(&mut self) {
        let mut names: BTreeSet<&str> = BTreeSet::new();
        let parameters: BTreeSet<&str> = self.book.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        for (path, step) in self.all_steps() {
            if step.name.is_empty() || step.verb.is_empty() {
                continue; // said already
            }
            if !names.insert(&step.name) {
                self.wrong(&format!("{path}.name"), format!("a second step called \"{}\"", step.name));
            }
            if parameters.contains(step.name.as_str()) {
                self.wrong(&format!("{path}.name"), format!("\"{}\" is already a parameter", step.name));
            }
            let spec = self.spec(&step.verb);
            match spec {
                Some(spec) => self.arguments(&path, step, &spec),
                None => self.unknown_verb(&format!("{path}.verb"), &step.verb),
            }
            for (name, value) in &step.with {
                self.references(&format!("{path}.with.{name}"), value);
            }
            self.assertions(&path, step, spec.as_ref());
            self.earlier.insert(step.name.clone(), spec.map(|spec| spec.outputs));
        }
        for number in 0..self.book.finally.len() {
            let path = format!("finally[{number}].on-failure");
            if self.places.contains_key(&path) {
                self.wrong(&path, "a step of finally never stops the others: leave on-failure out");
            }
        }
    }

    fn unknown_verb(&mut self, path: &str, name: &str) {
        let known = self.verbs.iter().map(|spec| spec.name);
        self.wrong(path, format!("no verb \"{name}\", {}", instead(name, known)));
    }

    fn arguments(&mut self, path: &str, step: &Step, spec: &VerbSpec) {
        if spec.risk >= Risk::Changes && !self.book.allows.iter().any(|name| name == spec.name) {
            let risk = spec.risk.as_str();
            self.wrong(
                &format!("{path}.verb"),
                format!("{} {risk} something outside of the sandbox: name it under \"allows:\"", spec.name),
            );
        }
        let known = || spec.required.iter().chain(spec.optional).copied();
        for name in spec.required.iter().filter(|name| !step.with.contains_key(**name)) {
            self.wrong(&format!("{path}.with"), format!("{} needs the argument \"{name}\"", spec.name));
        }
        for (name, value) in &step.with {
            let place = format!("{path}.with.{name}");
            if !known().any(|argument| argument == name) {
                self.wrong_key(&place, format!("{} takes no argument \"{name}\", {}", spec.name, instead(name, known())));
            }
            if spec.required.contains(&name.as_str()) {
                self.never_empty(&place, value);
            }
        }
    }

    /// An argument that must be given cannot be a parameter that may have no value.
    fn never_empty(&mut self, path: &str, value: &Value) {
        let Value::String(text) = value else { return };
        for reference in references(text) {
            let Reference::Parameter(name) = reference else { continue };
            let optional = self
                .book
                .parameters
                .iter()
                .any(|parameter| parameter.name == name && !parameter.required && parameter.default.is_none());
            if optional {
                self.wrong(
                    path,
                    format!("must have a value, but parameter {name} may have none: make it required or give it a default"),
                );
            }
        }
    }

    fn references(&mut self, path: &str, value: &Value) {
        each_text(value, &mut |text| {
            for reference in references(text) {
                self.reference(path, &reference);
            }
        });
    }

    fn reference(&mut self, path: &str, reference: &Reference) {
        match reference {
            Reference::Malformed(text) => {
                self.wrong(path, format!("\"{text}\" is neither $(parameter) nor $(step.output); write $$( for a literal $("));
            }
            Reference::Parameter(name) => self.parameter(path, name),
            Reference::Output { step, output } => self.output(path, step, output),
        }
    }

    fn parameter(&mut self, path: &str, name: &str) {
        let known = self.book.parameters.iter().map(|parameter| parameter.name.as_str());
        if !known.clone().any(|parameter| parameter == name) {
            let what = format!("no parameter \"{name}\", {}", instead(name, known));
            self.wrong(path, what);
        }
    }

    fn output(&mut self, path: &str, step: &str, output: &str) {
        match self.earlier.get(step) {
            Some(Some(outputs)) if !outputs.contains(&output) => {
                let what = format!("step {step} has no output \"{output}\", {}", instead(output, outputs.iter().copied()));
                self.wrong(path, what);
            }
            Some(_) => {}
            None if self.all_steps().any(|(_, other)| other.name == step) => {
                self.wrong(path, format!("step {step} comes later or is this very step: only earlier steps have outputs"));
            }
            None => {
                let known: Vec<String> = self.earlier.keys().cloned().collect();
                self.wrong(path, format!("no step \"{step}\", {}", instead(step, known.iter().map(String::as_str))));
            }
        }
    }

    fn assertions(&mut self, path: &str, step: &Step, spec: Option<&VerbSpec>) {
        for (number, assertion) in step.assertions.iter().enumerate() {
            let place = format!("{path}.assert[{number}]");
            if let Some(spec) =
                spec.filter(|spec| !spec.outputs.contains(&assertion.output.as_str()) && !assertion.output.is_empty())
            {
                let what = format!(
                    "{} has no output \"{}\", {}",
                    spec.name,
                    assertion.output,
                    instead(&assertion.output, spec.outputs.iter().copied())
                );
                self.wrong(&format!("{place}.output"), what);
            }
            if let Test::Equals(value) = &assertion.test {
                let place = format!("{place}.equals");
                self.never_empty(&place, value);
                self.references(&place, value);
            }
        }
    }
}

fn each_text(value: &Value, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, visit)),
        Value::Object(entries) => entries.values().for_each(|value| each_text(value, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
