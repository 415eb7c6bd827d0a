//! The tree of a configuration: a place is a file's, or an environment variable.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::mistake::{At, Mistake};
use crate::yaml::{self, Broken, Spot};

/// A node of the tree.
pub(super) type Node = yaml::Node<At>;
/// What a node is.
pub(super) type Shape = yaml::Shape<At>;
/// A key with its value.
pub(super) type Entry = yaml::Entry<At>;

impl Node {
    /// Where `path` (`archive.store`, `checks[0].sql`) stands below here: the value, or the nearest node above it that is there.
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
            _ => self.json(),
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
    parse_with(text, &|spot: Spot| At::File { file: file.clone(), line: spot.line.max(1), column: spot.column.max(1) })
}

/// Reads the value of an environment variable.
pub(super) fn parse_variable(text: &str, name: &str) -> Result<Node, Box<Mistake>> {
    let name: Arc<str> = Arc::from(name);
    parse_with(text, &|_| At::Variable(name.clone()))
}

fn parse_with(text: &str, place: &dyn Fn(Spot) -> At) -> Result<Node, Box<Mistake>> {
    match yaml::parse(text) {
        Ok(node) => Ok(node.placed(place)),
        Err(Broken { at, what }) => {
            let hint = if text.contains("${") || text.contains("{{") {
                "is a placeholder such as ${NAME} unresolved there? Inside { } or [ ] it must stand in quotes"
            } else {
                ""
            };
            let text = format!("not YAML that can be used here: {what}");
            Err(Box::new(Mistake::new(&place(at), "", "config-yaml", text).hint(hint)))
        }
    }
}
