//! Holds the tree against the schema: unknown keys, wrong types, missing keys, words, ranges. All mistakes at once.

use serde_json::Value;

use super::mistake::Mistake;
use super::placeholder::{Kind, is_placeholder};
use super::schema::{Schema, choices, takes, words};
use super::tree::{Entry, Node, Shape, child};
use crate::domain::{Placeholder, Span, SpanError, Subject, nearest};

/// Longest name of a store, a database, a webhook.
const LONGEST_NAME: usize = 63;

/// What the walk found.
#[derive(Default)]
pub(super) struct Walked {
    /// Mistakes of form.
    pub(super) mistakes: Vec<Mistake>,
    /// Values that nobody filled in, with the subject still to be set.
    pub(super) placeholders: Vec<Placeholder>,
}

/// Walks the whole tree.
pub(super) fn walk(schema: &Schema, root: &Node) -> Walked {
    let mut walk = Walk { schema, found: Walked::default() };
    walk.node(root, schema.root(), "");
    walk.found
}

struct Walk<'a> {
    schema: &'a Schema,
    found: Walked,
}

impl Walk<'_> {
    fn node(&mut self, node: &Node, schema: &Value, path: &str) {
        let free = schema.get("x-free-text").is_some();
        let (schema, name) = self.schema.resolve(schema);
        let secret = name == Some("SecretRef");
        if let Shape::Text(text) = &node.shape
            && is_placeholder(text, kind_of(path, free, secret))
        {
            self.found.placeholders.push(Placeholder {
                subject: Subject::dalsegno("config"),
                key_path: path.to_owned(),
                value: if secret { "***".to_owned() } else { text.clone() },
                at: node.at.to_string(),
            });
            return;
        }
        if secret {
            return self.secret(node, schema, path);
        }
        if let Some(words) = words(schema) {
            return self.word(node, &words, path);
        }
        if let Some(choices) = choices(schema) {
            return self.choice(node, &choices, path);
        }
        match &node.shape {
            // A key with nothing behind it counts as left out; whether it may be is asked where the keys are.
            Shape::Null => {}
            Shape::Map(entries) if takes(schema, "object") => self.map(node, entries, schema, path),
            Shape::List(items) if takes(schema, "array") => {
                if let Some(of) = schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.node(item, of, &format!("{path}[{index}]"));
                    }
                }
            }
            Shape::Bool(_) if takes(schema, "boolean") => {}
            Shape::Number(number) if takes(schema, "number") || (takes(schema, "integer") && !number.is_f64()) => {
                self.range(node, number.as_f64().unwrap_or_default(), schema, path);
            }
            Shape::Text(text) if takes(schema, "string") => {
                if name == Some("Duration")
                    && let Err(error) = text.parse::<Span>()
                {
                    self.span(node, &error, path);
                }
            }
            other => self.wrong_type(node, other, schema, name, path),
        }
    }

    fn map(&mut self, node: &Node, entries: &[Entry], schema: &Value, path: &str) {
        let empty = serde_json::Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let any = schema.get("additionalProperties").filter(|any| any.is_object());
        // Keys that are subjects have slashes, and may end in a star.
        let subjects = schema.get("x-subjects").is_some();
        for entry in entries {
            let path = child(path, &entry.key);
            match (properties.get(&entry.key), any) {
                (Some(schema), _) => self.node(&entry.node, schema, &path),
                (None, Some(schema)) => {
                    if subjects && !is_subjects(&entry.key) {
                        self.found.mistakes.push(
                            Mistake::new(
                                &entry.key_at,
                                &path,
                                "config-name-invalid",
                                format!("{:?} names no subject", entry.key),
                            )
                            .hint("a subject, its end, or all below: pg/home/prod/keycloak-db, keycloak-db, pg/home/prod/*"),
                        );
                    } else if !subjects && !is_name(&entry.key) {
                        self.found.mistakes.push(
                            Mistake::new(&entry.key_at, &path, "config-name-invalid", format!("{:?} is not a name", entry.key))
                                .hint("a name has letters, digits, hyphens and underscores, 63 at most"),
                        );
                    }
                    if entry.node.shape == Shape::Null {
                        self.missing(&entry.node, &path, "is empty");
                    }
                    self.node(&entry.node, schema, &path);
                }
                (None, None) => self.unknown(entry, properties, &path),
            }
        }
        for required in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            let path = child(path, required);
            match node.get(required) {
                None => self.missing(node, &path, "is missing"),
                Some(value) if value.shape == Shape::Null => self.missing(value, &path, "is empty"),
                Some(_) => {}
            }
        }
    }

    fn missing(&mut self, node: &Node, path: &str, what: &str) {
        let mistake = Mistake::new(&node.at, path, "config-key-missing", format!("{what}, and has no default"));
        self.found.mistakes.push(mistake);
    }

    fn unknown(&mut self, entry: &Entry, properties: &serde_json::Map<String, Value>, path: &str) {
        let known: Vec<&str> = properties.keys().map(String::as_str).collect();
        let below = properties.iter().find(|(_, schema)| {
            let (schema, _) = self.schema.resolve(schema);
            schema.get("properties").and_then(|properties| properties.get(&entry.key)).is_some()
        });
        let text = match (nearest(&entry.key, known.iter().copied()), below) {
            (_, Some((parent, _))) => format!("unknown key here; it belongs below \"{parent}\""),
            (Some(name), None) => format!("unknown key, did you mean \"{name}\"?"),
            (None, None) => format!("unknown key; known here: {}", known.join(", ")),
        };
        self.found.mistakes.push(Mistake::new(&entry.key_at, path, "config-key-unknown", text));
    }

    fn secret(&mut self, node: &Node, schema: &Value, path: &str) {
        let hint = "write where it is found: {env: NAME} or {file: PATH}; never the value itself";
        // Nothing of what stands here is repeated: it may be the secret.
        let refuse = |text: &str| Mistake::new(&node.at, path, "secret-not-by-reference", text).hint(hint);
        match &node.shape {
            Shape::Map(entries) => {
                let choices = choices(schema).unwrap_or_default();
                let [entry] = entries.as_slice() else {
                    return self.found.mistakes.push(refuse("a secret is named by exactly one of env and file"));
                };
                let Some((key, _)) = choices.iter().find(|(key, _)| *key == entry.key) else {
                    return self.found.mistakes.push(refuse("a secret is named by env or file, and by nothing else"));
                };
                let Shape::Text(text) = &entry.node.shape else {
                    return self.found.mistakes.push(refuse("a secret is named by a text behind env or file"));
                };
                let inner = child(path, key);
                if is_placeholder(text, Kind::Plain) {
                    self.found.placeholders.push(Placeholder {
                        subject: Subject::dalsegno("config"),
                        key_path: inner,
                        value: text.clone(),
                        at: entry.node.at.to_string(),
                    });
                } else if *key == "env" && !is_variable(text) {
                    self.found
                        .mistakes
                        .push(refuse("behind env stands something that is not the name of an environment variable"));
                } else if text.is_empty() {
                    self.found.mistakes.push(refuse("behind file stands nothing"));
                }
            }
            Shape::Null => {}
            _ => self.found.mistakes.push(refuse("a secret stands here as a value")),
        }
    }

    fn word(&mut self, node: &Node, words: &[&str], path: &str) {
        let said = match &node.shape {
            Shape::Null => return,
            Shape::Text(text) if words.contains(&text.as_str()) => return,
            Shape::Text(text) => format!("\"{text}\""),
            other => other.kind().to_owned(),
        };
        let meant = nearest(said.trim_matches('"'), words.iter().copied())
            .map(|word| format!(", did you mean \"{word}\"?"))
            .unwrap_or_default();
        let text = format!("{said} is not one of {}{meant}", words.join(", "));
        self.found.mistakes.push(Mistake::new(&node.at, path, "config-word-unknown", text));
    }

    fn choice(&mut self, node: &Node, choices: &[(&str, &Value)], path: &str) {
        let keys: Vec<&str> = choices.iter().map(|(key, _)| *key).collect();
        let one_of = format!("exactly one of {}", keys.join(", "));
        match &node.shape {
            Shape::Null => {}
            Shape::Map(entries) => {
                for entry in entries {
                    let path = child(path, &entry.key);
                    if let Some((_, schema)) = choices.iter().find(|(key, _)| *key == entry.key) {
                        self.node(&entry.node, schema, &path);
                    } else {
                        let meant = nearest(&entry.key, keys.iter().copied())
                            .map(|word| format!(", did you mean \"{word}\"?"))
                            .unwrap_or_default();
                        let text = format!("unknown key{meant} (here stands {one_of})");
                        self.found.mistakes.push(Mistake::new(&entry.key_at, &path, "config-key-unknown", text));
                    }
                }
                if entries.len() != 1 {
                    let text = format!("{} keys stand where {one_of} belongs", entries.len());
                    self.found.mistakes.push(Mistake::new(&node.at, path, "config-type", text));
                }
            }
            other => {
                let text = format!("{} stands where {one_of} belongs", other.kind());
                let example = keys.first().map(|key| format!("write it as {{{key}: …}}")).unwrap_or_default();
                self.found.mistakes.push(Mistake::new(&node.at, path, "config-type", text).hint(example));
            }
        }
    }

    fn range(&mut self, node: &Node, number: f64, schema: &Value, path: &str) {
        let least = schema.get("minimum").and_then(Value::as_f64).filter(|least| number < *least);
        let most = schema.get("maximum").and_then(Value::as_f64).filter(|most| number > *most);
        let text = match (least, most) {
            (Some(least), _) => format!("{number} is below {least}"),
            (_, Some(most)) => format!("{number} is above {most}"),
            _ => return,
        };
        self.found.mistakes.push(Mistake::new(&node.at, path, "config-out-of-range", text));
    }

    fn span(&mut self, node: &Node, error: &SpanError, path: &str) {
        self.found.mistakes.push(Mistake::new(&node.at, path, "config-duration", error.to_string()).hint(error.hint()));
    }

    fn wrong_type(&mut self, node: &Node, shape: &Shape, schema: &Value, name: Option<&str>, path: &str) {
        let wanted = match name {
            Some("Duration") => "a duration (15m, 35d)",
            _ => wanted_word(schema),
        };
        let text = format!("{} stands where {wanted} belongs", shape.kind());
        let mistake = Mistake::new(&node.at, path, "config-type", text);
        let quoted = takes(schema, "string") && matches!(shape, Shape::Number(_) | Shape::Bool(_));
        let hint = match name {
            Some("Duration") => "a duration is a whole number with its unit: 90s, 15m, 26h, 35d",
            _ if quoted => "put it in quotes",
            _ => "",
        };
        self.found.mistakes.push(mistake.hint(hint));
    }
}

fn kind_of(path: &str, free: bool, secret: bool) -> Kind {
    match path.rsplit('.').next() {
        _ if free => Kind::Free,
        _ if secret => Kind::Secret,
        Some("endpoint") => Kind::Url,
        _ => Kind::Plain,
    }
}

fn wanted_word(schema: &Value) -> &'static str {
    let table = [
        ("object", "a mapping"),
        ("array", "a list"),
        ("boolean", "true or false"),
        ("integer", "a whole number"),
        ("number", "a number"),
        ("string", "a text"),
    ];
    table.iter().find(|(kind, _)| takes(schema, kind)).map_or("something else", |(_, word)| *word)
}

/// Letters, digits, hyphens and underscores: what may stand in a subject and in a key path.
fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// Parts of a subject, joined by slashes; a star may stand for the last.
pub(super) fn is_subjects(text: &str) -> bool {
    let part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    match text.strip_suffix("/*") {
        Some(head) => head.split('/').all(part),
        None => text == "*" || text.split('/').all(part),
    }
}

fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
