//! Secrets: only ever by reference in a configuration, only ever as stars in any output.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

/// Where a secret is to be found. Written in YAML as `{env: NAME}` or `{file: PATH}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum SecretRef {
    /// The name of an environment variable.
    Env(String),
    /// A file; one trailing newline is not part of the secret.
    File(String),
}

impl std::fmt::Display for SecretRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{path}"),
        }
    }
}

/// A secret value. Prints as stars, is wiped when dropped, has no `Serialize`.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Takes the value over.
    pub fn new(value: String) -> Self {
        Self(SecretString::from(value))
    }

    /// The value itself: only for the call that needs it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl std::fmt::Display for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}
