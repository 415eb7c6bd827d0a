//! What a recording keeps of a cluster: what the wire types read, and of logs and metrics what is made of them.

use serde_json::Value;

use super::lax::prune;
use super::logs;
use super::numbers;
use super::wire::Cluster;
use super::wire_owned::{Backup, Bare, Claim, Event, Job, ObjectStore, Pod, PrometheusRule, ScheduledBackup, StorageClass};
use crate::tap::{KeepKube, Resource};

/// Keeps what this provider reads; of Secrets nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeepCnpg;

type Prune = fn(&Value) -> Option<Value>;

fn pruner(of: &Resource) -> Option<Prune> {
    Some(match (of.group.as_str(), of.plural.as_str()) {
        ("postgresql.cnpg.io", "clusters") => prune::<Cluster>,
        ("postgresql.cnpg.io", "backups") => prune::<Backup>,
        ("postgresql.cnpg.io", "scheduledbackups") => prune::<ScheduledBackup>,
        ("barmancloud.cnpg.io", "objectstores") => prune::<ObjectStore>,
        ("", "pods") => prune::<Pod>,
        ("", "persistentvolumeclaims") => prune::<Claim>,
        ("batch", "jobs") => prune::<Job>,
        ("", "events") => prune::<Event>,
        ("storage.k8s.io", "storageclasses") => prune::<StorageClass>,
        ("monitoring.coreos.com", "prometheusrules") => prune::<PrometheusRule>,
        ("snapshot.storage.k8s.io", "volumesnapshots") => prune::<Bare>,
        _ => return None,
    })
}

impl KeepKube for KeepCnpg {
    fn keeps(&self, of: &Resource) -> bool {
        pruner(of).is_some()
    }

    fn object(&self, of: &Resource, object: &Value) -> Option<Value> {
        pruner(of)?(object)
    }

    fn log(&self, text: &str) -> Option<String> {
        Some(logs::telling(text).join("\n"))
    }

    fn metrics(&self, text: &str) -> Option<String> {
        Some(numbers::kept_lines(text))
    }

    fn kubelet(&self, body: &Value) -> Option<Value> {
        prune::<numbers::Summary>(body)
    }
}
