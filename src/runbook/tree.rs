//! YAML as a tree in which every key and every value knows its place.
//!
//! Typed parsing would stop at the first mistake; a tree lets the reader report all of them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

use super::mistake::Mistake;

/// A place in the text: line and column, both from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct At {
    pub(super) line: u64,
    pub(super) column: u64,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: At,
    pub(super) value: Tree,
}

/// What a value can be.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, At, Node)>),
}

impl Node {
    /// The word for messages: `a list`.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Tree::Null => "nothing",
            Tree::Bool(_) => "true or false",
            Tree::Number(_) => "a number",
            Tree::Text(_) => "a text",
            Tree::List(_) => "a list",
            Tree::Map(_) => "a map",
        }
    }

    /// The value without places.
    pub(super) fn json(&self) -> Value {
        match &self.value {
            Tree::Null => Value::Null,
            Tree::Bool(flag) => Value::Bool(*flag),
            Tree::Number(number) => Value::Number(number.clone()),
            Tree::Text(text) => Value::String(text.clone()),
            Tree::List(nodes) => Value::Array(nodes.iter().map(Self::json).collect()),
            Tree::Map(entries) => {
                Value::Object(entries.iter().map(|(key, _, node)| (key.clone(), node.json())).collect::<Map<_, _>>())
            }
        }
    }
}

/// Reads a text; limits keep hostile YAML (alias bombs, deep nesting) small.
pub(super) fn parse(text: &str) -> Result<Node, Mistake> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_events: 20_000, max_nodes: 10_000, max_aliases: 100, max_depth: 32 },
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
    };
    let parsed: Result<Spanned<Loose>, _> = serde_saphyr::from_str_with_options(text, options);
    parsed.map(node).map_err(|error| {
        let (line, column) = error.location().map_or((0, 0), |place| (place.line(), place.column()));
        let words = error.without_snippet().to_string();
        let what = words.lines().next().unwrap_or_default().trim();
        // The library repeats the place in its text; ours stands in front.
        let what = what.split(" at line ").next().unwrap_or(what);
        Mistake { line, column, path: String::new(), what: format!("not readable as YAML: {what}") }
    })
}

/// The same tree on its way through serde.
enum Loose {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<String>, Spanned<Self>)>),
}

fn at(place: serde_saphyr::Location) -> At {
    At { line: place.line(), column: place.column() }
}

fn node(spanned: Spanned<Loose>) -> Node {
    let value = match spanned.value {
        Loose::Null => Tree::Null,
        Loose::Bool(flag) => Tree::Bool(flag),
        Loose::Number(number) => Tree::Number(number),
        Loose::Text(text) => Tree::Text(text),
        Loose::List(items) => Tree::List(items.into_iter().map(node).collect()),
        Loose::Map(entries) => {
            Tree::Map(entries.into_iter().map(|(key, value)| (key.value, at(key.referenced), node(value))).collect())
        }
    };
    Node { at: at(spanned.referenced), value }
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Loose, E> {
        Ok(Loose::Null)
    }

    fn visit_none<E>(self) -> Result<Loose, E> {
        Ok(Loose::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Loose, D::Error> {
        Loose::deserialize(deserializer)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Loose, E> {
        Ok(Loose::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Loose, E> {
        Ok(Loose::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Loose, E> {
        Ok(Loose::Number(number.into()))
    }

    fn visit_i128<E>(self, number: i128) -> Result<Loose, E> {
        Ok(Loose::Text(number.to_string()))
    }

    fn visit_u128<E>(self, number: u128) -> Result<Loose, E> {
        Ok(Loose::Text(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Loose, E> {
        Ok(Number::from_f64(number).map_or_else(|| Loose::Text(number.to_string()), Loose::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Loose, E> {
        Ok(Loose::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Loose, E> {
        Ok(Loose::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Loose, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Loose::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Loose, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            map.push((key, entries.next_value()?));
        }
        Ok(Loose::Map(map))
    }
}
