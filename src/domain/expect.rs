//! What should be known and how good it must be: the ground that judging starts from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Attention, FactKind, Isolation, Subject};

/// How good a subject's backups must be. All durations in seconds; `None` = not asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Most data that may be lost.
    pub rpo_seconds: Option<f64>,
    /// Longest time until it answers again.
    pub rto_seconds: Option<f64>,
    /// A base backup at least this often.
    pub base_backup_every_seconds: Option<f64>,
    /// A proven drill at least this often.
    pub drill_every_seconds: Option<f64>,
    /// How far back it must be possible to go.
    pub retention_seconds: Option<f64>,
    /// How long after its end a backup may still wait for its last segment (archive_timeout plus upload).
    pub archive_timeout_seconds: Option<f64>,
    /// How long a warning must be there before somebody is told; `None` = as for everything.
    #[serde(default)]
    pub grace_seconds: Option<f64>,
    /// A volume that WAL fills within this time is worth a warning.
    #[serde(default)]
    pub full_warning_seconds: Option<f64>,
    /// A volume that WAL fills within this time is critical.
    #[serde(default)]
    pub full_critical_seconds: Option<f64>,
}

/// A value in the configuration that nobody filled in: `TBD-…`, `${…}`, `CHANGEME`, `<…>`, `example.com` in an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placeholder {
    /// The part of the configuration that cannot be used because of it.
    pub subject: Subject,
    /// `stores.minio.endpoint`.
    pub key_path: String,
    /// The value; stars when it came from a secret.
    pub value: String,
    /// `dalsegno.yaml:12:15`, `env:NAME`, `file:PATH`.
    pub at: String,
}

/// The ground of judging: everything that must come back as a fact or as a gap, and how good it must be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// A subject with neither fact nor gap of this kind is a bug of ours (exit 70).
    pub covers: Vec<(Subject, FactKind)>,
    /// Policies by subject.
    pub policies: BTreeMap<Subject, Policy>,
    /// Values that nobody filled in.
    pub placeholders: Vec<Placeholder>,
    /// What a subject's backups lie on: database → store. A store that cannot be looked at explains all that rests on it.
    #[serde(default)]
    pub rests_on: BTreeMap<Subject, Subject>,
    /// The least isolation that a proof must have shown; `None` = what the drill itself declared.
    #[serde(default)]
    pub isolation: Option<Isolation>,
    /// What people decided about alerts.
    #[serde(default)]
    pub attention: Attention,
}
