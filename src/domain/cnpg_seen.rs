//! Objects that belong to a CNPG Cluster, as the API server shows them: pods, claims, jobs, events, backups, schedules, stores.
//!
//! Words of the other side that are an open set stay text; what is absent is `None`, which is never read as good.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Condition, KubeUid};

/// A container of a pod, as far as a backup is concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerSeen {
    /// Its name.
    pub name: String,
    /// It is an init container (a sidecar is one with `restartPolicy: Always`).
    pub init: bool,
    /// Its image.
    pub image: Option<String>,
    /// Names and plain values of its environment; a value by reference is `None`.
    pub env: BTreeMap<String, Option<String>>,
    /// Its id, with the scheme: `containerd://…`.
    pub id: Option<String>,
    /// Whether it runs; `None` = not said.
    pub running: Option<bool>,
    /// Restarts.
    pub restarts: u32,
    /// Reason that it waits: `CrashLoopBackOff`.
    pub waiting: Option<String>,
    /// Exit code of its last end.
    pub last_exit: Option<i32>,
    /// Reason of its last end: `OOMKilled`.
    pub last_reason: Option<String>,
}

/// An instance's pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodSeen {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: Option<KubeUid>,
    /// `cnpg.io/instanceRole`, or the older `role`: `primary`, `replica`. A job's pod has none.
    pub role: Option<String>,
    /// The job it belongs to.
    pub job: Option<String>,
    /// `status.phase`.
    pub phase: Option<String>,
    /// `status.reason`: `Evicted`.
    pub reason: Option<String>,
    /// `status.message`.
    pub message: Option<String>,
    /// Whether its condition Ready is True.
    pub ready: Option<bool>,
    /// The node.
    pub node: Option<String>,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// Its containers, init containers too.
    pub containers: Vec<ContainerSeen>,
    /// The last lines of its logs that say ERROR, FATAL or PANIC, newest last; `None` = not read (only pods in trouble are).
    pub log: Option<Vec<String>>,
}

/// A volume claim of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimSeen {
    /// Its name.
    pub name: String,
    /// `cnpg.io/pvcRole`: `PG_DATA`, `PG_WAL`, `PG_TABLESPACE`.
    pub role: Option<String>,
    /// `cnpg.io/instanceName`.
    pub instance: Option<String>,
    /// `status.phase`.
    pub phase: Option<String>,
    /// Bytes asked for.
    pub requested: Option<u64>,
    /// Bytes it has.
    pub capacity: Option<u64>,
    /// Its storage class.
    pub class: Option<String>,
    /// Whether that class lets a volume grow; `None` = not looked at.
    pub class_expands: Option<bool>,
    /// Its conditions: `Resizing`, `FileSystemResizePending`.
    pub conditions: Vec<Condition>,
}

/// A job of the operator: bootstrap, recovery, join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSeen {
    /// Its name: `pg-main-1-full-recovery`.
    pub name: String,
    /// Pods that run.
    pub active: u32,
    /// Pods that failed.
    pub failed: u32,
    /// Pods that succeeded.
    pub succeeded: u32,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// Its conditions: `Failed` with `BackoffLimitExceeded`.
    pub conditions: Vec<Condition>,
}

/// An event about one of the Cluster's objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventSeen {
    /// Kind and name of what it is about: `Backup pg-main-nightly-20261125030000`.
    pub about: String,
    /// The reason: its type (Normal, Warning) tells nothing.
    pub reason: String,
    /// For people.
    pub message: String,
    /// How often.
    pub count: u32,
    /// When last.
    pub last: Option<Timestamp>,
}

/// A Backup object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CnpgBackup {
    /// Its name.
    pub name: String,
    /// `cluster.name`.
    pub cluster: String,
    /// The ScheduledBackup it came from.
    pub schedule: Option<String>,
    /// `method`: `barmanObjectStore` when it does not say.
    pub method: String,
    /// `status.phase`; `None` = not yet seen by the operator.
    pub phase: Option<String>,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// `startedAt`.
    pub started: Option<Timestamp>,
    /// `stoppedAt`.
    pub stopped: Option<Timestamp>,
    /// barman's id.
    pub backup_id: Option<String>,
    /// First segment it needs.
    pub begin_wal: Option<String>,
    /// Last segment it needs.
    pub end_wal: Option<String>,
    /// The server name it went to.
    pub server: Option<String>,
    /// The destination it went to.
    pub destination: Option<String>,
    /// The endpoint it went to.
    pub endpoint: Option<String>,
    /// The pod it runs on.
    pub pod: Option<String>,
    /// The container it runs in, with the scheme.
    pub container: Option<String>,
    /// Major version of the server.
    pub major: Option<u32>,
    /// `status.error`, or the command's error.
    pub error: Option<String>,
}

/// A ScheduledBackup object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CnpgSchedule {
    /// Its name.
    pub name: String,
    /// `cluster.name`.
    pub cluster: String,
    /// `schedule`, as written: six fields, or a word.
    pub expression: String,
    /// `suspend`.
    pub suspended: bool,
    /// `immediate`.
    pub immediate: bool,
    /// `method`.
    pub method: String,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// `lastCheckTime`.
    pub last_check: Option<Timestamp>,
    /// `lastScheduleTime`.
    pub last_run: Option<Timestamp>,
    /// `nextScheduleTime`.
    pub next_run: Option<Timestamp>,
    /// `status.error`.
    pub error: Option<String>,
}

/// What an ObjectStore says that it holds for one server. It comes from the catalogue: it does not prove that the WAL is unbroken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryWindowSeen {
    /// `firstRecoverabilityPoint`.
    pub first: Option<Timestamp>,
    /// `lastSuccessfulBackupTime`, either spelling.
    pub last_success: Option<Timestamp>,
    /// `lastFailedBackupTime`.
    pub last_failure: Option<Timestamp>,
}

/// An ObjectStore that a Cluster writes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectStoreSeen {
    /// Its name, in the Cluster's namespace.
    pub name: String,
    /// `metadata.generation`.
    pub generation: Option<u64>,
    /// When its spec last changed, as far as the API tells (managed fields).
    pub changed: Option<Timestamp>,
    /// `instanceSidecarConfiguration.env`: plain values.
    pub sidecar_env: BTreeMap<String, Option<String>>,
    /// `status.serverRecoveryWindow`.
    pub windows: BTreeMap<String, RecoveryWindowSeen>,
}
