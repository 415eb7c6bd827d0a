//! What one Kubernetes cluster shows of CNPG beside its Clusters: what is gone, what belongs to nobody, which rules watch.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CnpgBackup, CnpgSchedule, KubeId, KubeName, KubeUid, LiveLocation, StoreId, Subject, SystemId};

/// Where the configuration says that an archive lies, to be held against where the live objects say it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfiguredLocation {
    /// Where it is spelt, for people: `postgres.keycloak-db.archive`.
    pub spelt_in: String,
    /// The store.
    pub store: StoreId,
    /// Its endpoint, normalised: lower case, no slash at the end.
    pub endpoint: String,
    /// Its bucket.
    pub bucket: String,
    /// The path inside the bucket: no slashes at either end.
    pub path: String,
    /// barman's server name.
    pub server: String,
}

impl ConfiguredLocation {
    /// Whether a live object leads to the same place. The store is the same by its name here, or by endpoint and bucket.
    pub fn agrees(&self, live: &LiveLocation) -> bool {
        let bucket = live.bucket.as_deref() == Some(self.bucket.as_str());
        let endpoint = live.endpoint.as_deref().map(normal_endpoint).is_some_and(|endpoint| endpoint == self.endpoint);
        let store = live.store.as_ref() == Some(&self.store) || endpoint;
        bucket && store && live.path.as_deref() == Some(self.path.as_str()) && live.server == self.server
    }
}

/// An endpoint as it is compared: scheme and host in lower case, no slash at the end, no port that the scheme has anyway.
pub fn normal_endpoint(text: &str) -> String {
    let text = text.trim().trim_end_matches('/');
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_ascii_lowercase() };
    let scheme = scheme.to_ascii_lowercase();
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let authority = authority.to_ascii_lowercase();
    let usual = if scheme == "https" { ":443" } else { ":80" };
    let authority = authority.strip_suffix(usual).unwrap_or(&authority);
    format!("{scheme}://{authority}{path}")
}

/// How far a database had written when it was last looked at: what its archive must reach once it stands still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastPosition {
    /// When.
    pub at: Timestamp,
    /// The position as bytes.
    pub lsn: u64,
    /// The timeline, as the Cluster's status said then.
    pub timeline: Option<u32>,
    /// Bytes a segment, when the exporter or the Cluster tells; else the usual 16 MiB.
    pub segment: u64,
}

/// A Cluster that was there at an earlier look and is not any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CnpgGone {
    /// Its subject.
    pub subject: Subject,
    /// Namespace and name.
    pub cluster: KubeName,
    /// Its uid.
    pub uid: Option<KubeUid>,
    /// Its system identifier.
    pub system_id: Option<SystemId>,
    /// When it was last seen.
    pub last_seen: Timestamp,
    /// When it was first missed.
    pub gone_since: Timestamp,
    /// How far it had written.
    pub last_position: Option<LastPosition>,
    /// Where it archived to.
    pub location: Option<LiveLocation>,
}

/// What one Kubernetes cluster shows of CNPG as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CnpgSiteFact {
    /// The Kubernetes cluster: `cluster/<site>/<name>`.
    pub subject: Subject,
    /// Its name in the configuration.
    pub kube: KubeId,
    /// `gitVersion` of the API server.
    pub version: Option<String>,
    /// CNPG's CRDs are served.
    pub adopted: bool,
    /// Clusters that were there and are not.
    pub gone: Vec<CnpgGone>,
    /// Schedules whose Cluster is not there: namespace, schedule.
    pub orphan_schedules: Vec<(String, CnpgSchedule)>,
    /// Backups that are not done and whose Cluster is not there: namespace, backup.
    pub orphan_backups: Vec<(String, CnpgBackup)>,
    /// ObjectStores that no Cluster names: namespace and name, where they lead.
    pub unused_stores: Vec<(KubeName, LiveLocation)>,
}

/// What Prometheus rules of the site watch of archiving.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertRulesFact {
    /// The Kubernetes cluster: `cluster/<site>/<name>`.
    pub subject: Subject,
    /// PrometheusRule object, alert name, expression: those that name a metric of CNPG or of the barman plugin.
    pub rules: Vec<(String, String, String)>,
}
