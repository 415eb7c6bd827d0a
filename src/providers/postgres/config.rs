//! The configuration of a PostgreSQL archive: fragment (as written) → settings (checked). It holds no secrets of its own.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::verb_names::ASSERTIONS;
use crate::domain::{
    ArchivePlace, Complaint, Expectation, KubeName, Policy, Prefix, Span, SqlCheck, StoreId, Subject, SubjectKind, SystemId,
    Weight,
};

/// How long a user's check may take when nothing is written.
const CHECK_TIME_LIMIT: Duration = Duration::from_secs(30);

/// A PostgreSQL database cluster whose base backups and WAL lie in a store.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PostgresFragment {
    /// Where its archive lies.
    pub archive: ArchiveFragment,
    /// The CNPG Cluster that it is, as `namespace/name`, where neither its place nor its name tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The system identifier that must come back, in quotes: `pg_controldata` prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_id: Option<String>,
    /// How far back it must be possible to go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<Span>,
    /// PostgreSQL's archive_timeout plus the time an upload may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive_timeout: Option<Span>,
    /// How good its backups must be.
    #[serde(default)]
    pub policy: PolicyFragment,
    /// What hangs on it: named in what is said of it, and a warning about it is critical.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependents: Vec<String>,
    /// SQL that a drill runs in the restored database.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckFragment>,
}

/// Where an archive in barman's layout lies.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ArchiveFragment {
    /// The name of a store of this configuration.
    pub store: String,
    /// The path of the destination, without the bucket. No default; `""` when it lies at the bucket's root.
    pub prefix: String,
    /// barman's server name: the folder below the prefix that holds `base/` and `wals/`.
    pub server: String,
}

/// How good the backups of a database must be.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PolicyFragment {
    /// Most data that may be lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpo: Option<Span>,
    /// Longest time until it answers again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto: Option<Span>,
    /// A base backup at least this often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_backup_every: Option<Span>,
    /// A proven drill at least this often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drill_every: Option<Span>,
    /// How long a warning must be there before somebody is told. Default: that of notify.grace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace: Option<Span>,
    /// Warn when WAL that is not archived fills its volume within this time. Default: 72h.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_full_warning: Option<Span>,
    /// Critical when it does so within this time. Default: 24h.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_full_critical: Option<Span>,
}

/// A check of the restored database: read-only SQL with a typed expectation.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CheckFragment {
    /// Its name, unique in this database.
    pub name: String,
    /// The database to connect to; `postgres` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// One statement that reads.
    #[schemars(extend("x-free-text" = true))]
    pub sql: String,
    /// What must come back.
    pub expect: Expectation,
    /// Your word that stale data would fail it. A proof needs at least one such check.
    #[serde(default)]
    pub tells_stale: bool,
    /// Statement timeout; 30s when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Span>,
}

/// A database, ready to be looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct PostgresSettings {
    /// Its name in the configuration.
    pub name: String,
    /// `pg/<site>/<environment>/<name>`.
    pub subject: Subject,
    /// Where its archive lies.
    pub place: ArchivePlace,
    /// The system identifier that must come back.
    pub system_id: Option<SystemId>,
    /// How good its backups must be.
    pub policy: Policy,
    /// The user's checks.
    pub checks: Vec<SqlCheck>,
    /// The CNPG Cluster that it is, when the configuration says so.
    pub cluster: Option<KubeName>,
}

/// The subject of a database.
pub fn subject(site: &str, environment: &str, name: &str) -> Subject {
    Subject::new(SubjectKind::Pg, &[site, environment, name])
}

impl PostgresFragment {
    /// Checks the values. `bucket` is that of the store it names. Settings come back even when there are complaints.
    pub fn settings(self, site: &str, environment: &str, name: &str, bucket: &str) -> (PostgresSettings, Vec<Complaint>) {
        let mut complaints = Vec::new();
        check_archive(&self.archive, &mut complaints);
        let system_id = self.system_id.as_deref().and_then(|text| check_system_id(text, &mut complaints));
        let seconds = |span: Option<Span>| span.map(Span::seconds);
        let policy = Policy {
            rpo_seconds: seconds(self.policy.rpo),
            rto_seconds: seconds(self.policy.rto),
            base_backup_every_seconds: seconds(self.policy.base_backup_every),
            drill_every_seconds: seconds(self.policy.drill_every),
            retention_seconds: seconds(self.retention),
            archive_timeout_seconds: seconds(self.archive_timeout),
            grace_seconds: seconds(self.policy.grace),
            full_warning_seconds: seconds(self.policy.disk_full_warning),
            full_critical_seconds: seconds(self.policy.disk_full_critical),
        };
        check_policy(&self, &mut complaints);
        let settings = PostgresSettings {
            name: name.to_owned(),
            subject: subject(site, environment, name),
            place: ArchivePlace {
                store: StoreId(self.archive.store),
                bucket: bucket.to_owned(),
                prefix: Prefix::new(&self.archive.prefix),
                server: self.archive.server,
            },
            system_id,
            policy,
            checks: checks(self.checks, &mut complaints),
            cluster: self.cluster.as_deref().and_then(|text| check_cluster(text, &mut complaints)),
        };
        (settings, complaints)
    }
}

fn check_archive(archive: &ArchiveFragment, complaints: &mut Vec<Complaint>) {
    let mut refuse = |key: &str, text: String, hint: &str| {
        complaints.push(Complaint::new(Weight::Refused, key, "archive-place-invalid", text, hint));
    };
    if archive.server.is_empty() || archive.server.contains('/') {
        let hint = "it is barman's server name: the one folder below the prefix that holds base/ and wals/";
        refuse("archive.server", format!("{:?} is not the name of one folder", archive.server), hint);
    }
    if archive.prefix.contains("://") {
        let hint = "leave s3:// and the bucket out: the bucket stands at the store";
        refuse("archive.prefix", format!("{:?} is a URL, not a prefix", archive.prefix), hint);
    }
    for (key, value) in [("archive.prefix", &archive.prefix), ("archive.server", &archive.server)] {
        if value.contains(char::is_control) || value.trim() != value {
            refuse(key, format!("{value:?} begins or ends with whitespace, or holds control characters"), "write it bare");
        }
    }
}

fn check_system_id(text: &str, complaints: &mut Vec<Complaint>) -> Option<SystemId> {
    match text.parse::<u64>() {
        Ok(id) if id > 0 => Some(SystemId(id)),
        _ => {
            complaints.push(Complaint::new(
                Weight::Refused,
                "system-id",
                "system-id-invalid",
                format!("{text:?} is not a system identifier"),
                "it is a decimal number: select system_identifier from pg_control_system()",
            ));
            None
        }
    }
}

fn check_cluster(text: &str, complaints: &mut Vec<Complaint>) -> Option<KubeName> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Some(KubeName::new(namespace, name))
        }
        _ => {
            let hint = "write namespace/name, as in keycloak/keycloak-db";
            let text = format!("{text:?} is not a Cluster");
            complaints.push(Complaint::new(Weight::Refused, "cluster", "cluster-name-invalid", text, hint));
            None
        }
    }
}

fn check_policy(fragment: &PostgresFragment, complaints: &mut Vec<Complaint>) {
    let spans = [
        ("retention", fragment.retention),
        ("archive-timeout", fragment.archive_timeout),
        ("policy.rpo", fragment.policy.rpo),
        ("policy.rto", fragment.policy.rto),
        ("policy.base-backup-every", fragment.policy.base_backup_every),
        ("policy.drill-every", fragment.policy.drill_every),
        ("policy.disk-full-warning", fragment.policy.disk_full_warning),
        ("policy.disk-full-critical", fragment.policy.disk_full_critical),
    ];
    for (key, span) in spans {
        if span.is_some_and(|span| span.0.is_zero()) {
            let hint = "leave the key out when it is not asked for";
            complaints.push(Complaint::new(Weight::Refused, key, "duration-zero", "zero can never be kept", hint));
        }
    }
    if let (Some(rpo), Some(timeout)) = (fragment.policy.rpo, fragment.archive_timeout)
        && rpo < timeout
    {
        let text = format!("an RPO of {rpo} cannot be kept while a quiet segment waits {timeout} (archive-timeout)");
        let hint = "raise policy.rpo, or lower archive_timeout in PostgreSQL";
        complaints.push(Complaint::new(Weight::Warning, "policy.rpo", "rpo-below-archive-timeout", text, hint));
    }
}

fn checks(fragments: Vec<CheckFragment>, complaints: &mut Vec<Complaint>) -> Vec<SqlCheck> {
    let mut names = BTreeSet::new();
    let mut checks = Vec::new();
    for (index, fragment) in fragments.into_iter().enumerate() {
        let mut refuse = |key: &str, text: String, hint: &str| {
            let key = format!("checks[{index}].{key}");
            complaints.push(Complaint::new(Weight::Refused, &key, "check-invalid", text, hint));
        };
        if fragment.name.is_empty() || !names.insert(fragment.name.clone()) {
            refuse("name", format!("{:?} is empty or taken by an earlier check", fragment.name), "give each check its own name");
        }
        if ASSERTIONS.contains(&fragment.name.as_str()) || fragment.name.starts_with("size of ") {
            refuse("name", format!("{:?} is the name of a check that every drill makes", fragment.name), "give it another name");
        }
        if fragment.sql.trim().is_empty() {
            refuse(
                "sql",
                "there is no statement".to_owned(),
                "write one statement that reads, as in: select count(*) from users",
            );
        }
        let limit = fragment.time_limit.map_or(CHECK_TIME_LIMIT, |span| span.0);
        if limit < Duration::from_secs(1) {
            refuse("time-limit", format!("{} is below one second", Span(limit)), "write at least 1s");
        }
        checks.push(SqlCheck {
            name: fragment.name,
            database: fragment.database.unwrap_or_else(|| "postgres".to_owned()),
            sql: fragment.sql,
            tells_stale: fragment.tells_stale || matches!(fragment.expect, Expectation::NewerThanSeconds(_)),
            expect: fragment.expect,
            time_limit_seconds: limit.as_secs(),
        });
    }
    checks
}
