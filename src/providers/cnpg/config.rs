//! The configuration of CNPG in one Kubernetes cluster: fragment (as written) → settings (checked). It holds no secrets.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::domain::{Complaint, KubeName, Policy, StoreId, Weight, normal_endpoint};
use crate::providers::kubernetes::config::KubernetesSettings;
use crate::providers::postgres::config::PolicyFragment;

/// CNPG in one Kubernetes cluster. `{}` watches all of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CnpgFragment {
    /// Only these namespaces; a Role in each is enough then. Default: all, which needs a ClusterRole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// What is read beside the objects, each a right of its own. Default: exporter and logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<Vec<Reads>>,
    /// Secrets whose keys may be used to look at a discovered archive that no store of this configuration covers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub use_their_keys: Vec<TheirKeys>,
    /// Endpoints as the live objects spell them, where that is another name of a store that is configured here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<SameStore>,
    /// Drills may restore into this cluster: `{}`, or with what a Cluster needs when its source is gone. Each drill makes a namespace
    /// of its own; without this key nothing is ever made here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drill: Option<CnpgDrill>,
    /// How good the backups of discovered databases must be, where `postgres:` does not say.
    pub policy: PolicyFragment,
}

/// What a Cluster of a drill looks like when its source cannot tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CnpgDrill {
    /// The image, of the source's major version and with its extensions. Default: the source Cluster's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Size of the data volume: `20Gi`. Default: the source Cluster's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<String>,
    /// Size of a WAL volume. Default: the source Cluster's, else none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_storage: Option<String>,
    /// The storage class. Default: the source Cluster's, else the cluster's own default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
    /// Settings of PostgreSQL, as texts: max_connections and the like must be at least the source's. A live source goes before them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

/// Something that is read beside the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reads {
    /// Metrics of each primary, through the API server's proxy (get on pods/proxy).
    Exporter,
    /// Free space of volumes from each primary's kubelet (get on nodes/proxy, which also lets its holder run commands in pods).
    Kubelet,
    /// The last lines of the logs of pods in trouble (get on pods/log).
    Logs,
}

/// A Secret whose keys may be used.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TheirKeys {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub secret: String,
}

/// Another name of a configured store's endpoint.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SameStore {
    /// `endpointURL` as the live objects spell it: `http://minio.minio.svc:9000`.
    pub endpoint: String,
    /// The name of a store of this configuration.
    pub store: String,
}

/// CNPG in one Kubernetes cluster, ready to be looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct CnpgSettings {
    /// The Kubernetes cluster.
    pub kubernetes: KubernetesSettings,
    /// Only these namespaces; empty = all.
    pub namespaces: Vec<String>,
    /// What is read beside the objects.
    pub reads: BTreeSet<Reads>,
    /// Secrets whose keys may be used.
    pub their_keys: BTreeSet<KubeName>,
    /// Endpoints (normalised) that are another name of a store's.
    pub same_stores: Vec<(String, StoreId)>,
    /// Whether and how drills restore into it.
    pub drill: Option<CnpgDrill>,
    /// How good the backups of discovered databases must be.
    pub policy: Policy,
}

impl CnpgSettings {
    /// The objects of a cluster and nothing beside them: no numbers, no logs, no key of anybody, no drill.
    pub fn bare(kubernetes: KubernetesSettings) -> Self {
        Self {
            kubernetes,
            namespaces: Vec::new(),
            reads: BTreeSet::new(),
            their_keys: BTreeSet::new(),
            same_stores: Vec::new(),
            drill: None,
            policy: Policy::default(),
        }
    }
}

impl CnpgFragment {
    /// Checks the values. Settings come back even when there are complaints.
    pub fn settings(self, kubernetes: KubernetesSettings) -> (CnpgSettings, Vec<Complaint>) {
        let mut complaints = Vec::new();
        for (index, namespace) in self.namespaces.iter().enumerate().filter(|(_, name)| !is_dns_label(name)) {
            let text = format!("{namespace:?} is not the name of a namespace");
            let hint = "lower-case letters, digits and hyphens; leave namespaces out to watch all";
            let key = format!("namespaces[{index}]");
            complaints.push(Complaint::new(Weight::Refused, &key, "namespace-invalid", text, hint));
        }
        for (index, keys) in self.use_their_keys.iter().enumerate() {
            if !self.namespaces.is_empty() && !self.namespaces.contains(&keys.namespace) {
                let text = format!("\"{}\" is not among the namespaces that are watched", keys.namespace);
                let key = format!("use-their-keys[{index}].namespace");
                complaints.push(Complaint::new(Weight::Warning, &key, "namespace-not-watched", text, "add it to namespaces"));
            }
        }
        let sizes = self.drill.iter().flat_map(|drill| [("storage", &drill.storage), ("wal-storage", &drill.wal_storage)]);
        for (key, size) in sizes.filter_map(|(key, size)| Some((key, size.as_ref()?))) {
            if super::quantity::bytes(size).is_none_or(|bytes| bytes == 0) {
                let text = format!("{size:?} is not a size");
                let key = format!("drill.{key}");
                complaints.push(Complaint::new(Weight::Refused, &key, "size-invalid", text, "as Kubernetes writes it: 20Gi"));
            }
        }
        let seconds = |span: Option<crate::domain::Span>| span.map(crate::domain::Span::seconds);
        let reads = self.reads.unwrap_or_else(|| vec![Reads::Exporter, Reads::Logs]);
        let settings = CnpgSettings {
            kubernetes,
            namespaces: self.namespaces,
            reads: reads.into_iter().collect(),
            their_keys: self.use_their_keys.into_iter().map(|keys| KubeName::new(keys.namespace, keys.secret)).collect(),
            same_stores: self.stores.into_iter().map(|same| (normal_endpoint(&same.endpoint), StoreId(same.store))).collect(),
            drill: self.drill,
            policy: Policy {
                rpo_seconds: seconds(self.policy.rpo),
                rto_seconds: seconds(self.policy.rto),
                base_backup_every_seconds: seconds(self.policy.base_backup_every),
                drill_every_seconds: seconds(self.policy.drill_every),
                grace_seconds: seconds(self.policy.grace),
                ..Policy::default()
            },
        };
        (settings, complaints)
    }
}

/// RFC 1123: <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>.
fn is_dns_label(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.starts_with(letter)
        && text.ends_with(letter)
        && text.chars().all(|c| letter(c) || c == '-')
}
