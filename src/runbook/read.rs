//! The tree of a runbook read into its types; every mistake is kept, none stops the reading.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::LANGUAGE;
use super::assertion::{Assertion, Test};
use super::kind::{Kind, duration_seconds};
use super::mistake::{Mistake, instead};
use super::reference::{Reference, is_name, references};
use super::text::{Budget, OnFailure, Parameter, Runbook, Step};
use crate::domain::Isolation;
use crate::yaml::{Entry, Node, Shape, Spot};

const TOP: &[&str] = &["runbook", "name", "purpose", "parameters", "isolation-at-least", "budgets", "allows", "steps", "finally"];
const PARAMETER: &[&str] = &["type", "default", "required", "about"];
const STEP: &[&str] = &["name", "verb", "with", "time-limit", "assert", "on-failure"];
const ASSERTION: &[&str] = &["output", "equals", "at-least", "present", "tells-stale"];
const ISOLATIONS: [Isolation; 4] = [Isolation::None, Isolation::Declared, Isolation::Closed, Isolation::Sealed];

/// What was read, where each key path stands, and what was wrong.
pub(super) struct Reading {
    pub(super) runbook: Runbook,
    pub(super) places: BTreeMap<String, Spot>,
    pub(super) mistakes: Vec<Mistake>,
}

/// Reads the tree.
pub(super) fn read(root: &Node) -> Reading {
    let mut reader = Reader { places: BTreeMap::new(), mistakes: Vec::new() };
    let runbook = reader.runbook(root);
    Reading { runbook, places: reader.places, mistakes: reader.mistakes }
}

struct Reader {
    places: BTreeMap<String, Spot>,
    mistakes: Vec<Mistake>,
}

/// The entries of a map by key.
type Fields<'a> = BTreeMap<&'a str, &'a Node>;

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Under which name the place of a key itself is kept, beside that of its value.
pub(super) fn key_place(path: &str) -> String {
    format!("{path}:key")
}

impl Reader {
    fn wrong(&mut self, at: Spot, path: &str, what: impl Into<String>) {
        self.mistakes.push(Mistake { line: at.line, column: at.column, path: path.to_owned(), what: what.into() });
    }

    /// The fields of a map; keys outside of `known` (if that is given) are mistakes.
    fn fields<'a>(&mut self, node: &'a Node, path: &str, known: Option<&[&str]>) -> Fields<'a> {
        self.places.insert(path.to_owned(), node.at);
        let Shape::Map(entries) = &node.shape else {
            self.wrong(node.at, path, format!("must be a map, is {}", node.kind()));
            return Fields::new();
        };
        let mut fields = Fields::new();
        for Entry { key, key_at: at, node: value } in entries {
            let place = below(path, key);
            self.places.insert(place.clone(), value.at);
            self.places.insert(key_place(&place), *at);
            if let Some(known) = known.filter(|known| !known.contains(&key.as_str())) {
                self.wrong(*at, &place, format!("unknown key, {}", instead(key, known.iter().copied())));
                continue;
            }
            fields.insert(key, value);
        }
        fields
    }

    fn list<'a>(&mut self, node: Option<&&'a Node>, path: &str) -> &'a [Node] {
        match node.map(|node| (&node.shape, node)) {
            None => &[],
            Some((Shape::List(items), _)) => items,
            Some((_, node)) => {
                self.wrong(node.at, path, format!("must be a list, is {}", node.kind()));
                &[]
            }
        }
    }

    fn text(&mut self, fields: &Fields<'_>, key: &str, path: &str, at: Spot) -> String {
        let Some(node) = fields.get(key) else {
            self.wrong(at, path, format!("\"{key}\" is missing"));
            return String::new();
        };
        match &node.shape {
            Shape::Text(text) if !text.trim().is_empty() => text.trim().to_owned(),
            Shape::Number(number) => number.to_string(),
            _ => {
                self.wrong(node.at, &below(path, key), format!("must be a text, is {}", node.kind()));
                String::new()
            }
        }
    }

    fn name(&mut self, fields: &Fields<'_>, path: &str, at: Spot) -> String {
        let name = self.text(fields, "name", path, at);
        if !name.is_empty() && !is_name(&name) {
            let at = fields.get("name").map_or(at, |node| node.at);
            self.wrong(
                at,
                &below(path, "name"),
                format!("\"{name}\" is not a name (lower-case letters, digits, - and _, a letter first)"),
            );
        }
        name
    }

    fn flag(&mut self, fields: &Fields<'_>, key: &str, path: &str) -> bool {
        match fields.get(key).map(|node| (&node.shape, node)) {
            None => false,
            Some((Shape::Bool(flag), _)) => *flag,
            Some((_, node)) => {
                self.wrong(node.at, &below(path, key), format!("must be true or false, is {}", node.kind()));
                false
            }
        }
    }

    fn runbook(&mut self, root: &Node) -> Runbook {
        let fields = self.fields(root, "", Some(TOP));
        self.language(&fields, root.at);
        let name = self.name(&fields, "", root.at);
        let purpose = self.text(&fields, "purpose", "", root.at);
        let parameters = fields.get("parameters").map(|node| self.parameters(node)).unwrap_or_default();
        let isolation_at_least = self.isolation(&fields, root.at);
        let (rto, rpo) = fields.get("budgets").map(|node| self.budgets(node, &parameters)).unwrap_or_default();
        let allows = self.texts(fields.get("allows"), "allows");
        let steps = self.steps(fields.get("steps"), "steps");
        if fields.get("steps").is_none_or(|node| matches!(&node.shape, Shape::List(items) if items.is_empty())) {
            self.wrong(root.at, "steps", "a runbook needs at least one step");
        }
        let finally = self.steps(fields.get("finally"), "finally");
        Runbook { name, purpose, parameters, isolation_at_least, rto, rpo, allows, steps, finally }
    }

    fn language(&mut self, fields: &Fields<'_>, at: Spot) {
        match fields.get("runbook").map(|node| (&node.shape, node)) {
            None => self.wrong(at, "", format!("the first line must say the version of the language: \"runbook: {LANGUAGE}\"")),
            Some((Shape::Number(number), _)) if number.as_u64() == Some(LANGUAGE) => {}
            Some((Shape::Number(number), node)) => self.wrong(
                node.at,
                "runbook",
                format!("language version {number} is not known to this program, which speaks version {LANGUAGE}"),
            ),
            Some((_, node)) => self.wrong(node.at, "runbook", format!("must be the number {LANGUAGE}, is {}", node.kind())),
        }
    }

    fn isolation(&mut self, fields: &Fields<'_>, at: Spot) -> Isolation {
        let word = self.text(fields, "isolation-at-least", "", at);
        if let Some(isolation) = ISOLATIONS.into_iter().find(|isolation| isolation.as_str() == word) {
            return isolation;
        }
        if !word.is_empty() {
            let at = fields.get("isolation-at-least").map_or(at, |node| node.at);
            let known = ISOLATIONS.map(Isolation::as_str);
            self.wrong(at, "isolation-at-least", format!("\"{word}\" is not an isolation, {}", instead(&word, known)));
        }
        Isolation::Sealed
    }

    fn parameters(&mut self, node: &Node) -> Vec<Parameter> {
        let fields = self.fields(node, "parameters", None);
        fields.into_iter().map(|(name, node)| self.parameter(name, node)).collect()
    }

    fn parameter(&mut self, name: &str, node: &Node) -> Parameter {
        let path = below("parameters", name);
        if !is_name(name) {
            self.wrong(node.at, &path, "not a name (lower-case letters, digits, - and _, a letter first)");
        }
        let fields = self.fields(node, &path, Some(PARAMETER));
        let word = self.text(&fields, "type", &path, node.at);
        let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == word);
        if kind.is_none() && !word.is_empty() {
            let at = fields.get("type").map_or(node.at, |node| node.at);
            let known = Kind::ALL.map(Kind::as_str);
            self.wrong(at, &below(&path, "type"), format!("\"{word}\" is not a type, {}", instead(&word, known)));
        }
        let required = self.flag(&fields, "required", &path);
        let default = fields.get("default").and_then(|node| self.default(node, kind?, &path));
        if let Some(node) = fields.get("default").filter(|_| required) {
            self.wrong(node.at, &below(&path, "default"), "a required parameter has no default: keep one of the two");
        }
        let about = self.text(&fields, "about", &path, node.at);
        Parameter { name: name.to_owned(), kind: kind.unwrap_or(Kind::Text), default, required, about }
    }

    fn default(&mut self, node: &Node, kind: Kind, path: &str) -> Option<Value> {
        match kind.read(&node.json()) {
            Ok(value) => Some(value),
            Err(what) => {
                self.wrong(node.at, &below(path, "default"), what);
                None
            }
        }
    }

    fn budgets(&mut self, node: &Node, parameters: &[Parameter]) -> (Option<Budget>, Option<Budget>) {
        let fields = self.fields(node, "budgets", Some(&["rto", "rpo"]));
        let mut budget = |key: &str| fields.get(key).and_then(|node| self.budget(node, key, parameters));
        (budget("rto"), budget("rpo"))
    }

    fn budget(&mut self, node: &Node, key: &str, parameters: &[Parameter]) -> Option<Budget> {
        let path = below("budgets", key);
        let Shape::Text(text) = &node.shape else {
            self.wrong(node.at, &path, format!("must be a duration (90s, 15m) or a parameter, is {}", node.kind()));
            return None;
        };
        if let [Reference::Parameter(name)] = references(text).as_slice() {
            match parameters.iter().find(|parameter| parameter.name == *name) {
                Some(parameter) if parameter.kind == Kind::Duration => return Some(Budget::Parameter(name.clone())),
                Some(parameter) => {
                    let kind = parameter.kind.as_str();
                    self.wrong(node.at, &path, format!("parameter {name} is a {kind}, a budget needs a duration"));
                }
                None => {
                    let known = parameters.iter().map(|parameter| parameter.name.as_str());
                    self.wrong(node.at, &path, format!("no parameter {name}, {}", instead(name, known)));
                }
            }
            return None;
        }
        match duration_seconds(text) {
            Ok(seconds) => Some(Budget::Seconds(seconds)),
            Err(what) => {
                self.wrong(node.at, &path, what);
                None
            }
        }
    }

    fn texts(&mut self, node: Option<&&Node>, path: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for (number, item) in self.list(node, path).iter().enumerate() {
            let path = format!("{path}[{number}]");
            self.places.insert(path.clone(), item.at);
            match &item.shape {
                Shape::Text(text) => texts.push(text.clone()),
                _ => self.wrong(item.at, &path, format!("must be a text, is {}", item.kind())),
            }
        }
        texts
    }

    fn steps(&mut self, node: Option<&&Node>, path: &str) -> Vec<Step> {
        let items = self.list(node, path);
        items.iter().enumerate().map(|(number, item)| self.step(item, &format!("{path}[{number}]"))).collect()
    }

    fn step(&mut self, node: &Node, path: &str) -> Step {
        let fields = self.fields(node, path, Some(STEP));
        if fields.is_empty() {
            return Step {
                name: String::new(),
                verb: String::new(),
                with: Map::new(),
                time_limit_seconds: None,
                assertions: Vec::new(),
                on_failure: OnFailure::Stop,
            };
        }
        let name = self.name(&fields, path, node.at);
        let verb = self.text(&fields, "verb", path, node.at);
        let with = fields.get("with").map(|node| self.with(node, &below(path, "with"))).unwrap_or_default();
        let time_limit_seconds = fields.get("time-limit").and_then(|node| self.time_limit(node, &below(path, "time-limit")));
        let asserted = below(path, "assert");
        let items = self.list(fields.get("assert"), &asserted);
        let assertions = items
            .iter()
            .enumerate()
            .filter_map(|(number, item)| self.assertion(item, &format!("{asserted}[{number}]")))
            .collect();
        let on_failure = fields.get("on-failure").map(|node| self.on_failure(node, path)).unwrap_or_default();
        Step { name, verb, with, time_limit_seconds, assertions, on_failure }
    }

    fn with(&mut self, node: &Node, path: &str) -> Map<String, Value> {
        self.fields(node, path, None).into_iter().map(|(key, node)| (key.to_owned(), node.json())).collect()
    }

    fn time_limit(&mut self, node: &Node, path: &str) -> Option<f64> {
        let read = match &node.shape {
            Shape::Text(text) => duration_seconds(text),
            _ => Err(format!("must be a duration (90s, 15m), is {}", node.kind())),
        };
        read.map_err(|what| self.wrong(node.at, path, what)).ok()
    }

    fn on_failure(&mut self, node: &Node, path: &str) -> OnFailure {
        match &node.shape {
            Shape::Text(word) if word == "stop" => OnFailure::Stop,
            Shape::Text(word) if word == "continue" => OnFailure::Continue,
            _ => {
                self.wrong(node.at, &below(path, "on-failure"), "must be \"stop\" or \"continue\"");
                OnFailure::Stop
            }
        }
    }

    fn assertion(&mut self, node: &Node, path: &str) -> Option<Assertion> {
        let fields = self.fields(node, path, Some(ASSERTION));
        let output = self.text(&fields, "output", path, node.at);
        let tells_stale = self.flag(&fields, "tells-stale", path);
        let tests: Vec<&str> = ["equals", "at-least", "present"].into_iter().filter(|key| fields.contains_key(key)).collect();
        let [key] = tests.as_slice() else {
            self.wrong(node.at, path, "needs exactly one of: equals, at-least, present");
            return None;
        };
        let value = fields.get(key)?;
        let test = match (*key, &value.shape) {
            ("at-least", Shape::Number(number)) => Test::AtLeast(number.as_f64()?),
            ("present", Shape::Bool(flag)) => Test::Present(*flag),
            ("equals", Shape::Text(_) | Shape::Number(_) | Shape::Bool(_)) => Test::Equals(value.json()),
            ("at-least", _) => return self.no_test(value, path, key, "a number"),
            ("present", _) => return self.no_test(value, path, key, "true or false"),
            _ => return self.no_test(value, path, key, "a text, a number, true or false"),
        };
        Some(Assertion { output, test, tells_stale })
    }

    fn no_test(&mut self, node: &Node, path: &str, key: &str, right: &str) -> Option<Assertion> {
        self.wrong(node.at, &below(path, key), format!("must be {right}, is {}", node.kind()));
        None
    }
}
