//! Facts about CloudNativePG (CNPG): Clusters, their archivers, schedules and backups, as the API server shows them.
//!
//! Words of the other side that are an open set (phases, reasons) stay text. What is absent is `None`: it is never read as good.
//! Facts: <https://cloudnative-pg.io/documentation/current/>, the CRDs of 1.25 to 1.30, plugin-barman-cloud 0.14.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    ClaimSeen, CnpgBackup, CnpgSchedule, Condition, ConfiguredLocation, EventSeen, JobSeen, KubeId, KubeName, KubeUid,
    LastPosition, ObjectStoreSeen, PodSeen, SecretKey, StoreId, Subject, SystemId,
};

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
    /// `wal.encryption`.
    pub wal_encryption: Option<String>,
    /// `data.encryption`.
    pub data_encryption: Option<String>,
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

/// What a look at one CNPG Cluster showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CnpgFact {
    /// `pg/<site>/<environment>/<name>`; joined with the archive's fact by it.
    pub subject: Subject,
    /// The Kubernetes cluster.
    pub kube: KubeId,
    /// Namespace and name.
    pub cluster: KubeName,
    /// It was read from a manifest: nothing of it ever ran, and what a running Cluster would show says nothing by being absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_text: bool,
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
    /// Its labels.
    pub labels: BTreeMap<String, String>,
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
    /// `status.firstRecoverabilityPointByMethod`: method → time. Deprecated, and not kept by plugins.
    pub first_points: BTreeMap<String, Timestamp>,
    /// Version of the operator, as its pods say.
    pub operator: Option<String>,
    /// Annotation `cnpg.io/reconciliationLoop` is `disabled`.
    pub reconcile_disabled: bool,
    /// Where our own configuration says that this database's archive lies; `None` = it does not say, and the live objects are believed.
    pub configured: Option<ConfiguredLocation>,
    /// How far it had written when that was last known, this look or an earlier one.
    pub last_position: Option<LastPosition>,
    /// Completed Backups of the last look that are gone now, by name; `None` = there was none, or Backups were not looked at.
    pub backups_gone: Option<Vec<String>>,
}

impl CnpgFact {
    /// A Cluster of which nothing but its name is known.
    pub const fn bare(subject: Subject, kubernetes: KubeId, cluster: KubeName) -> Self {
        Self {
            subject,
            kube: kubernetes,
            cluster,
            from_text: false,
            uid: None,
            created: None,
            deleting: None,
            phase: None,
            phase_reason: None,
            instances: 0,
            ready_instances: None,
            current_primary: None,
            target_primary: None,
            target_primary_since: None,
            system_id: None,
            timeline: None,
            image: None,
            major: None,
            labels: BTreeMap::new(),
            conditions: Vec::new(),
            archivers: Vec::new(),
            retention: None,
            volume_snapshots: false,
            externals: Vec::new(),
            bootstrap: Bootstrap::Initdb { database: None, owner: None, wal_segment_mb: None },
            replica_of: None,
            skip_wal_archiving: None,
            skip_empty_archive_check: false,
            hibernated: false,
            fenced: Vec::new(),
            no_default_queries: false,
            storage: None,
            wal_storage: None,
            parameters: BTreeMap::new(),
            managed_roles: Vec::new(),
            app_secret: None,
            tablespaces: Vec::new(),
            pods: None,
            claims: None,
            jobs: None,
            events: None,
            backups: None,
            schedules: None,
            object_stores: Vec::new(),
            first_points: BTreeMap::new(),
            operator: None,
            reconcile_disabled: false,
            configured: None,
            last_position: None,
            backups_gone: None,
        }
    }

    /// Who archives WAL, of those that the spec names: a plugin that is declared to, else the in-tree store, else a plugin that is on and
    /// says nothing (it archives when its sidecar is there).
    pub fn writer(&self) -> Option<&ArchiveRef> {
        let rank = |archiver: &ArchiveRef| match archiver {
            ArchiveRef::Plugin { enabled: false, .. } | ArchiveRef::Plugin { declared_archiver: Some(false), .. } => None,
            ArchiveRef::Plugin { declared_archiver: Some(true), .. } => Some(0),
            ArchiveRef::InTree { .. } => Some(1),
            ArchiveRef::Plugin { .. } => Some(2),
        };
        self.archivers
            .iter()
            .filter_map(|archiver| Some((rank(archiver)?, archiver)))
            .min_by_key(|(rank, _)| *rank)
            .map(|of| of.1)
    }

    /// The condition of a type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}
