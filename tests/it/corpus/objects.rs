//! Kubernetes objects of an entry: what differs from the lists of its base.
//!
//! `LIST.add.jsonl` holds objects, one a line. One whose namespace and name are in the list is merged into it (RFC 7386: null takes a
//! field away), another comes new. A line with `"repeat": N` comes N times, with `{n}` in its texts counted up from 1.
//! `LIST.drop` holds lines `namespace/name` of objects that are not there.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::compose::rows;

pub(super) fn change(context: &Path) {
    let names = fs::read_dir(context).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut stems: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".add.jsonl").or(name.strip_suffix(".drop")).map(str::to_owned)).collect();
    stems.sort();
    stems.dedup();
    for stem in stems {
        let file = context.join(format!("{stem}.json"));
        let mut items = fs::read_to_string(&file).map_or_else(|_| Vec::new(), |text| items(&text, &file));
        for gone in fs::read_to_string(context.join(format!("{stem}.drop"))).unwrap_or_default().lines() {
            let before = items.len();
            items.retain(|item| identity(item) != gone);
            assert!(items.len() < before, "{}: {stem}.drop names {gone}, which is not there", context.display());
        }
        for change in rows(&context.join(format!("{stem}.add.jsonl"))).into_iter().flat_map(repeated) {
            match items.iter_mut().find(|item| identity(item) == identity(&change)) {
                Some(known) => merge(known, change),
                None => items.push(change),
            }
        }
        fs::write(&file, json!({ "kind": "List", "items": items }).to_string()).unwrap();
    }
}

fn items(text: &str, file: &Path) -> Vec<Value> {
    let list: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    list["items"].as_array().unwrap().clone()
}

fn identity(object: &Value) -> String {
    let meta = &object["metadata"];
    format!("{}/{}", meta["namespace"].as_str().unwrap_or_default(), meta["name"].as_str().unwrap())
}

fn repeated(mut object: Value) -> Vec<Value> {
    let times = object.as_object_mut().unwrap().remove("repeat");
    let Some(times) = times.map(|times| times.as_u64().unwrap()) else { return vec![object] };
    let text = object.to_string();
    (1..=times).map(|n| serde_json::from_str(&text.replace("{n}", &n.to_string())).unwrap()).collect()
}

fn merge(known: &mut Value, change: Value) {
    let Value::Object(change) = change else {
        *known = change;
        return;
    };
    if !known.is_object() {
        *known = json!({});
    }
    let fields = known.as_object_mut().unwrap();
    for (name, value) in change {
        if value.is_null() {
            fields.remove(&name);
        } else {
            merge(fields.entry(name).or_insert(Value::Null), value);
        }
    }
}
