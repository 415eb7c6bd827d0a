//! Values from the environment: `DALSEGNO__STORES__MINIO__ENDPOINT=https://…` sets `stores.minio.endpoint`.
//!
//! Two underscores stand between keys. A key is written in upper case with `_` for `-`; the name of a store or a database
//! that is there already is found whatever its case. Where a text belongs, the value is taken as it is; elsewhere it is
//! read as YAML (`{env: NAME}`, `[a, b]`, `2000`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::mistake::{At, Mistake};
use super::schema::{Schema, takes, words};
use super::tree::{Entry, Node, Shape, parse_variable};

/// What every override begins with.
const BEGIN: &str = "DALSEGNO__";

/// Lays all overrides over the tree. They win over every file.
pub(super) fn lay(root: &mut Node, env: &BTreeMap<String, String>, schema: &Schema, mistakes: &mut Vec<Mistake>) {
    for (name, value) in env {
        let Some(path) = name.strip_prefix(BEGIN) else { continue };
        let steps: Vec<&str> = path.split("__").collect();
        if steps.iter().any(|step| step.is_empty()) {
            let at = At::Variable(Arc::from(name.as_str()));
            let mistake = Mistake::new(&at, "", "config-override", "names no key")
                .hint("write DALSEGNO__KEY__KEY=value, with two underscores between keys");
            mistakes.push(mistake);
            continue;
        }
        if let Err(mistake) = set(root, &steps, schema.root(), schema, name, value) {
            mistakes.push(*mistake);
        }
    }
}

fn set(
    node: &mut Node,
    steps: &[&str],
    schema: &serde_json::Value,
    whole: &Schema,
    name: &str,
    value: &str,
) -> Result<(), Box<Mistake>> {
    let Some((step, rest)) = steps.split_first() else {
        *node = value_for(schema, whole, name, value)?;
        return Ok(());
    };
    let at = At::Variable(Arc::from(name));
    if !matches!(node.shape, Shape::Map(_)) {
        *node = Node::empty(at.clone());
    }
    let Shape::Map(entries) = &mut node.shape else { return Ok(()) };
    let wanted = plain(step);
    let known = entries.iter().position(|entry| plain(&entry.key) == wanted);
    let index = known.unwrap_or_else(|| {
        entries.push(Entry { key: wanted, key_at: at.clone(), node: Node { at, shape: Shape::Null } });
        entries.len() - 1
    });
    let Some(entry) = entries.get_mut(index) else { return Ok(()) };
    let unknown = serde_json::Value::Bool(true);
    let below = whole.below(schema, &entry.key).unwrap_or(&unknown);
    set(&mut entry.node, rest, below, whole, name, value)
}

fn plain(key: &str) -> String {
    key.to_ascii_lowercase().replace('_', "-")
}

fn value_for(schema: &serde_json::Value, whole: &Schema, name: &str, value: &str) -> Result<Node, Box<Mistake>> {
    let (schema, _) = whole.resolve(schema);
    if takes(schema, "string") || words(schema).is_some() {
        return Ok(Node { at: At::Variable(Arc::from(name)), shape: Shape::Text(value.to_owned()) });
    }
    parse_variable(value, name)
}
