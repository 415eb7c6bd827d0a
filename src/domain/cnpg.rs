//! Facts about CloudNativePG (CNPG): Clusters, their archivers, schedules and backups, as the API server shows them.
//!
//! Words of the other side that are an open set (phases, reasons) stay text. What is absent is `None`: it is never read as good.
//! Facts: <https://cloudnative-pg.io/documentation/current/>, the CRDs of 1.25 to 1.30, plugin-barman-cloud 0.14.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Condition, KubeId, KubeName, KubeUid, SecretKey, StoreId, Subject, SystemId};

/// A location as a live object spells it: `destinationPath`, endpoint, server name, and where its keys are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveLocation {
    /// Where it is spelt, for people: `ObjectStore prod/r2`, `Cluster prod/pg-main spec.backup.barmanObjectStore`.
    pub spelt_in: String,
    /// `destinationPath`, as written.
    pub destination: String,
    /// `endpointURL`, as written; `None` = AWS's own.
    pub endpoint: Option<String>,
    /// The bucket; `None` when the destination is not an S3 URL or is a placeholder.
    pub bucket: Option<String>,
    /// The path inside the bucket, normalised: no slashes at either end.
    pub path: Option<String>,
    /// barman's server name, by the rules of who spells it.
    pub server: String,
    /// Keys of Secrets that hold credentials and region: `accessKeyId`, `secretAccessKey`, `sessionToken`, `region` → where.
    pub credentials: BTreeMap<String, SecretKey>,
    /// Credentials come from the machine's role.
    pub from_role: bool,
    /// `wal.compression`.
    pub wal_compression: Option<String>,
    /// `wal.maxParallel`; `None` = 1.
    pub wal_parallel: Option<u32>,
    /// `retentionPolicy`, as written.
    pub retention: Option<String>,
    /// Placeholders that stand in it as values: field path and value.
    pub placeholders: Vec<(String, String)>,
    /// The configured store that this is, when endpoint and bucket agree with one.
    pub store: Option<StoreId>,
}

/// How something is reached: by the in-tree field, or by the barman-cloud plugin through an ObjectStore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "via", rename_all = "kebab-case")]
pub enum ArchiveRef {
    /// `barmanObjectStore` in the Cluster itself.
    InTree {
        /// Where.
        location: LiveLocation,
    },
    /// An entry of `plugins` (or `externalClusters[].plugin`).
    Plugin {
        /// The ObjectStore's name; in the Cluster's namespace.
        object_store: String,
        /// Where; `None` when there is no such ObjectStore (see `dangling`) or it was not looked at.
        location: Option<LiveLocation>,
        /// The ObjectStore is not there: its list was read and does not hold it.
        dangling: bool,
        /// `isWALArchiver`; `None` when the entry does not say.
        declared_archiver: Option<bool>,
        /// `enabled`, true when the entry does not say.
        enabled: bool,
    },
}

impl ArchiveRef {
    /// Where it leads, when that is known.
    pub const fn location(&self) -> Option<&LiveLocation> {
        match self {
            Self::InTree { location } => Some(location),
            Self::Plugin { location, .. } => location.as_ref(),
        }
    }
}

/// An entry of `externalClusters`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalCluster {
    /// Its name.
    pub name: String,
    /// The archive it reads; `None` when it holds connection parameters only.
    pub archive: Option<ArchiveRef>,
}

/// What a recovery stops at: a field of `recoveryTarget` and its value (`targetTime`, `backupID`, `targetTLI`, …).
pub type RecoveryTarget = BTreeMap<String, String>;

/// How the Cluster came to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Bootstrap {
    /// `initdb`, or nothing said.
    Initdb {
        /// The application's database.
        database: Option<String>,
        /// Its owner.
        owner: Option<String>,
        /// `walSegmentSize` in MB.
        wal_segment_mb: Option<u32>,
    },
    /// `recovery`.
    Recovery {
        /// `source`: the name of an external cluster.
        source: Option<String>,
        /// `backup.name`: a Backup object in the same namespace.
        backup: Option<String>,
        /// That Backup object is there; `None` = not looked at, or none is named.
        backup_exists: Option<bool>,
        /// `volumeSnapshots.*`: role (storage, walStorage, a tablespace) → name.
        snapshots: BTreeMap<String, String>,
        /// Which of them are not there; `None` = not looked at.
        snapshots_missing: Option<Vec<String>>,
        /// `recoveryTarget`.
        target: RecoveryTarget,
        /// `database`.
        database: Option<String>,
        /// `owner`.
        owner: Option<String>,
        /// `secret.name`.
        secret: Option<String>,
    },
    /// `pg_basebackup` from a running server.
    PgBasebackup {
        /// `source`.
        source: String,
    },
}

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
    /// Whether its condition Ready is True.
    pub ready: Option<bool>,
    /// The node.
    pub node: Option<String>,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// Its containers, init containers too.
    pub containers: Vec<ContainerSeen>,
    /// The last lines of its log that say ERROR, FATAL or PANIC, newest last; `None` = not read.
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

/// What a look at one CNPG Cluster showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CnpgFact {
    /// `pg/<site>/<environment>/<name>`; joined with the archive's fact by it.
    pub subject: Subject,
    /// The Kubernetes cluster.
    pub kube: KubeId,
    /// Namespace and name.
    pub cluster: KubeName,
    /// Its uid.
    pub uid: Option<KubeUid>,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// It is being deleted since.
    pub deleting: Option<Timestamp>,
    /// `status.phase`: a text, compared with "Cluster in healthy state" only.
    pub phase: Option<String>,
    /// `status.phaseReason`.
    pub phase_reason: Option<String>,
    /// Instances asked for.
    pub instances: u32,
    /// Instances that are ready; `None` = not said.
    pub ready_instances: Option<u32>,
    /// The primary's pod.
    pub current_primary: Option<String>,
    /// The primary that shall be.
    pub target_primary: Option<String>,
    /// Since when.
    pub target_primary_since: Option<Timestamp>,
    /// `status.systemID`.
    pub system_id: Option<SystemId>,
    /// `status.timelineID`.
    pub timeline: Option<u32>,
    /// Its image.
    pub image: Option<String>,
    /// PostgreSQL's major version, by image or status; `None` = neither tells.
    pub major: Option<u32>,
    /// Its conditions.
    pub conditions: Vec<Condition>,
    /// Who archives WAL, by the spec: every in-tree store and every barman plugin entry, enabled or not.
    pub archivers: Vec<ArchiveRef>,
    /// `backup.retentionPolicy`.
    pub retention: Option<String>,
    /// `backup.volumeSnapshot` is set.
    pub volume_snapshots: bool,
    /// Other clusters it may read.
    pub externals: Vec<ExternalCluster>,
    /// How it came to be.
    pub bootstrap: Bootstrap,
    /// `replica.source`, when `replica.enabled` (or it is not the primary of a distributed topology).
    pub replica_of: Option<String>,
    /// Annotation `cnpg.io/skipWalArchiving`: its value.
    pub skip_wal_archiving: Option<String>,
    /// Annotation `cnpg.io/skipEmptyWalArchiveCheck` is `enabled`.
    pub skip_empty_archive_check: bool,
    /// Annotation `cnpg.io/hibernation` is `on`.
    pub hibernated: bool,
    /// Fenced instances; `*` = all.
    pub fenced: Vec<String>,
    /// `monitoring.disableDefaultQueries`.
    pub no_default_queries: bool,
    /// `storage.size` in bytes.
    pub storage: Option<u64>,
    /// `walStorage.size` in bytes; `None` = WAL lies on the data volume.
    pub wal_storage: Option<u64>,
    /// `postgresql.parameters`.
    pub parameters: BTreeMap<String, String>,
    /// Roles that the operator manages with a password of their own.
    pub managed_roles: Vec<String>,
    /// `<cluster>-app` is there; `None` = not looked at.
    pub app_secret: Option<bool>,
    /// Tablespaces of the spec.
    pub tablespaces: Vec<String>,
    /// Its pods; `None` = not looked at.
    pub pods: Option<Vec<PodSeen>>,
    /// Its volume claims; `None` = not looked at.
    pub claims: Option<Vec<ClaimSeen>>,
    /// Its jobs; `None` = not looked at.
    pub jobs: Option<Vec<JobSeen>>,
    /// Events; `None` = not looked at.
    pub events: Option<Vec<EventSeen>>,
    /// Backups; `None` = not looked at.
    pub backups: Option<Vec<CnpgBackup>>,
    /// Schedules; `None` = not looked at.
    pub schedules: Option<Vec<CnpgSchedule>>,
    /// ObjectStores that its archivers name.
    pub object_stores: Vec<ObjectStoreSeen>,
}

impl CnpgFact {
    /// The condition of a type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}

/// What Prometheus rules of the site watch of archiving.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertRulesFact {
    /// The Kubernetes cluster: `cluster/<site>/<name>`.
    pub subject: Subject,
    /// PrometheusRule object, alert name, expression: those that name a metric of CNPG or of the barman plugin.
    pub rules: Vec<(String, String, String)>,
}
