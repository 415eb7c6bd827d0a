//! What a provider says of its part of the configuration when a value cannot be right.

use serde::{Deserialize, Serialize};

/// How much a complaint weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Worth saying; nothing is refused.
    Warning,
    /// `config check` refuses it; a pass goes on, since looking shows the same fault as a finding.
    RefusedByCheck,
    /// Nothing can be done with it: refused everywhere.
    Refused,
}

/// A value that has the right type and cannot be right all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complaint {
    /// The key below the provider's own entry: `endpoint`, `own.prefix`, `checks[0].sql`. Empty = the entry itself.
    pub key: String,
    /// Finding code or word for machines.
    pub code: String,
    /// What is wrong, with the value unless it is secret.
    pub text: String,
    /// What would be right.
    pub hint: String,
    /// How much it weighs.
    pub weight: Weight,
}

impl Complaint {
    /// A complaint about `key`.
    pub fn new(weight: Weight, key: &str, code: &str, text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { key: key.to_owned(), code: code.to_owned(), text: text.into(), hint: hint.into(), weight }
    }
}
