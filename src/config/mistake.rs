//! A mistake in the configuration: where, which key, what is wrong, what would be right.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::domain::{Exit, ExitCode, Explained};

/// How many different hints are printed.
const MOST_HINTS: usize = 8;

/// Where something stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum At {
    /// In a file; line and column count from 1.
    File {
        /// The path as it was given or found.
        file: Arc<Path>,
        /// Line.
        line: u64,
        /// Column, in characters.
        column: u64,
    },
    /// In an environment variable.
    Variable(Arc<str>),
    /// Nowhere: nothing was configured.
    Nowhere,
}

impl At {
    /// A file as a whole.
    pub fn file(file: &Path) -> Self {
        Self::File { file: Arc::from(file), line: 1, column: 1 }
    }

    /// A relative path is meant from the folder of the file it stands in.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        match self {
            Self::File { file, .. } => file.parent().map_or_else(|| path.to_owned(), |folder| folder.join(path)),
            Self::Variable(_) | Self::Nowhere => path.to_owned(),
        }
    }

    /// The file or variable, without the place in it.
    fn source(&self) -> String {
        match self {
            Self::File { file, .. } => file.display().to_string(),
            Self::Variable(_) => "the environment".to_owned(),
            Self::Nowhere => "the configuration".to_owned(),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, column } => write!(f, "{}:{line}:{column}", file.display()),
            Self::Variable(name) => write!(f, "env:{name}"),
            Self::Nowhere => f.write_str("-"),
        }
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One mistake, or one warning. Never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Mistake {
    /// Where it stands.
    pub at: At,
    /// `stores.minio.endpoint`; empty when a whole file is meant.
    pub key: String,
    /// Machine word; a finding code where there is one.
    pub code: String,
    /// What is wrong.
    pub text: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl Mistake {
    /// A mistake at a key.
    pub fn new(at: &At, key: &str, code: &str, text: impl Into<String>) -> Self {
        Self { at: at.clone(), key: key.to_owned(), code: code.to_owned(), text: text.into(), hint: None }
    }

    /// With a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        self.hint = (!hint.is_empty()).then_some(hint);
        self
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            return write!(f, "{}  {}", self.at, self.text);
        }
        write!(f, "{}  {}: {}", self.at, self.key, self.text)
    }
}

/// All mistakes at once, in the order in which they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors {
    mistakes: Vec<Mistake>,
}

impl ConfigErrors {
    /// Sorts them by place.
    pub fn new(mistakes: Vec<Mistake>) -> Self {
        let unique: BTreeSet<Mistake> = mistakes.into_iter().collect();
        Self { mistakes: unique.into_iter().collect() }
    }

    /// The mistakes.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [Mistake { at: At::Nowhere, text, .. }] = self.mistakes.as_slice() {
            return f.write_str(text);
        }
        let sources: BTreeSet<String> = self.mistakes.iter().map(|mistake| mistake.at.source()).collect();
        let sources: Vec<String> = sources.into_iter().collect();
        let count = self.mistakes.len();
        write!(f, "{count} {} in {}", if count == 1 { "mistake" } else { "mistakes" }, sources.join(", "))?;
        for mistake in &self.mistakes {
            write!(f, "\n  {mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

impl Explained for ConfigErrors {
    fn code(&self) -> &'static str {
        "config-invalid"
    }

    fn hint(&self) -> Option<String> {
        let mut hints: Vec<&str> = Vec::new();
        for hint in self.mistakes.iter().filter_map(|mistake| mistake.hint.as_deref()) {
            if !hints.contains(&hint) && hints.len() < MOST_HINTS {
                hints.push(hint);
            }
        }
        if self.mistakes.iter().any(|mistake| mistake.code == "config-key-unknown" || mistake.code == "config-type") {
            hints.push("dalsegno config schema > schema.json  lets an editor complete and check this file");
        }
        (!hints.is_empty()).then(|| hints.join("\n"))
    }

    fn exit(&self) -> Exit {
        ExitCode::Usage
    }
}
