//! Names of things in a Kubernetes cluster, and the few nouns that every reader of one needs.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The name a Kubernetes cluster has in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KubeId(pub String);

impl fmt::Display for KubeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `metadata.uid`: tells an object from another one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KubeUid(pub String);

impl fmt::Display for KubeUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An object of one kind in a namespace: people see `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KubeName {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl KubeName {
    /// Of both parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for KubeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// One row of `status.conditions`. Every word is an open set: an unknown one is neither good nor an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// `type`.
    pub kind: String,
    /// `True`, `False`, `Unknown`.
    pub status: String,
    /// A word.
    pub reason: String,
    /// For people.
    pub message: String,
    /// When it last *changed*: not when it was last confirmed.
    pub since: Option<Timestamp>,
}

impl Condition {
    /// Whether the status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }

    /// Whether the status is `False`. Neither this nor [`Condition::is_true`] holds for `Unknown`.
    pub fn is_false(&self) -> bool {
        self.status == "False"
    }
}

/// A key of a Secret: the reference, never the value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SecretKey {
    /// The Secret's name; it lies in the namespace of the object that names it.
    pub name: String,
    /// The key inside.
    pub key: String,
}

impl fmt::Display for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.name, self.key)
    }
}
