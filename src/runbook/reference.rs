//! `$(parameter)` and `$(step.output)` inside values. `$$(` stands for a literal `$(`.
//!
//! The form survives Flux's envsubst (which takes `${x}`) and Helm (which takes `{{x}}`): neither touches `$(x)`.

use serde_json::{Map, Value};

/// What a reference points at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// A parameter of the runbook.
    Parameter(String),
    /// A value from the receipt of an earlier step.
    Output {
        /// The step.
        step: String,
        /// The output's name.
        output: String,
    },
    /// Something between `$(` and `)` that is neither, or is not closed.
    Malformed(String),
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Parameter(name) => write!(f, "$({name})"),
            Self::Output { step, output } => write!(f, "$({step}.{output})"),
            Self::Malformed(text) => f.write_str(text),
        }
    }
}

/// A piece of a text.
enum Piece {
    Literal(String),
    Reference(Reference),
}

/// Names of parameters, steps and outputs: lower-case letters, digits, `-` and `_`, a letter first.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}

fn reference(inside: &str) -> Reference {
    match inside.split_once('.') {
        None if is_name(inside) => Reference::Parameter(inside.to_owned()),
        Some((step, output)) if is_name(step) && is_name(output) => {
            Reference::Output { step: step.to_owned(), output: output.to_owned() }
        }
        _ => Reference::Malformed(format!("$({inside})")),
    }
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$(") {
        if let Some(before) = before.strip_suffix('$') {
            literal.push_str(before);
            literal.push_str("$(");
            rest = after;
            continue;
        }
        literal.push_str(before);
        if !literal.is_empty() {
            found.push(Piece::Literal(std::mem::take(&mut literal)));
        }
        if let Some((inside, behind)) = after.split_once(')') {
            found.push(Piece::Reference(reference(inside)));
            rest = behind;
        } else {
            found.push(Piece::Reference(Reference::Malformed(format!("$({after}"))));
            rest = "";
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        found.push(Piece::Literal(literal));
    }
    found
}

/// All references in a text, in order.
pub fn references(text: &str) -> Vec<Reference> {
    pieces(text)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Reference(reference) => Some(reference),
            Piece::Literal(_) => None,
        })
        .collect()
}

/// What a lookup answers.
pub(super) enum Found {
    /// The value.
    Value(Value),
    /// It is known to have no value: the whole argument falls away.
    Nothing,
    /// It is not known yet: the reference stays as it is.
    Later,
}

/// What a filled text is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It will be filled once more: literals and values are escaped, so that no value is ever read as a reference.
    Binding,
    /// It goes to a verb.
    Calling,
}

impl Stage {
    fn text(self, text: &str) -> String {
        if self == Self::Binding { text.replace("$(", "$$(") } else { text.to_owned() }
    }

    fn value(self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.value(item)).collect()),
            Value::Object(entries) => Value::Object(entries.into_iter().map(|(key, value)| (key, self.value(value))).collect()),
            other => other,
        }
    }
}

/// Replaces references in a value, deep. `None` when the value as a whole falls away.
///
/// A text that is one reference and nothing else takes the value with its type; inside a longer text a value is printed.
pub(super) fn fill(value: &Value, stage: Stage, look: &dyn Fn(&Reference) -> Found) -> Option<Value> {
    match value {
        Value::String(text) => fill_text(text, stage, look),
        Value::Array(items) => Some(Value::Array(items.iter().filter_map(|item| fill(item, stage, look)).collect())),
        Value::Object(entries) => Some(Value::Object(fill_map(entries, stage, look))),
        other => Some(other.clone()),
    }
}

/// [`fill`] for each value of a map; entries that fall away are left out.
pub(super) fn fill_map(entries: &Map<String, Value>, stage: Stage, look: &dyn Fn(&Reference) -> Found) -> Map<String, Value> {
    entries.iter().filter_map(|(key, value)| Some((key.clone(), fill(value, stage, look)?))).collect()
}

fn fill_text(text: &str, stage: Stage, look: &dyn Fn(&Reference) -> Found) -> Option<Value> {
    let pieces = pieces(text);
    if let [Piece::Reference(reference)] = pieces.as_slice() {
        return match look(reference) {
            Found::Value(value) => Some(stage.value(value)),
            Found::Nothing => None,
            Found::Later => Some(Value::String(text.to_owned())),
        };
    }
    let mut filled = String::new();
    for piece in &pieces {
        match piece {
            Piece::Literal(literal) => filled.push_str(&stage.text(literal)),
            Piece::Reference(reference) => match look(reference) {
                Found::Value(Value::String(value)) => filled.push_str(&stage.text(&value)),
                Found::Value(value) => filled.push_str(&stage.text(&value.to_string())),
                Found::Nothing => {}
                Found::Later => filled.push_str(&reference.to_string()),
            },
        }
    }
    Some(Value::String(filled))
}
