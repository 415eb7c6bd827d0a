//! The first family: the configuration as it is written. Each provider owns its own fragment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::attention::{AwaitedFragment, MaintenanceFragment};
use super::channels::NotifyFragment;
use crate::domain::{Isolation, Mode, Span};
use crate::providers::cnpg::config::CnpgFragment;
use crate::providers::kubernetes::config::KubernetesFragment;
use crate::providers::objectstore::config::StoreFragment;
use crate::providers::postgres::config::PostgresFragment;
use crate::providers::prometheus::config::PrometheusFragment;

/// Configuration of dalsegno. Every provider is optional.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[schemars(title = "dalsegno")]
pub struct ConfigFragment {
    /// Which site this is; part of every subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Which environment this is: dev, prod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Where the ledger and the evidence of drills are kept.
    pub state: StateFragment,
    /// Where the ledger is at home between passes.
    pub ledger: LedgerFragment,
    /// Object stores, by name.
    pub stores: BTreeMap<String, StoreFragment>,
    /// PostgreSQL databases whose archives lie in a store, by name.
    pub postgres: BTreeMap<String, PostgresFragment>,
    /// Servers of metrics, by name: Prometheus, VictoriaMetrics, Thanos.
    pub prometheus: BTreeMap<String, PrometheusFragment>,
    /// Kubernetes clusters, by name.
    pub kubernetes: BTreeMap<String, KubernetesFragment>,
    /// CloudNativePG, by the name of the Kubernetes cluster that it runs in.
    pub cnpg: BTreeMap<String, CnpgFragment>,
    /// How drills are run here.
    pub drill: DrillFragment,
    /// Who is told.
    pub notify: NotifyFragment,
    /// How long a pass may take, and who makes it.
    pub pass: PassFragment,
    /// What hangs on a subject: named in what is said of it, and a warning about it is critical. {pg/keycloak-db: [SSO, Grafana]}
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-subjects" = true))]
    pub dependents: BTreeMap<String, Vec<String>>,
    /// Windows in which nothing is said. What is found is recorded, and said afterwards if it is still there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maintenance: Vec<MaintenanceFragment>,
    /// What the site does not have yet: silent before its date, a finding afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<AwaitedFragment>,
}

/// Where the ledger and the evidence of drills are kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct StateFragment {
    /// A folder on a local disk (never NFS, CIFS or FUSE). Default: /var/lib/dalsegno for root, ~/.local/state/dalsegno for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

/// Where the ledger is at home between passes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LedgerFragment {
    /// volume: in the state folder, and nowhere else. bucket: in a store, so that the machine may be gone after each pass; the
    /// state folder is then scratch. Default: volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<LedgerHome>,
    /// With home: bucket, the store. Its `own:` says with which key and below which prefix; it must know conditional writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
}

/// Where the ledger is at home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LedgerHome {
    /// The state folder.
    Volume,
    /// A store.
    Bucket,
}

/// How drills are run here.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DrillFragment {
    /// Sandboxes are made below it. Default: /var/tmp/dalsegno.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// The user PostgreSQL is started as when dalsegno is root. PostgreSQL never runs as root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Folders with PostgreSQL's binaries, tried before PATH and the usual places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub postgres: Vec<PathBuf>,
    /// The least isolation that a drill must show. Default: closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
}

/// How long a pass may take, and who makes it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PassFragment {
    /// The whole of it. Default: 2m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Span>,
    /// One provider; what hangs costs this much. Default: 60s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_deadline: Option<Span>,
    /// Who makes passes here: cronjob (`dalsegno run`) or daemon (`dalsegno daemon`); the other one refuses. Default: either, not both at
    /// a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}
