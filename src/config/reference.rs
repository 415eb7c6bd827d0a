//! The reference page of the configuration, made from the schema so that it cannot drift.

use std::fmt::Write as _;

use serde_json::Value;

use super::schema::{Schema, choices, takes, words};

/// docs/reference/config.md. A test compares it with the file.
pub fn reference() -> String {
    let schema = Schema::new();
    let mut page = PREFACE.to_owned();
    page.push_str("\n| key | form | needed | what it is |\n|---|---|---|---|\n");
    rows(&schema, schema.root(), "", 0, &mut page);
    page.push_str(EPILOGUE);
    page
}

fn rows(schema: &Schema, node: &Value, path: &str, depth: usize, page: &mut String) {
    let (node, _) = schema.resolve(node);
    let required: Vec<&str> =
        node.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(properties) = node.get("properties").and_then(Value::as_object).filter(|_| depth < 8) else { return };
    for (key, written) in properties {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let (resolved, name) = schema.resolve(written);
        let about = [written, resolved]
            .into_iter()
            .find_map(|schema| schema.get("description").and_then(Value::as_str))
            .unwrap_or_default();
        let needed = if required.contains(&key.as_str()) { "yes" } else { "" };
        let about = about.replace('\n', " ").replace('|', "\\|").replace('<', "&lt;");
        let _ = writeln!(page, "| `{path}` | {} | {needed} | {about} |", form(schema, resolved, name));
        if name == Some("SecretRef") || choices(resolved).is_some() {
            continue;
        }
        if let Some(any) = resolved.get("additionalProperties").filter(|any| any.is_object()) {
            rows(schema, any, &format!("{path}.NAME"), depth + 1, page);
        } else if let Some(items) = resolved.get("items") {
            rows(schema, items, &format!("{path}[]"), depth + 1, page);
        } else {
            rows(schema, resolved, &path, depth + 1, page);
        }
    }
}

fn form(schema: &Schema, resolved: &Value, name: Option<&str>) -> String {
    if name == Some("SecretRef") {
        return "`{env: NAME}` or `{file: PATH}`".to_owned();
    }
    if name == Some("Duration") {
        return "duration".to_owned();
    }
    if let Some(words) = words(resolved) {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    if let Some(choices) = choices(resolved) {
        let shown = choices.iter().map(|(key, value)| format!("`{{{key}: {}}}`", form(schema, schema.resolve(value).0, None)));
        return shown.collect::<Vec<_>>().join(", ");
    }
    let table =
        [("object", "mapping"), ("array", "list"), ("boolean", "true, false"), ("integer", "whole number"), ("number", "number")];
    table.iter().find(|(kind, _)| takes(resolved, kind)).map_or("text", |(_, word)| word).to_owned()
}

const PREFACE: &str = "\
# Configuration

<!-- Made from the schema (src/config/reference.rs). Change the doc comments of the fragments, then run
     `UPDATE_DOCS=1 cargo test --test it config::` -->

One YAML file, or a folder whose `*.yaml` files are merged in the order of their names (mappings grow together; any other key that is
set twice is a mistake). `dalsegno init` writes a commented one to start from, `dalsegno config check` says all mistakes at once,
`dalsegno config schema` prints the JSON Schema for editors.

Without `--config` (or `DALSEGNO_CONFIG`, several paths joined by `:`) these are tried in this order: `dalsegno.yaml` in the working
folder, then the folder `/etc/dalsegno`.

Relative paths are meant from the folder of the file they stand in.

## Secrets

Only by reference: `{env: NAME}` or `{file: PATH}`. A value written in YAML is refused, and not repeated. One newline at the end of a
file is not part of the secret. A file that everybody may read is a warning.

## Values from the environment

`DALSEGNO__STORES__MINIO__ENDPOINT=https://…` sets `stores.minio.endpoint`: two underscores between keys, upper case, `_` for `-`.
Where a text belongs the value is taken as it is; elsewhere it is read as YAML: `DALSEGNO__DRILL__POSTGRES='[/opt/pg/bin]'`,
`DALSEGNO__STORES__MINIO__READ__ACCESS_KEY_ID='{env: R_ID}'`. The environment wins over files.

## Placeholders

`TBD-…`, `CHANGEME`, `REPLACE…` (as words in upper case), `${…}`, `{{…}}`, `<…>`, and hosts of example.com, example.net and example.org
are values that nobody filled in, also inside secrets. `config check` refuses them. A pass goes on: the part with the placeholder is not
asked, which is said as the critical finding `config-placeholder-unresolved`; everything else is looked at. A secret that is missing
costs its part in the same way.

## Keys
";

const EPILOGUE: &str = "
A duration is a whole number with its unit: `90s`, `15m`, `26h`, `35d` (also `1h30m`, `500ms`, `2w`).
Names (NAME) have letters, digits, hyphens and underscores.
";
