//! Reading JSON of others without being blinded by one odd field, and keeping only what was read.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A value of the expected form, or nothing.
pub(super) fn lax<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(T::deserialize(Value::deserialize(deserializer)?).unwrap_or_default())
}

/// Those rows of a list that have the expected form.
pub(super) fn rows<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let Value::Array(items) = Value::deserialize(deserializer)? else { return Ok(Vec::new()) };
    Ok(items.into_iter().filter_map(|item| T::deserialize(item).ok()).collect())
}

/// Those entries of a mapping that have the expected form.
pub(super) fn entries<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error> {
    let Value::Object(map) = Value::deserialize(deserializer)? else { return Ok(BTreeMap::new()) };
    Ok(map.into_iter().filter_map(|(key, value)| Some((key, T::deserialize(value).ok()?))).collect())
}

/// A mapping to texts; numbers and booleans as they are written.
pub(super) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let Value::Object(map) = Value::deserialize(deserializer)? else { return Ok(BTreeMap::new()) };
    Ok(map.into_iter().filter_map(|(key, value)| Some((key, as_text(value)?))).collect())
}

/// A text, or a number or boolean as it is written.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(as_text(Value::deserialize(deserializer)?))
}

fn as_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Settings of PostgreSQL, without those whose value may be a secret.
pub(super) fn parameters<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let mut all = texts(deserializer)?;
    all.retain(|name, _| !["conninfo", "command", "passphrase", "krb", "ldap"].iter().any(|word| name.contains(word)));
    Ok(all)
}

/// Annotations that somebody reads. One of them usually holds the whole object as it was applied, values of environments included.
pub(super) fn annotations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let mut all = texts(deserializer)?;
    all.retain(|name, _| ANNOTATIONS.contains(&name.as_str()));
    Ok(all)
}

pub(super) const SKIP_WAL_ARCHIVING: &str = "cnpg.io/skipWalArchiving";
pub(super) const SKIP_EMPTY_CHECK: &str = "cnpg.io/skipEmptyWalArchiveCheck";
pub(super) const HIBERNATION: &str = "cnpg.io/hibernation";
pub(super) const FENCED: &str = "cnpg.io/fencedInstances";
pub(super) const RECONCILIATION: &str = "cnpg.io/reconciliationLoop";
pub(super) const OPERATOR_VERSION: &str = "cnpg.io/operatorVersion";
const ANNOTATIONS: [&str; 6] = [SKIP_WAL_ARCHIVING, SKIP_EMPTY_CHECK, HIBERNATION, FENCED, RECONCILIATION, OPERATOR_VERSION];

/// A variable of an environment. A value whose name says that it is a secret is not read.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: Option<String>,
}

impl<'de> Deserialize<'de> for Variable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Plain {
            name: String,
            #[serde(deserialize_with = "text")]
            value: Option<String>,
        }
        let Plain { name, value } = Plain::deserialize(deserializer)?;
        let value = value.filter(|_| !tells_a_secret(&name));
        Ok(Self { name, value })
    }
}

fn tells_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "secret", "token", "passw", "pwd", "credential", "auth", "conn", "dsn", "url", "sas", "cert"]
        .iter()
        .any(|word| name.contains(word))
}

/// Something is there; what it is, nobody reads.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Something {}

/// What is kept of an object in a recording: what its type reads, without what is empty.
pub(super) fn prune<T: DeserializeOwned + Serialize>(object: &Value) -> Option<Value> {
    let read = T::deserialize(object.clone()).ok()?;
    let mut kept = serde_json::to_value(read).ok()?;
    drop_empty(&mut kept);
    Some(kept)
}

/// Null and empty texts, lists and mappings go; an empty mapping that says that something is there stays ([`Something`]).
fn drop_empty(value: &mut Value) {
    let empty = |key: &str, value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty() && !MEANS_SOMETHING.contains(&key),
        Value::Bool(_) | Value::Number(_) => false,
    };
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        Value::Object(map) => {
            map.values_mut().for_each(drop_empty);
            map.retain(|key, value| !empty(key, value));
        }
        _ => {}
    }
}

/// Keys below which an empty mapping is a statement of its own.
const MEANS_SOMETHING: [&str; 12] = [
    "f:spec",
    "volumeSnapshot",
    "running",
    "initdb",
    "recovery",
    "pg_basebackup",
    "replica",
    "barmanObjectStore",
    "walStorage",
    "s3Credentials",
    "backup",
    "plugin",
];
