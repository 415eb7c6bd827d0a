//! What the actor is given when it is built: clusters to restore into, and how each database's archive is reached from there.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{KubeId, KubeName, Secret, Subject};
use crate::tap::KubeActs;

/// The shape of a recovered Cluster, as far as somebody says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The image: the source's major version, extensions, libc.
    pub image: Option<String>,
    /// Size of the data volume: `20Gi`.
    pub storage: Option<String>,
    /// Size of a WAL volume.
    pub wal_storage: Option<String>,
    /// The storage class; `None` = the source's, else the cluster's default.
    pub storage_class: Option<String>,
    /// Settings of PostgreSQL; those of a live source go before them.
    pub parameters: BTreeMap<String, String>,
}

/// A Kubernetes cluster to restore into.
#[derive(Clone)]
pub struct DrillCluster {
    /// Its name in the configuration.
    pub id: KubeId,
    /// Who is asked.
    pub kube: Arc<dyn KubeActs>,
    /// What Clusters look like here when their source is gone.
    pub shape: Shape,
    /// How each database's archive is reached from inside.
    pub sources: BTreeMap<Subject, DrillSource>,
}

/// An archive as the pods of a cluster reach it.
#[derive(Clone, Debug)]
pub struct DrillSource {
    /// The Cluster whose archive it is, in this Kubernetes cluster; image, sizes and settings are copied from it while it is there.
    pub cluster: Option<KubeName>,
    /// The store's endpoint.
    pub endpoint: String,
    /// Our read-only keys.
    pub keys: ArchiveKeys,
    /// The authority of the endpoint's certificate, PEM.
    pub ca_pem: Option<String>,
}

/// Keys that only read.
#[derive(Clone, Debug)]
pub struct ArchiveKeys {
    /// Access key id.
    pub id: Secret,
    /// Secret access key.
    pub secret: Secret,
    /// Session token.
    pub token: Option<Secret>,
    /// Region.
    pub region: String,
}
