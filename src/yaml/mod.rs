//! YAML as a tree in which every key and every value knows where it stands. A leaf: it imports no other room.
//!
//! Typed parsing would stop at the first mistake; a tree lets its reader report all of them. One set of limits keeps hostile YAML
//! (alias bombs, deep nesting) small, wherever it is read.

mod raw;
mod words;

use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

use raw::Raw;

/// A place in the text: line and column in characters, both from 1; 0 where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// Line.
    pub line: u64,
    /// Column.
    pub column: u64,
}

/// A value with its place; `P` says more than line and column where a reader knows more.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<P = Spot> {
    /// Where it stands.
    pub at: P,
    /// What it is.
    pub shape: Shape<P>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape<P = Spot> {
    /// Nothing written behind the key.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node<P>>),
    /// Keys with values, in the order in which they stand.
    Map(Vec<Entry<P>>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<P = Spot> {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_at: P,
    /// The value.
    pub node: Node<P>,
}

/// Why a text is no YAML that can be used here. Holds nothing of the text itself: it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {what}", at.line, at.column)]
pub struct Broken {
    /// Where; 0 when the parser does not say.
    pub at: Spot,
    /// What is wrong.
    pub what: String,
}

impl<P> Shape<P> {
    /// The word for messages: `a list`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

impl<P> Node<P> {
    /// A mapping without keys.
    pub const fn empty(at: P) -> Self {
        Self { at, shape: Shape::Map(Vec::new()) }
    }

    /// The word for messages: `a list`.
    pub const fn kind(&self) -> &'static str {
        self.shape.kind()
    }

    /// The entries of a mapping; none when it is something else.
    pub fn entries(&self) -> &[Entry<P>] {
        if let Shape::Map(entries) = &self.shape { entries } else { &[] }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The value without places.
    pub fn json(&self) -> Value {
        match &self.shape {
            Shape::Null => Value::Null,
            Shape::Bool(flag) => Value::Bool(*flag),
            Shape::Number(number) => Value::Number(number.clone()),
            Shape::Text(text) => Value::String(text.clone()),
            Shape::List(items) => Value::Array(items.iter().map(Self::json).collect()),
            Shape::Map(entries) => {
                Value::Object(entries.iter().map(|entry| (entry.key.clone(), entry.node.json())).collect::<Map<_, _>>())
            }
        }
    }

    /// The same tree with other places.
    pub fn placed<Q>(self, place: &dyn Fn(P) -> Q) -> Node<Q> {
        let shape = match self.shape {
            Shape::Null => Shape::Null,
            Shape::Bool(flag) => Shape::Bool(flag),
            Shape::Number(number) => Shape::Number(number),
            Shape::Text(text) => Shape::Text(text),
            Shape::List(items) => Shape::List(items.into_iter().map(|item| item.placed(place)).collect()),
            Shape::Map(entries) => {
                let placed =
                    |entry: Entry<P>| Entry { key_at: place(entry.key_at), key: entry.key, node: entry.node.placed(place) };
                Shape::Map(entries.into_iter().map(placed).collect())
            }
        };
        Node { at: place(self.at), shape }
    }
}

/// Reads one document as a tree. An empty text is [`Shape::Null`].
pub fn parse(text: &str) -> Result<Node, Broken> {
    let read: Option<Spanned<Raw>> = read(text)?;
    Ok(read.map_or(Node { at: Spot::default(), shape: Shape::Null }, node))
}

/// Reads one document as a type, inside the same limits.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Broken> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| {
        let at = error.location().map_or(Spot::default(), spot);
        Broken { at, what: words::of(&error) }
    })
}

/// YAML 1.2 words only, no alias bombs, no second meaning for anything.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 100_000,
            max_nodes: 20_000,
            max_aliases: 200,
            max_anchors: 200,
            max_depth: 32,
            max_documents: 1,
            flow_nesting_limit: 32,
        },
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
    }
}

fn spot(place: Location) -> Spot {
    Spot { line: place.line(), column: place.column() }
}

fn node(raw: Spanned<Raw>) -> Node {
    let shape = match raw.value {
        Raw::Null => Shape::Null,
        Raw::Bool(flag) => Shape::Bool(flag),
        Raw::Number(number) => Shape::Number(number),
        Raw::Text(text) => Shape::Text(text),
        Raw::List(items) => Shape::List(items.into_iter().map(node).collect()),
        Raw::Map(entries) => {
            let entry = |(key, value): (Spanned<String>, Spanned<Raw>)| Entry {
                key_at: spot(key.referenced),
                key: key.value,
                node: node(value),
            };
            Shape::Map(entries.into_iter().map(entry).collect())
        }
    };
    Node { at: spot(raw.referenced), shape }
}
