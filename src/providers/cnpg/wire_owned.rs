//! Objects that belong to a Cluster, or stand beside one, as JSON: as far as they are read (see [`super::wire`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::lax::{Something, Variable, entries, lax, rows, text, texts};
use super::wire::{Barman, ClaimSpec, ConditionRow, Meta, Named};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Backup {
    #[serde(deserialize_with = "lax")]
    pub(super) metadata: Meta,
    #[serde(deserialize_with = "lax")]
    pub(super) spec: BackupSpec,
    #[serde(deserialize_with = "lax")]
    pub(super) status: BackupStatus,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct BackupSpec {
    #[serde(deserialize_with = "lax")]
    pub(super) cluster: Named,
    #[serde(deserialize_with = "lax")]
    pub(super) method: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BackupStatus {
    #[serde(deserialize_with = "lax")]
    pub(super) phase: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) started_at: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) stopped_at: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) backup_id: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) begin_wal: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) end_wal: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) server_name: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) destination_path: Option<String>,
    #[serde(rename = "endpointURL", deserialize_with = "lax")]
    pub(super) endpoint_url: Option<String>,
    #[serde(rename = "instanceID", deserialize_with = "lax")]
    pub(super) instance_id: Option<InstanceId>,
    #[serde(deserialize_with = "lax")]
    pub(super) major_version: Option<u32>,
    #[serde(deserialize_with = "lax")]
    pub(super) error: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) command_error: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct InstanceId {
    #[serde(deserialize_with = "lax")]
    pub(super) pod_name: Option<String>,
    #[serde(rename = "ContainerID", deserialize_with = "lax")]
    pub(super) container_id: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ScheduledBackup {
    #[serde(deserialize_with = "lax")]
    pub(super) metadata: Meta,
    #[serde(deserialize_with = "lax")]
    pub(super) spec: ScheduleSpec,
    #[serde(deserialize_with = "lax")]
    pub(super) status: ScheduleStatus,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ScheduleSpec {
    #[serde(deserialize_with = "lax")]
    pub(super) schedule: String,
    #[serde(deserialize_with = "lax")]
    pub(super) suspend: Option<bool>,
    #[serde(deserialize_with = "lax")]
    pub(super) immediate: Option<bool>,
    #[serde(deserialize_with = "lax")]
    pub(super) cluster: Named,
    #[serde(deserialize_with = "lax")]
    pub(super) method: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ScheduleStatus {
    #[serde(deserialize_with = "lax")]
    pub(super) last_check_time: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) last_schedule_time: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) next_schedule_time: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) error: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ObjectStore {
    #[serde(deserialize_with = "lax")]
    pub(super) metadata: Meta,
    #[serde(deserialize_with = "lax")]
    pub(super) spec: ObjectStoreSpec,
    #[serde(deserialize_with = "lax")]
    pub(super) status: ObjectStoreStatus,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ObjectStoreSpec {
    #[serde(deserialize_with = "lax")]
    pub(super) configuration: Barman,
    #[serde(deserialize_with = "lax")]
    pub(super) retention_policy: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) instance_sidecar_configuration: Option<Sidecar>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Sidecar {
    #[serde(deserialize_with = "rows")]
    pub(super) env: Vec<Variable>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ObjectStoreStatus {
    #[serde(deserialize_with = "entries")]
    pub(super) server_recovery_window: BTreeMap<String, RecoveryWindow>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RecoveryWindow {
    #[serde(deserialize_with = "lax")]
    pub(super) first_recoverability_point: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) last_successful_backup_time: Option<String>,
    /// As it was spelt before 0.6.
    #[serde(rename = "lastSuccussfulBackupTime", deserialize_with = "lax")]
    pub(super) last_success_as_misspelt: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) last_failed_backup_time: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Pod {
    #[serde(deserialize_with = "lax")]
    pub(super) metadata: Meta,
    #[serde(deserialize_with = "lax")]
    pub(super) spec: PodSpec,
    #[serde(deserialize_with = "lax")]
    pub(super) status: PodStatus,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PodSpec {
    #[serde(deserialize_with = "lax")]
    pub(super) node_name: Option<String>,
    #[serde(deserialize_with = "rows")]
    pub(super) containers: Vec<Container>,
    #[serde(deserialize_with = "rows")]
    pub(super) init_containers: Vec<Container>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Container {
    #[serde(deserialize_with = "lax")]
    pub(super) name: String,
    #[serde(deserialize_with = "lax")]
    pub(super) image: Option<String>,
    #[serde(deserialize_with = "rows")]
    pub(super) env: Vec<Variable>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PodStatus {
    #[serde(deserialize_with = "lax")]
    pub(super) phase: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) reason: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) message: Option<String>,
    #[serde(deserialize_with = "rows")]
    pub(super) conditions: Vec<ConditionRow>,
    #[serde(deserialize_with = "rows")]
    pub(super) container_statuses: Vec<ContainerStatus>,
    #[serde(deserialize_with = "rows")]
    pub(super) init_container_statuses: Vec<ContainerStatus>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ContainerStatus {
    #[serde(deserialize_with = "lax")]
    pub(super) name: String,
    #[serde(rename = "containerID", deserialize_with = "lax")]
    pub(super) container_id: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) restart_count: u32,
    #[serde(deserialize_with = "lax")]
    pub(super) state: ContainerState,
    #[serde(deserialize_with = "lax")]
    pub(super) last_state: ContainerState,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ContainerState {
    #[serde(deserialize_with = "lax", skip_serializing_if = "Option::is_none")]
    pub(super) running: Option<Something>,
    #[serde(deserialize_with = "lax")]
    pub(super) waiting: Option<Waiting>,
    #[serde(deserialize_with = "lax")]
    pub(super) terminated: Option<Terminated>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Waiting {
    #[serde(deserialize_with = "lax")]
    pub(super) reason: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Terminated {
    #[serde(deserialize_with = "lax")]
    pub(super) exit_code: Option<i32>,
    #[serde(deserialize_with = "lax")]
    pub(super) reason: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Claim {
    #[serde(deserialize_with = "lax")]
    pub(super) metadata: Meta,
    #[serde(deserialize_with = "lax")]
    pub(super) spec: ClaimSpec,
    #[serde(deserialize_with = "lax")]
    pub(super) status: ClaimStatus,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ClaimStatus {
    #[serde(deserialize_with = "lax")]
    pub(super) phase: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub(super) capacity: BTreeMap<String, String>,
    #[serde(deserialize_with = "rows")]
    pub(super) conditions: Vec<ConditionRow>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Job {
    #[serde(deserialize_with = "lax")]
    pub(super) metadata: Meta,
    #[serde(deserialize_with = "lax")]
    pub(super) status: JobStatus,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct JobStatus {
    #[serde(deserialize_with = "lax")]
    pub(super) active: u32,
    #[serde(deserialize_with = "lax")]
    pub(super) failed: u32,
    #[serde(deserialize_with = "lax")]
    pub(super) succeeded: u32,
    #[serde(deserialize_with = "rows")]
    pub(super) conditions: Vec<ConditionRow>,
}

/// `v1` Event.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Event {
    #[serde(deserialize_with = "lax")]
    pub(super) metadata: Meta,
    #[serde(deserialize_with = "lax")]
    pub(super) involved_object: Involved,
    #[serde(deserialize_with = "lax")]
    pub(super) reason: String,
    #[serde(deserialize_with = "lax")]
    pub(super) message: String,
    #[serde(deserialize_with = "lax")]
    pub(super) count: Option<u32>,
    #[serde(deserialize_with = "lax")]
    pub(super) last_timestamp: Option<String>,
    #[serde(rename = "eventTime", deserialize_with = "lax")]
    pub(super) at: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) series: Option<EventSeries>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Involved {
    #[serde(deserialize_with = "lax")]
    pub(super) api_version: Option<String>,
    #[serde(deserialize_with = "lax")]
    pub(super) kind: String,
    #[serde(deserialize_with = "lax")]
    pub(super) name: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct EventSeries {
    #[serde(deserialize_with = "lax")]
    pub(super) count: Option<u32>,
    #[serde(deserialize_with = "lax")]
    pub(super) last_observed_time: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct StorageClass {
    #[serde(deserialize_with = "lax")]
    pub(super) metadata: Meta,
    #[serde(deserialize_with = "lax")]
    pub(super) allow_volume_expansion: Option<bool>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PrometheusRule {
    #[serde(deserialize_with = "lax")]
    pub(super) metadata: Meta,
    #[serde(deserialize_with = "lax")]
    pub(super) spec: PrometheusRuleSpec,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PrometheusRuleSpec {
    #[serde(deserialize_with = "rows")]
    pub(super) groups: Vec<RuleGroup>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RuleGroup {
    #[serde(deserialize_with = "rows")]
    pub(super) rules: Vec<Rule>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Rule {
    #[serde(deserialize_with = "lax")]
    pub(super) alert: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) expr: Option<String>,
}

/// Anything of which only its being there is read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Bare {
    #[serde(deserialize_with = "lax")]
    pub(super) metadata: Meta,
}
