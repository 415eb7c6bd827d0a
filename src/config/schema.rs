//! The schema of the configuration: made from the fragments, read by the walker, by editors and by the reference page.

use serde_json::Value;

use super::fragment::ConfigFragment;

/// The JSON Schema of the whole configuration.
pub struct Schema {
    root: Value,
}

impl Schema {
    /// Made from the fragments.
    pub fn new() -> Self {
        Self { root: schemars::schema_for!(ConfigFragment).to_value() }
    }

    /// As JSON.
    pub const fn root(&self) -> &Value {
        &self.root
    }

    /// Follows `$ref`, and takes the other half of "this or null". Gives the name of the definition, too.
    pub fn resolve<'a>(&'a self, schema: &'a Value) -> (&'a Value, Option<&'a str>) {
        let mut schema = schema;
        let mut name = None;
        // Each step goes to a definition or into an anyOf; a schema of ours is not deeper than this.
        for _ in 0..16 {
            if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix("#/$defs/")) {
                let Some(found) = self.root.get("$defs").and_then(|defs| defs.get(target)) else { break };
                name = Some(target);
                schema = found;
            } else if let Some([one, other]) = schema.get("anyOf").and_then(Value::as_array).map(Vec::as_slice) {
                let is_null = |side: &Value| side.get("type").and_then(Value::as_str) == Some("null");
                if is_null(other) {
                    schema = one;
                } else if is_null(one) {
                    schema = other;
                } else {
                    break;
                }
            } else {
                break;
            }
        }
        (schema, name)
    }

    /// Puts something empty of the right form where a required key is missing, so that the other keys can still be checked.
    pub(super) fn fill(&self, schema: &Value, value: &mut Value, depth: u8) {
        let (schema, _) = self.resolve(schema);
        let (Some(properties), Value::Object(map)) = (schema.get("properties").and_then(Value::as_object), value) else { return };
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for key in required {
            let Some(below) = properties.get(key) else { continue };
            map.entry(key).or_insert_with(|| self.hollow(below));
        }
        for (key, below) in properties {
            if let Some(inner) = map.get_mut(key).filter(|_| depth < 8) {
                self.fill(below, inner, depth + 1);
            }
        }
    }

    fn hollow(&self, schema: &Value) -> Value {
        let (schema, _) = self.resolve(schema);
        if let Some((key, below)) = choices(schema).and_then(|choices| choices.into_iter().next()) {
            return serde_json::json!({ key: self.hollow(below) });
        }
        if takes(schema, "object") {
            Value::Object(serde_json::Map::new())
        } else if takes(schema, "boolean") {
            Value::Bool(false)
        } else {
            Value::String(words(schema).and_then(|words| words.first().copied()).unwrap_or_default().to_owned())
        }
    }

    /// The schema below a key, if the key may be there.
    pub fn below<'a>(&'a self, schema: &'a Value, key: &str) -> Option<&'a Value> {
        let (schema, _) = self.resolve(schema);
        let named = schema.get("properties").and_then(|properties| properties.get(key));
        named.or_else(|| schema.get("additionalProperties").filter(|any| any.is_object()))
    }
}

impl Default for Schema {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether `schema` (resolved) takes values of this JSON type.
pub(super) fn takes(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one.as_str() == Some(kind)),
        _ => false,
    }
}

/// The words of an enumeration, when `schema` (resolved) is one of words only.
pub(super) fn words(schema: &Value) -> Option<Vec<&str>> {
    if let Some(list) = schema.get("enum").and_then(Value::as_array) {
        return list.iter().map(Value::as_str).collect();
    }
    let variants = schema.get("oneOf")?.as_array()?;
    variants.iter().map(|variant| variant.get("const").and_then(Value::as_str)).collect()
}

/// The variants `{key: value}` of a choice, when `schema` (resolved) is one: key and schema of the value.
pub(super) fn choices(schema: &Value) -> Option<Vec<(&str, &Value)>> {
    let variants = schema.get("oneOf")?.as_array()?;
    variants
        .iter()
        .map(|variant| {
            let properties = variant.get("properties")?.as_object()?;
            properties.iter().next().filter(|_| properties.len() == 1).map(|(key, schema)| (key.as_str(), schema))
        })
        .collect()
}
