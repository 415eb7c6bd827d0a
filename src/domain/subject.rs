//! What a fact is about: `pg/home/prod/keycloak-db`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The closed table of subject kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectKind {
    /// A PostgreSQL database cluster and its archive.
    Pg,
    /// An object store, as one configured endpoint + bucket.
    Store,
    /// A prefix inside a store: `prefix/r2/cnpg/pg-main`.
    Prefix,
    /// A Kubernetes cluster: `cluster/home/prod`.
    Cluster,
    /// dalsegno itself: its ledger, its configuration, its left-overs.
    Dalsegno,
}

impl SubjectKind {
    /// All kinds, for tables and documentation.
    pub const ALL: [Self; 5] = [Self::Pg, Self::Store, Self::Prefix, Self::Cluster, Self::Dalsegno];

    /// The shipped runbook that proves a subject of this kind, if there is one.
    pub const fn runbook(self) -> Option<&'static str> {
        match self {
            Self::Pg => Some("pg-restore"),
            Self::Store | Self::Prefix | Self::Cluster | Self::Dalsegno => None,
        }
    }

    /// The word that stands before the first slash.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pg => "pg",
            Self::Store => "store",
            Self::Prefix => "prefix",
            Self::Cluster => "cluster",
            Self::Dalsegno => "dalsegno",
        }
    }
}

/// A subject: kind, scope (site and environment, may be empty) and name, joined by slashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Subject {
    kind: SubjectKind,
    path: String,
}

/// Why a text is not a subject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a subject (kind/scope/name, for example pg/home/prod/keycloak-db)")]
pub struct SubjectError(pub String);

impl Subject {
    /// Joins the parts that are not empty.
    pub fn new(kind: SubjectKind, parts: &[&str]) -> Self {
        let path = parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("/");
        Self { kind, path }
    }

    /// The program itself.
    pub fn dalsegno(part: &str) -> Self {
        Self::new(SubjectKind::Dalsegno, &[part])
    }

    /// What kind of thing it is.
    pub const fn kind(&self) -> SubjectKind {
        self.kind
    }

    /// Everything behind the kind.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The last part: what people call it.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether a person who typed `text` can mean this subject: the whole of it, its end at a slash, or its kind and an end
    /// (`pg/keycloak-db` for `pg/home/prod/keycloak-db`).
    pub fn answers_to(&self, text: &str) -> bool {
        let ends_with = |text: &str| self.path == text || self.path.strip_suffix(text).is_some_and(|head| head.ends_with('/'));
        let of_kind = text.strip_prefix(self.kind.as_str()).and_then(|rest| rest.strip_prefix('/'));
        !text.is_empty() && (ends_with(text) || of_kind.is_some_and(ends_with))
    }

    /// The shortest form that still tells this subject from `others`: its kind and the end of its path.
    pub fn short_among(&self, others: &[&Self]) -> String {
        let starts = self.path.match_indices('/').map(|(at, _)| at + 1).rev().chain(std::iter::once(0));
        for start in starts {
            let text = format!("{}/{}", self.kind.as_str(), self.path.get(start..).unwrap_or(&self.path));
            if others.iter().all(|other| *other == self || !other.answers_to(&text)) {
                return text;
            }
        }
        self.to_string()
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.as_str(), self.path)
    }
}

impl From<Subject> for String {
    fn from(subject: Subject) -> Self {
        subject.to_string()
    }
}

impl std::str::FromStr for Subject {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, SubjectError> {
        let bad = || SubjectError(text.to_owned());
        let (word, path) = text.split_once('/').ok_or_else(bad)?;
        let kind = SubjectKind::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or_else(bad)?;
        if path.is_empty() || path.split('/').any(str::is_empty) {
            return Err(bad());
        }
        Ok(Self { kind, path: path.to_owned() })
    }
}

impl TryFrom<String> for Subject {
    type Error = SubjectError;

    fn try_from(text: String) -> Result<Self, SubjectError> {
        text.parse()
    }
}
