//! The secrets that a configuration names: where each stands, and what becomes of one that is not on this machine.

use std::path::Path;

use serde_json::{Map, Value, json};

/// A reference as it stands in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// `stores.r2.read.access-key-id`.
    pub(super) key: String,
    /// The variable it is read from, here.
    pub(super) variable: String,
    /// The file it was read from there, when it was one.
    pub(super) file: Option<String>,
}

/// All references of a configuration. One to a file that is not here is turned into one to a variable, whose name says where it belongs.
pub(super) fn bring_home(config: &mut Value) -> Vec<Reference> {
    let mut found = Vec::new();
    walk(config, "", &mut found);
    found
}

fn walk(value: &mut Value, path: &str, found: &mut Vec<Reference>) {
    let child = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(map) => match named(map) {
            Some(("env", name)) => found.push(Reference { key: path.to_owned(), variable: name, file: None }),
            Some((_, file)) if is_here(&file) => {}
            Some((_, file)) => {
                let variable = variable_for(path);
                *value = json!({ "env": variable });
                found.push(Reference { key: path.to_owned(), variable, file: Some(file) });
            }
            None => map.iter_mut().for_each(|(key, below)| walk(below, &child(key), found)),
        },
        Value::Array(items) => {
            items.iter_mut().enumerate().for_each(|(index, item)| walk(item, &format!("{path}[{index}]"), found));
        }
        _ => {}
    }
}

/// `{env: NAME}` or `{file: PATH}`, and nothing else.
fn named(map: &Map<String, Value>) -> Option<(&'static str, String)> {
    let (key, value) = map.iter().next().filter(|_| map.len() == 1)?;
    let kind = ["env", "file"].into_iter().find(|kind| kind == key)?;
    Some((kind, value.as_str()?.to_owned()))
}

/// A relative path was meant from a folder that is not here.
fn is_here(file: &str) -> bool {
    let path = Path::new(file);
    path.is_absolute() && path.is_file()
}

/// `stores.r2.read.access-key-id` → `DALSEGNO_KEY_STORES_R2_READ_ACCESS_KEY_ID`.
fn variable_for(key: &str) -> String {
    let upper = key.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect::<String>();
    format!("DALSEGNO_KEY_{upper}")
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a test ends by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_here_becomes_a_variable_that_says_where_it_belongs() {
        let mut config = json!({
            "stores": {"r2": {"read": {"access-key-id": {"env": "R_ID"}, "secret-access-key": {"file": "/etc/keys/r2"}}}},
            "notify": {"heartbeat": {"url": {"file": "/proc/self/stat"}}},
            "postgres": {"db": {"checks": [{"env": "x", "name": "two keys are no reference"}]}},
        });
        let found = bring_home(&mut config);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], Reference { key: "stores.r2.read.access-key-id".into(), variable: "R_ID".into(), file: None });
        assert_eq!(found[1].variable, "DALSEGNO_KEY_STORES_R2_READ_SECRET_ACCESS_KEY");
        assert_eq!(config["stores"]["r2"]["read"]["secret-access-key"], json!({"env": found[1].variable}));
        assert_eq!(config["notify"]["heartbeat"]["url"], json!({"file": "/proc/self/stat"}), "what is here stays");
    }
}
