//! The kinds that the cluster knows beside its own: kwok's, CNPG's and the barman plugin's.
//!
//! Where the folder `../shared/crds` lies beside the repository, CNPG's kinds are upstream's own text with all of its
//! validation; elsewhere they are of our making: right group, names, scope and subresources, any field.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use super::Cluster;
use super::apply::documents;
use crate::LabError;

const ESTABLISHED: Duration = Duration::from_secs(30);

/// Group, version, kind, plural, whether namespaced, whether status is a subresource.
type Kind = (&'static str, &'static str, &'static str, &'static str, bool, bool);

const KWOK: [Kind; 4] = [
    ("kwok.x-k8s.io", "v1alpha1", "PortForward", "portforwards", true, true),
    ("kwok.x-k8s.io", "v1alpha1", "Logs", "logs", true, true),
    ("kwok.x-k8s.io", "v1alpha1", "ClusterPortForward", "clusterportforwards", false, true),
    ("kwok.x-k8s.io", "v1alpha1", "ClusterLogs", "clusterlogs", false, true),
];
const CNPG: [Kind; 4] = [
    ("postgresql.cnpg.io", "v1", "Cluster", "clusters", true, true),
    ("postgresql.cnpg.io", "v1", "Backup", "backups", true, true),
    ("postgresql.cnpg.io", "v1", "ScheduledBackup", "scheduledbackups", true, true),
    ("barmancloud.cnpg.io", "v1", "ObjectStore", "objectstores", true, true),
];
/// Files of `../shared/crds` with CNPG's kinds.
const UPSTREAM: [&str; 4] = [
    "cnpg/postgresql.cnpg.io_clusters.yaml",
    "cnpg/postgresql.cnpg.io_backups.yaml",
    "cnpg/postgresql.cnpg.io_scheduledbackups.yaml",
    "barman-cloud/barmancloud.cnpg.io_objectstores.yaml",
];

impl Cluster {
    /// Makes a kind of our own: group, kind, scope, status subresource, and any field.
    pub async fn install_kind(
        &self,
        group: &str,
        version: &str,
        kind: &str,
        plural: &str,
        namespaced: bool,
    ) -> Result<(), LabError> {
        apply_all(&self.client().await?, vec![definition(group, version, kind, plural, namespaced, true)]).await
    }

    /// CNPG's kinds and the barman plugin's again, after a test took some away.
    pub async fn install_crds(&self) -> Result<(), LabError> {
        install(&self.client().await?).await
    }

    /// Takes a kind away, and all of its objects with it.
    pub async fn remove_kind(&self, group: &str, plural: &str) -> Result<(), LabError> {
        let name = format!("{plural}.{group}");
        self.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", &name).await?;
        let gone = |found: Option<&Value>| found.is_none();
        self.wait_for("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", &name, ESTABLISHED, gone).await.map(|_| ())
    }
}

/// Upstream's CRDs, when they lie beside the repository.
pub(super) fn upstream() -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/crds"));
    UPSTREAM.iter().all(|file| folder.join(file).is_file()).then_some(folder)
}

/// Makes all kinds and waits until they are served.
pub(super) async fn install(client: &Client) -> Result<(), LabError> {
    let own = |kinds: &[Kind]| -> Vec<Value> {
        kinds
            .iter()
            .map(|(group, version, kind, plural, ns, status)| definition(group, version, kind, plural, *ns, *status))
            .collect()
    };
    let mut all = own(&KWOK);
    match upstream() {
        Some(folder) => {
            for name in UPSTREAM {
                let file = folder.join(name);
                all.extend(documents(&fs::read_to_string(&file).map_err(LabError::file(&file))?)?);
            }
        }
        None => all.extend(own(&CNPG)),
    }
    apply_all(client, all).await
}

async fn apply_all(client: &Client, all: Vec<Value>) -> Result<(), LabError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut names = Vec::new();
    for one in all {
        let name = one.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        api.patch(&name, &PatchParams::apply("dalsegno-lab").force(), &Patch::Apply(&one)).await?;
        names.push(name);
    }
    let until = Instant::now() + ESTABLISHED;
    for name in names {
        loop {
            let conditions = api.get(&name).await?.status.and_then(|status| status.conditions).unwrap_or_default();
            if conditions.iter().any(|c| c.type_ == "Established" && c.status == "True") {
                break;
            }
            if Instant::now() > until {
                return Err(LabError::NotReady {
                    server: format!("kind {name}"),
                    seconds: ESTABLISHED.as_secs(),
                    log: format!("{conditions:?}"),
                });
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

fn definition(group: &str, version: &str, kind: &str, plural: &str, namespaced: bool, status: bool) -> Value {
    let subresources = if status { json!({"status": {}}) } else { json!({}) };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": if namespaced { "Namespaced" } else { "Cluster" },
            "names": {"kind": kind, "plural": plural, "singular": kind.to_ascii_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{
                "name": version, "served": true, "storage": true, "subresources": subresources,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}
