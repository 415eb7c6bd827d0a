//! Objects of the API server as JSON, as far as they are read. The same types say what a recording keeps.
//!
//! Every field may be absent, null or of an unexpected form: it then counts as absent, and the rest of the object is read. A row of a list
//! that makes no sense is left out. Facts: the CRDs of CNPG 1.25–1.30 and plugin-barman-cloud 0.14, Kubernetes' own API of 1.33.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::lax::{Something, annotations, entries, lax, parameters, rows, text, texts};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Meta {
    #[serde(deserialize_with = "lax")]
    pub(super) name: String,
    #[serde(deserialize_with = "lax")]
    pub(super) namespace: String,
    #[serde(deserialize_with = "lax")]
    pub(super) uid: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) generation: Option<u64>,
    #[serde(deserialize_with = "lax")]
    pub(super) creation_timestamp: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) deletion_timestamp: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub(super) labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "annotations")]
    pub(super) annotations: BTreeMap<String, String>,
    #[serde(deserialize_with = "rows")]
    pub(super) owner_references: Vec<Owner>,
    #[serde(deserialize_with = "rows")]
    pub(super) managed_fields: Vec<Managed>,
}

impl Meta {
    pub(super) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Owner {
    #[serde(deserialize_with = "lax")]
    pub(super) kind: String,
    #[serde(deserialize_with = "lax")]
    pub(super) name: String,
}

/// Who wrote which fields when: <https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management>.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Managed {
    #[serde(deserialize_with = "lax")]
    pub(super) time: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) subresource: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) fields_v1: OwnedFields,
}

/// Only whether something of `spec` is among them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct OwnedFields {
    #[serde(rename = "f:spec", deserialize_with = "lax", skip_serializing_if = "Option::is_none")]
    pub(super) spec: Option<Something>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ConditionRow {
    #[serde(rename = "type", deserialize_with = "lax")]
    pub(super) kind: String,
    #[serde(deserialize_with = "lax")]
    pub(super) status: String,
    #[serde(deserialize_with = "lax")]
    pub(super) reason: String,
    #[serde(deserialize_with = "lax")]
    pub(super) message: String,
    #[serde(deserialize_with = "lax")]
    pub(super) last_transition_time: Option<String>,
}

/// `{name: …}`: a reference in the same namespace.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Named {
    #[serde(deserialize_with = "lax")]
    pub(super) name: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct KeyOfSecret {
    #[serde(deserialize_with = "lax")]
    pub(super) name: String,
    #[serde(deserialize_with = "lax")]
    pub(super) key: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Cluster {
    #[serde(deserialize_with = "lax")]
    pub(super) metadata: Meta,
    #[serde(deserialize_with = "lax")]
    pub(super) spec: ClusterSpec,
    #[serde(deserialize_with = "lax")]
    pub(super) status: ClusterStatus,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ClusterSpec {
    #[serde(deserialize_with = "lax")]
    pub(super) instances: Option<u32>,
    #[serde(deserialize_with = "lax")]
    pub(super) image_name: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) image_catalog_ref: Option<Catalog>,
    #[serde(deserialize_with = "rows")]
    pub(super) plugins: Vec<Plugin>,
    #[serde(deserialize_with = "lax")]
    pub(super) backup: Option<BackupConfig>,
    #[serde(deserialize_with = "rows")]
    pub(super) external_clusters: Vec<External>,
    #[serde(deserialize_with = "lax")]
    pub(super) bootstrap: Option<BootstrapConfig>,
    #[serde(deserialize_with = "lax")]
    pub(super) replica: Option<Replica>,
    #[serde(deserialize_with = "lax")]
    pub(super) monitoring: Option<Monitoring>,
    #[serde(deserialize_with = "lax")]
    pub(super) storage: Option<StorageConfig>,
    #[serde(deserialize_with = "lax")]
    pub(super) wal_storage: Option<StorageConfig>,
    #[serde(deserialize_with = "lax")]
    pub(super) postgresql: Option<Postgresql>,
    #[serde(deserialize_with = "lax")]
    pub(super) managed: Option<ManagedConfig>,
    #[serde(deserialize_with = "rows")]
    pub(super) tablespaces: Vec<Named>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Catalog {
    #[serde(deserialize_with = "lax")]
    pub(super) major: Option<u32>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Plugin {
    #[serde(deserialize_with = "lax")]
    pub(super) name: String,
    #[serde(deserialize_with = "lax")]
    pub(super) enabled: Option<bool>,
    #[serde(rename = "isWALArchiver", deserialize_with = "lax")]
    pub(super) is_wal_archiver: Option<bool>,
    #[serde(deserialize_with = "lax")]
    pub(super) parameters: BarmanParameters,
}

/// Those parameters of the barman plugin that are read; another plugin's may be anything.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BarmanParameters {
    #[serde(deserialize_with = "lax")]
    pub(super) barman_object_name: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) server_name: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BackupConfig {
    #[serde(deserialize_with = "lax")]
    pub(super) retention_policy: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) barman_object_store: Option<Barman>,
    #[serde(deserialize_with = "lax", skip_serializing_if = "Option::is_none")]
    pub(super) volume_snapshot: Option<Something>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Barman {
    #[serde(deserialize_with = "lax")]
    pub(super) destination_path: String,
    #[serde(rename = "endpointURL", deserialize_with = "lax")]
    pub(super) endpoint_url: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) server_name: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) s3_credentials: Option<S3Credentials>,
    #[serde(deserialize_with = "lax")]
    pub(super) wal: Option<BarmanWal>,
    #[serde(deserialize_with = "lax")]
    pub(super) data: Option<BarmanData>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct S3Credentials {
    #[serde(deserialize_with = "lax")]
    pub(super) access_key_id: Option<KeyOfSecret>,
    #[serde(deserialize_with = "lax")]
    pub(super) secret_access_key: Option<KeyOfSecret>,
    #[serde(deserialize_with = "lax")]
    pub(super) session_token: Option<KeyOfSecret>,
    #[serde(deserialize_with = "lax")]
    pub(super) region: Option<KeyOfSecret>,
    #[serde(rename = "inheritFromIAMRole", deserialize_with = "lax")]
    pub(super) inherit_from_iam_role: Option<bool>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BarmanWal {
    #[serde(deserialize_with = "lax")]
    pub(super) compression: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) encryption: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) max_parallel: Option<u32>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct BarmanData {
    #[serde(deserialize_with = "lax")]
    pub(super) encryption: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct External {
    #[serde(deserialize_with = "lax")]
    pub(super) name: String,
    #[serde(deserialize_with = "lax")]
    pub(super) plugin: Option<Plugin>,
    #[serde(deserialize_with = "lax")]
    pub(super) barman_object_store: Option<Barman>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct BootstrapConfig {
    #[serde(deserialize_with = "lax")]
    pub(super) initdb: Option<Initdb>,
    #[serde(deserialize_with = "lax")]
    pub(super) recovery: Option<Recovery>,
    #[serde(deserialize_with = "lax")]
    pub(super) pg_basebackup: Option<Basebackup>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Initdb {
    #[serde(deserialize_with = "lax")]
    pub(super) database: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) owner: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) wal_segment_size: Option<u32>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Recovery {
    #[serde(deserialize_with = "lax")]
    pub(super) source: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) backup: Option<Named>,
    #[serde(deserialize_with = "lax")]
    pub(super) volume_snapshots: Option<Snapshots>,
    #[serde(rename = "recoveryTarget", deserialize_with = "texts")]
    pub(super) target: BTreeMap<String, String>,
    #[serde(deserialize_with = "lax")]
    pub(super) database: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) owner: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) secret: Option<Named>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Snapshots {
    #[serde(deserialize_with = "lax")]
    pub(super) storage: Option<Named>,
    #[serde(deserialize_with = "lax")]
    pub(super) wal_storage: Option<Named>,
    #[serde(deserialize_with = "entries")]
    pub(super) tablespace_storage: BTreeMap<String, Named>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Basebackup {
    #[serde(deserialize_with = "lax")]
    pub(super) source: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Replica {
    #[serde(deserialize_with = "lax")]
    pub(super) enabled: Option<bool>,
    #[serde(deserialize_with = "lax")]
    pub(super) source: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) primary: Option<String>,
    #[serde(rename = "self", deserialize_with = "lax")]
    pub(super) own_name: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Monitoring {
    #[serde(deserialize_with = "lax")]
    pub(super) disable_default_queries: Option<bool>,
    #[serde(deserialize_with = "lax")]
    pub(super) tls: Option<MonitoringTls>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct MonitoringTls {
    #[serde(deserialize_with = "lax")]
    pub(super) enabled: Option<bool>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct StorageConfig {
    #[serde(deserialize_with = "text")]
    pub(super) size: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) pvc_template: Option<ClaimSpec>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Postgresql {
    #[serde(deserialize_with = "parameters")]
    pub(super) parameters: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ManagedConfig {
    #[serde(deserialize_with = "rows")]
    pub(super) roles: Vec<ManagedRole>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ManagedRole {
    #[serde(deserialize_with = "lax")]
    pub(super) name: String,
    #[serde(deserialize_with = "lax")]
    pub(super) password_secret: Option<Named>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ClusterStatus {
    #[serde(deserialize_with = "lax")]
    pub(super) phase: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) phase_reason: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) ready_instances: Option<u32>,
    #[serde(deserialize_with = "lax")]
    pub(super) current_primary: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) target_primary: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) target_primary_timestamp: Option<String>,
    #[serde(rename = "systemID", deserialize_with = "text")]
    pub(super) system_id: Option<String>,
    #[serde(rename = "timelineID", deserialize_with = "lax")]
    pub(super) timeline_id: Option<u32>,
    #[serde(deserialize_with = "lax")]
    pub(super) image: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) pg_data_image_info: Option<ImageInfo>,
    #[serde(deserialize_with = "rows")]
    pub(super) conditions: Vec<ConditionRow>,
    #[serde(deserialize_with = "texts")]
    pub(super) first_recoverability_point_by_method: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ImageInfo {
    #[serde(deserialize_with = "lax")]
    pub(super) image: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) major_version: Option<u32>,
}

/// A volume claim's spec, as a claim and a template have it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ClaimSpec {
    #[serde(deserialize_with = "lax")]
    pub(super) storage_class_name: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) resources: Resources,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Resources {
    #[serde(deserialize_with = "texts")]
    pub(super) requests: BTreeMap<String, String>,
}
