//! YAML as a tree in which every key and value knows where it stands.

use std::path::Path;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

use super::mistake::{At, Mistake};

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// Where it stands.
    pub(super) at: At,
    /// What it is.
    pub(super) shape: Shape,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Nothing written behind the key.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys with values, in the order in which they stand.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// The key.
    pub(super) key: String,
    /// Where the key stands.
    pub(super) key_at: At,
    /// The value.
    pub(super) node: Node,
}

impl Node {
    /// A mapping without keys.
    pub(super) const fn empty(at: At) -> Self {
        Self { at, shape: Shape::Map(Vec::new()) }
    }

    /// The entries of a mapping; none when it is something else.
    pub(super) fn entries(&self) -> &[Entry] {
        if let Shape::Map(entries) = &self.shape { entries } else { &[] }
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// Where `path` (`archive.store`, `checks[0].sql`) stands: the value, or the nearest node above it that is there.
    pub(super) fn place_of(&self, path: &str) -> At {
        let mut node = self;
        for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
            let next = match (&node.shape, step.strip_suffix(']')) {
                (Shape::List(items), Some(index)) => index.parse::<usize>().ok().and_then(|index| items.get(index)),
                _ => node.get(step),
            };
            let Some(next) = next else { break };
            node = next;
        }
        node.at.clone()
    }

    /// Plain JSON, without keys that have nothing behind them and without the nodes for which `leave_out` says so.
    pub(super) fn to_json(&self, path: &str, leave_out: &dyn Fn(&str) -> bool) -> Value {
        match &self.shape {
            Shape::Null => Value::Null,
            Shape::Bool(value) => Value::Bool(*value),
            Shape::Number(value) => Value::Number(value.clone()),
            Shape::Text(value) => Value::String(value.clone()),
            Shape::List(items) => {
                let paths = items.iter().enumerate().map(|(index, item)| (format!("{path}[{index}]"), item));
                Value::Array(
                    paths.filter(|(path, _)| !leave_out(path)).map(|(path, item)| item.to_json(&path, leave_out)).collect(),
                )
            }
            Shape::Map(entries) => {
                let mut map = Map::new();
                for entry in entries.iter().filter(|entry| entry.node.shape != Shape::Null) {
                    let path = child(path, &entry.key);
                    if !leave_out(&path) {
                        map.insert(entry.key.clone(), entry.node.to_json(&path, leave_out));
                    }
                }
                Value::Object(map)
            }
        }
    }
}

/// `path.key`.
pub(super) fn child(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Reads one document. An empty text is an empty mapping.
pub(super) fn parse(text: &str, file: &Path) -> Result<Node, Box<Mistake>> {
    let file: Arc<Path> = Arc::from(file);
    let place =
        |location: Location| At::File { file: file.clone(), line: location.line().max(1), column: location.column().max(1) };
    parse_with(text, &place)
}

/// Reads the value of an environment variable.
pub(super) fn parse_variable(text: &str, name: &str) -> Result<Node, Box<Mistake>> {
    let name: Arc<str> = Arc::from(name);
    parse_with(text, &|_| At::Variable(name.clone()))
}

fn parse_with(text: &str, place: &dyn Fn(Location) -> At) -> Result<Node, Box<Mistake>> {
    match serde_saphyr::from_str_with_options::<Option<Spanned<Raw>>>(text, options()) {
        Ok(Some(raw)) => Ok(located(raw, place)),
        Ok(None) => Ok(Node { at: place(Location::UNKNOWN), shape: Shape::Null }),
        Err(error) => {
            let at = place(error.location().unwrap_or(Location::UNKNOWN));
            // Without the snippet: the line may hold what somebody took for a good place for a secret.
            let told = error.without_snippet().to_string();
            let told = told.lines().next().unwrap_or_default().trim();
            let hint = if text.contains("${") || text.contains("{{") {
                "is a placeholder such as ${NAME} unresolved there? Inside { } or [ ] it must stand in quotes"
            } else {
                ""
            };
            Err(Box::new(Mistake::new(&at, "", "config-yaml", format!("not YAML that can be used here: {told}")).hint(hint)))
        }
    }
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

fn located(raw: Spanned<Raw>, place: &dyn Fn(Location) -> At) -> Node {
    let shape = match raw.value {
        Raw::Null => Shape::Null,
        Raw::Bool(value) => Shape::Bool(value),
        Raw::Number(value) => Shape::Number(value),
        Raw::Text(value) => Shape::Text(value),
        Raw::List(items) => Shape::List(items.into_iter().map(|item| located(item, place)).collect()),
        Raw::Map(entries) => Shape::Map(
            entries
                .into_iter()
                .map(|(key, value)| Entry { key_at: place(key.referenced), key: key.value, node: located(value, place) })
                .collect(),
        ),
    };
    Node { at: place(raw.referenced), shape }
}

/// What serde is given to build.
enum Raw {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a text, a number, true or false, a list or a mapping")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        deserializer.deserialize_any(Self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        // Infinity and not-a-number have no place in a configuration; as text they meet the type check.
        Ok(Number::from_f64(value).map_or_else(|| Raw::Text(value.to_string()), Raw::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Raw::Map(map))
    }
}
