//! Their objects into our nouns. Nothing is judged here; what is absent stays absent.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::client::Lists;
use super::lax::{FENCED, HIBERNATION, OPERATOR_VERSION, RECONCILIATION, SKIP_EMPTY_CHECK, SKIP_WAL_ARCHIVING};
use super::locate::Atlas;
use super::quantity;
use super::wire::{self, Cluster, ConditionRow, Meta};
use super::wire_owned::{Backup, ObjectStore, ScheduledBackup};
use crate::domain::{
    ArchiveRef, Bootstrap, CnpgBackup, CnpgFact, CnpgSchedule, Condition, KubeId, KubeName, KubeUid, ObjectStoreSeen,
    RecoveryWindowSeen, Subject, SystemId,
};

/// A time as the API writes it.
pub(super) fn time(text: Option<&String>) -> Option<Timestamp> {
    text?.parse().ok()
}

pub(super) fn name_of(meta: &Meta) -> KubeName {
    KubeName::new(meta.namespace.clone(), meta.name.clone())
}

pub(super) fn uid_of(meta: &Meta) -> Option<KubeUid> {
    meta.uid.clone().filter(|uid| !uid.is_empty()).map(KubeUid)
}

pub(super) fn conditions(rows: &[ConditionRow]) -> Vec<Condition> {
    let one = |row: &ConditionRow| Condition {
        kind: row.kind.clone(),
        status: row.status.clone(),
        reason: row.reason.clone(),
        message: row.message.clone(),
        since: time(row.last_transition_time.as_ref()),
    };
    rows.iter().map(one).collect()
}

/// ObjectStores of a namespace; `None` = they were not looked at. Where the plugin's CRD is not there, there are none.
pub(super) fn stores_of<'a>(lists: &'a Lists, namespace: &str) -> Option<Vec<&'a ObjectStore>> {
    let known = !lists.stores.asked || lists.stores.covers(namespace);
    known.then(|| lists.stores.items.iter().filter(|store| store.metadata.namespace == namespace).collect())
}

/// A Cluster and what belongs to it. Numbers, logs and what only memory knows are added by who looks.
pub(super) fn cluster(of: &Cluster, lists: &Lists, atlas: &Atlas, subject: Subject, kube: KubeId) -> CnpgFact {
    let name = name_of(&of.metadata);
    let (spec, status) = (&of.spec, &of.status);
    let annotation = |key: &str| of.metadata.annotations.get(key);
    let stores = stores_of(lists, &name.namespace);
    let archivers = atlas.archivers(of, stores.as_deref());
    let pods = super::owned::pods(lists, &name);
    let image = status.image.clone().or_else(|| spec.image_name.clone());
    let image = image.or_else(|| status.pg_data_image_info.as_ref().and_then(|info| info.image.clone()));
    CnpgFact {
        uid: uid_of(&of.metadata),
        created: time(of.metadata.creation_timestamp.as_ref()),
        deleting: time(of.metadata.deletion_timestamp.as_ref()),
        phase: status.phase.clone(),
        phase_reason: status.phase_reason.clone(),
        // One instance when it does not say: the CRD's own default.
        instances: spec.instances.unwrap_or(1),
        ready_instances: status.ready_instances,
        current_primary: status.current_primary.clone().filter(|pod| !pod.is_empty()),
        target_primary: status.target_primary.clone().filter(|pod| !pod.is_empty()),
        target_primary_since: time(status.target_primary_timestamp.as_ref()),
        system_id: status.system_id.as_deref().and_then(|text| text.parse::<u64>().ok()).filter(|id| *id > 0).map(SystemId),
        timeline: status.timeline_id,
        major: major(of, image.as_deref()),
        image,
        labels: of.metadata.labels.clone(),
        conditions: conditions(&status.conditions),
        object_stores: object_stores(&archivers, stores.as_deref().unwrap_or_default()),
        archivers,
        retention: spec.backup.as_ref().and_then(|backup| backup.retention_policy.clone()),
        volume_snapshots: spec.backup.as_ref().is_some_and(|backup| backup.volume_snapshot.is_some()),
        externals: atlas.externals(of, stores.as_deref()),
        bootstrap: bootstrap(of, lists),
        replica_of: replica_of(of),
        skip_wal_archiving: annotation(SKIP_WAL_ARCHIVING).cloned(),
        skip_empty_archive_check: annotation(SKIP_EMPTY_CHECK).is_some_and(|value| value == "enabled"),
        hibernated: annotation(HIBERNATION).is_some_and(|value| value == "on"),
        fenced: annotation(FENCED).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default(),
        no_default_queries: spec.monitoring.as_ref().and_then(|of| of.disable_default_queries).unwrap_or(false),
        storage: size(spec.storage.as_ref()),
        wal_storage: size(spec.wal_storage.as_ref()),
        parameters: spec.postgresql.as_ref().map(|of| of.parameters.clone()).unwrap_or_default(),
        managed_roles: managed_roles(of),
        // Whether a Secret is there cannot be asked without the right to read it.
        app_secret: None,
        tablespaces: spec.tablespaces.iter().map(|tablespace| tablespace.name.clone()).collect(),
        operator: operator(lists, of),
        claims: super::owned::claims(lists, &name),
        jobs: super::owned::jobs(lists, &name),
        events: super::owned::events(lists, &name),
        backups: lists.backups.covers(&name.namespace).then(|| backups(lists, &name)),
        schedules: lists.schedules.covers(&name.namespace).then(|| schedules(lists, &name)),
        first_points: status
            .first_recoverability_point_by_method
            .iter()
            .filter_map(|(method, text)| Some((method.clone(), text.parse().ok()?)))
            .collect(),
        reconcile_disabled: annotation(RECONCILIATION).is_some_and(|value| value == "disabled"),
        pods,
        ..CnpgFact::bare(subject, kube, name)
    }
}

fn size(of: Option<&wire::StorageConfig>) -> Option<u64> {
    let of = of?;
    let template = of.pvc_template.as_ref().and_then(|template| template.resources.requests.get("storage"));
    quantity::bytes(of.size.as_ref().or(template)?)
}

/// By status, else by the catalog, else by the tag of the image: `…/postgresql:17.5-standard-bookworm`.
fn major(of: &Cluster, image: Option<&str>) -> Option<u32> {
    let by_status = of.status.pg_data_image_info.as_ref().and_then(|info| info.major_version);
    let by_catalog = || of.spec.image_catalog_ref.as_ref().and_then(|catalog| catalog.major);
    let by_tag = || {
        let name = image?.split('@').next()?;
        let tag = name.rsplit('/').next()?.split_once(':')?.1;
        tag.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok().filter(|major| (9..100).contains(major))
    };
    by_status.or_else(by_catalog).or_else(by_tag)
}

fn operator(lists: &Lists, of: &Cluster) -> Option<String> {
    let by_pod = lists.pods.items.iter().filter(|pod| super::owned::belongs(&pod.metadata, &name_of(&of.metadata)));
    by_pod.filter_map(|pod| pod.metadata.annotations.get(OPERATOR_VERSION)).max().cloned()
}

fn managed_roles(of: &Cluster) -> Vec<String> {
    let roles = of.spec.managed.iter().flat_map(|managed| &managed.roles);
    roles.filter(|role| role.password_secret.is_some()).map(|role| role.name.clone()).collect()
}

/// `replica.enabled`, or a distributed topology in which another is the primary.
fn replica_of(of: &Cluster) -> Option<String> {
    let replica = of.spec.replica.as_ref()?;
    let own = replica.own_name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&of.metadata.name);
    let elsewhere = replica.primary.as_deref().is_some_and(|primary| !primary.is_empty() && primary != own);
    if replica.enabled.unwrap_or(elsewhere) { replica.source.clone() } else { None }
}

fn bootstrap(of: &Cluster, lists: &Lists) -> Bootstrap {
    let config = of.spec.bootstrap.clone().unwrap_or_default();
    if let Some(recovery) = config.recovery {
        let namespace = &of.metadata.namespace;
        let backup = recovery.backup.map(|backup| backup.name).filter(|name| !name.is_empty());
        let snapshots = snapshots(recovery.volume_snapshots.unwrap_or_default());
        let backup_exists = backup
            .as_ref()
            .filter(|_| lists.backups.covers(namespace))
            .map(|name| lists.backups.items.iter().any(|of| &of.metadata.namespace == namespace && &of.metadata.name == name));
        let there = |name: &String| {
            let mut all = lists.snapshots.items.iter();
            all.any(|of| &of.metadata.namespace == namespace && &of.metadata.name == name)
        };
        let looked = !snapshots.is_empty() && lists.snapshots.covers(namespace);
        return Bootstrap::Recovery {
            source: recovery.source.filter(|source| !source.is_empty()),
            backup,
            backup_exists,
            snapshots_missing: looked.then(|| snapshots.values().filter(|name| !there(name)).cloned().collect()),
            snapshots,
            target: recovery.target,
            database: recovery.database,
            owner: recovery.owner,
            secret: recovery.secret.map(|secret| secret.name),
        };
    }
    if let Some(from) = config.pg_basebackup {
        return Bootstrap::PgBasebackup { source: from.source };
    }
    let initdb = config.initdb.unwrap_or_default();
    Bootstrap::Initdb { database: initdb.database, owner: initdb.owner, wal_segment_mb: initdb.wal_segment_size }
}

fn snapshots(of: wire::Snapshots) -> BTreeMap<String, String> {
    let mut named: BTreeMap<String, String> = of.tablespace_storage.into_iter().map(|(name, of)| (name, of.name)).collect();
    named.extend(of.storage.map(|of| ("storage".to_owned(), of.name)));
    named.extend(of.wal_storage.map(|of| ("walStorage".to_owned(), of.name)));
    named
}

fn object_stores(archivers: &[ArchiveRef], stores: &[&ObjectStore]) -> Vec<ObjectStoreSeen> {
    let names: BTreeSet<&str> = archivers
        .iter()
        .filter_map(|archiver| match archiver {
            ArchiveRef::Plugin { object_store, .. } => Some(object_store.as_str()),
            ArchiveRef::InTree { .. } => None,
        })
        .collect();
    stores.iter().filter(|store| names.contains(store.metadata.name.as_str())).map(|store| object_store(store)).collect()
}

fn object_store(of: &ObjectStore) -> ObjectStoreSeen {
    let of_spec = of.metadata.managed_fields.iter().filter(|row| row.fields_v1.spec.is_some() && row.subresource.is_none());
    let env = of.spec.instance_sidecar_configuration.iter().flat_map(|sidecar| &sidecar.env);
    let window = |of: &super::wire_owned::RecoveryWindow| RecoveryWindowSeen {
        first: time(of.first_recoverability_point.as_ref()),
        last_success: time(of.last_successful_backup_time.as_ref().or(of.last_success_as_misspelt.as_ref())),
        last_failure: time(of.last_failed_backup_time.as_ref()),
    };
    ObjectStoreSeen {
        name: of.metadata.name.clone(),
        generation: of.metadata.generation,
        changed: of_spec.filter_map(|row| time(row.time.as_ref())).max(),
        sidecar_env: env.map(|variable| (variable.name.clone(), variable.value.clone())).collect(),
        windows: of.status.server_recovery_window.iter().map(|(server, of)| (server.clone(), window(of))).collect(),
    }
}

/// What a Backup or a schedule uses when it does not say.
const USUAL_METHOD: &str = "barmanObjectStore";

pub(super) fn backup(of: &Backup) -> CnpgBackup {
    let status = of.status.clone();
    let instance = status.instance_id.unwrap_or_default();
    let written = |text: Option<String>| text.filter(|text| !text.is_empty());
    CnpgBackup {
        name: of.metadata.name.clone(),
        cluster: of.spec.cluster.name.clone(),
        schedule: of.metadata.label("cnpg.io/scheduled-backup").map(str::to_owned),
        method: of.spec.method.clone().unwrap_or_else(|| USUAL_METHOD.to_owned()),
        phase: written(status.phase),
        created: time(of.metadata.creation_timestamp.as_ref()),
        started: time(status.started_at.as_ref()),
        stopped: time(status.stopped_at.as_ref()),
        backup_id: written(status.backup_id),
        begin_wal: written(status.begin_wal),
        end_wal: written(status.end_wal),
        server: written(status.server_name),
        destination: written(status.destination_path),
        endpoint: written(status.endpoint_url),
        pod: written(instance.pod_name),
        container: written(instance.container_id),
        major: status.major_version,
        error: written(status.error).or_else(|| written(status.command_error)),
    }
}

pub(super) fn schedule(of: &ScheduledBackup) -> CnpgSchedule {
    CnpgSchedule {
        name: of.metadata.name.clone(),
        cluster: of.spec.cluster.name.clone(),
        expression: of.spec.schedule.clone(),
        suspended: of.spec.suspend.unwrap_or(false),
        immediate: of.spec.immediate.unwrap_or(false),
        method: of.spec.method.clone().unwrap_or_else(|| USUAL_METHOD.to_owned()),
        created: time(of.metadata.creation_timestamp.as_ref()),
        last_check: time(of.status.last_check_time.as_ref()),
        last_run: time(of.status.last_schedule_time.as_ref()),
        next_run: time(of.status.next_schedule_time.as_ref()),
        error: of.status.error.clone().filter(|text| !text.is_empty()),
    }
}

fn backups(lists: &Lists, name: &KubeName) -> Vec<CnpgBackup> {
    let of_cluster = |of: &&Backup| of.metadata.namespace == name.namespace && of.spec.cluster.name == name.name;
    lists.backups.items.iter().filter(of_cluster).map(backup).collect()
}

fn schedules(lists: &Lists, name: &KubeName) -> Vec<CnpgSchedule> {
    let of_cluster = |of: &&ScheduledBackup| of.metadata.namespace == name.namespace && of.spec.cluster.name == name.name;
    lists.schedules.items.iter().filter(of_cluster).map(schedule).collect()
}
