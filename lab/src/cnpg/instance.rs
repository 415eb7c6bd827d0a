//! A Cluster's one instance: made, kept, looked after, and taken away.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::exporter::{Exporter, Values};
use super::spec::{Location, PLUGIN, Spec};
use super::status::{HEALTHY, SETTING_UP, Status, WAITING, whole_seconds};
use super::{Behaviour, Shared, numbers, objects, recovery};
use crate::LabError;
use crate::barman::{Archiver, Barman};
use crate::kube::apply::{api, apply_value, delete};
use crate::postgres::{Options, Postgres};
use crate::s3::Keys;

/// How often an instance's numbers are renewed.
const TICK: Duration = Duration::from_millis(700);

/// A running instance.
#[derive(Debug)]
pub struct Instance {
    postgres: RwLock<Postgres>,
    exporter: Exporter,
    status: Status,
    spec: Spec,
    archive: Option<Archive>,
    pod_ip: String,
}

/// The archive of an instance: barman, its archiver, and what the archiver was last told.
#[derive(Debug)]
pub(super) struct Archive {
    pub(super) barman: Barman,
    pub(super) location: Location,
    archiver: Archiver,
    hold: std::path::PathBuf,
    keys: Mutex<Keys>,
}

impl Instance {
    /// Its server. While a guard is held nobody stops it.
    pub async fn postgres(&self) -> RwLockReadGuard<'_, Postgres> {
        self.postgres.read().await
    }

    /// Its server, to be stopped, crashed or started again.
    pub async fn postgres_mut(&self) -> RwLockWriteGuard<'_, Postgres> {
        self.postgres.write().await
    }

    /// Its exporter. Numbers of the server are renewed all the time; the rest stays as it is set.
    pub fn exporter(&self) -> &Exporter {
        &self.exporter
    }

    /// barman with its archive; none when it does not archive.
    pub fn barman(&self) -> Option<&Barman> {
        self.archive.as_ref().map(|archive| &archive.barman)
    }

    /// The name of its pod.
    pub fn pod(&self) -> String {
        self.spec.instance()
    }

    /// The address of its pod.
    pub fn pod_ip(&self) -> &str {
        &self.pod_ip
    }

    pub(super) fn archive(&self) -> Option<&Archive> {
        self.archive.as_ref()
    }

    pub(super) fn status(&self) -> &Status {
        &self.status
    }

    pub(super) fn spec(&self) -> &Spec {
        &self.spec
    }
}

/// From a Cluster without a status to one that is well, and then its numbers for as long as it is there.
pub(super) async fn run(shared: &Arc<Shared>, client: &Client, object: &Value) {
    let name = format!("{}/{}", super::text(object, "/metadata/namespace"), super::text(object, "/metadata/name"));
    let status = Status::default();
    let spec = loop {
        match Spec::read(client, object).await {
            Ok(spec) => break spec,
            // An object that is named may come later, as with any operator.
            Err(e) => {
                shared.complain(&name, &e);
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    };
    match make(shared, client, &spec, status).await {
        Ok(instance) => {
            let instance = Arc::new(instance);
            shared.told().instances.insert((spec.namespace.clone(), spec.name.clone()), Arc::clone(&instance));
            loop {
                if let Err(e) = tend(shared, client, &instance).await {
                    shared.complain(&name, &e);
                }
                tokio::time::sleep(TICK).await;
            }
        }
        Err(e) => shared.complain(&name, &e),
    }
}

async fn make(shared: &Shared, client: &Client, spec: &Spec, status: Status) -> Result<Instance, LabError> {
    status.set("instances", 1);
    status.set("readyInstances", 0);
    status.set("image", spec.image.clone());
    status.set("phase", SETTING_UP);
    status.set("phaseReason", format!("Creating primary instance {}", spec.instance()));
    status.set("targetPrimary", spec.instance());
    status.condition("Ready", false, "ClusterIsNotReady", "Cluster Is Not Ready");
    status.write(client, spec).await?;
    for (role, name, size) in objects::claims(spec) {
        apply_value(client, objects::claim(spec, role, &name, size)).await?;
    }
    apply_value(client, objects::service(spec)).await?;
    let archive = open_archive(client, spec).await?;
    shared.drag(&spec.namespace, &spec.name).await;
    let options = options(spec, archive.as_ref());
    let postgres = match &spec.recovery {
        Some(recovery) => recovery::run(shared, client, spec, recovery, options).await?,
        None => Postgres::start(options).await?,
    };
    status.set("phase", WAITING);
    status.set("phaseReason", "");
    status.write(client, spec).await?;
    roles(client, spec, &postgres).await?;
    let exporter = Exporter::start(Values::of(&spec.name))?;
    let cluster = shared.cluster;
    let pod_ip = cluster.fresh_pod_ip();
    cluster.route(&pod_ip, 9187, exporter.port());
    apply_value(client, objects::pod(spec)).await?;
    cluster.forward(&spec.namespace, &spec.instance(), &[(5432, postgres.port())]).await?;
    let instance = Instance { postgres: RwLock::new(postgres), exporter, status, spec: spec.clone(), archive, pod_ip };
    shared.drag(&spec.namespace, &spec.name).await;
    let ready = !shared.behaves(&spec.namespace, &spec.name, &Behaviour::NeverReady);
    write_pod(client, &instance, ready).await?;
    first_status(client, &instance).await?;
    Ok(instance)
}

/// Settings: the operator's, then the Cluster's own; memory is the lab's.
fn options(spec: &Spec, archive: Option<&Archive>) -> Options {
    let mut options = Options::new(spec.major).segment_mib(spec.segment_mib).listen();
    options = options.setting("archive_timeout", "5min").setting("wal_keep_size", "512MB");
    options = options.setting("shared_buffers", "16MB").setting("max_connections", "30");
    for (name, value) in &spec.parameters {
        if name != "shared_buffers" && name != "archive_command" {
            options = options.setting(name, value);
        }
    }
    match archive {
        Some(archive) => options.archive_command(format!("{} {}", archive.hold.display(), archive.archiver.command())),
        // Without an archive the instance manager's command has nothing to do and says that it went well.
        None => options.archive_command("/bin/true"),
    }
}

async fn open_archive(client: &Client, spec: &Spec) -> Result<Option<Archive>, LabError> {
    let Some(location) = spec.archive.clone().filter(|_| !spec.no_archive) else { return Ok(None) };
    let keys = location.keys(client, &spec.namespace).await?;
    let (bucket, path) = location.place()?;
    let barman = Barman::new(&location.endpoint, &keys, bucket, path, &location.server)?;
    let archiver = barman.archiver(location.wal)?;
    let hold = archiver.gate()?;
    if !spec.any_archive && !barman.client().keys(bucket, &barman.key("wals/")).await?.is_empty() {
        archiver.close_gate("WAL archive check failed for server: Expected empty archive")?;
    }
    Ok(Some(Archive { barman, location, archiver, hold, keys: Mutex::new(keys) }))
}

/// Roles and their secrets: the application's always, the superuser's when it is asked for.
async fn roles(client: &Client, spec: &Spec, postgres: &Postgres) -> Result<(), LabError> {
    let password = |role: &str| {
        let digest = crate::s3::sign::sha256_hex(format!("{}/{role}/{}", spec.uid, std::process::id()).as_bytes());
        digest.get(..32).unwrap_or_default().to_owned()
    };
    let (database, owner) = &spec.application;
    let secret = password(owner);
    if postgres.value(&format!("select count(*)::text from pg_roles where rolname = '{owner}'")).await? == "0" {
        postgres.sql(&format!("create role \"{owner}\" login")).await?;
    }
    if postgres.value(&format!("select count(*)::text from pg_database where datname = '{database}'")).await? == "0" {
        postgres.sql(&format!("create database \"{database}\" owner \"{owner}\"")).await?;
    }
    postgres.sql(&format!("alter role \"{owner}\" password '{secret}'")).await?;
    apply_value(client, objects::secret(spec, "app", owner, &secret, database)).await?;
    if spec.superuser {
        let given = match &spec.superuser_secret {
            Some(name) => Some(super::spec::secret_value(client, &spec.namespace, name, "password").await?),
            None => None,
        };
        let secret = given.clone().unwrap_or_else(|| password("postgres"));
        postgres.sql(&format!("alter role postgres password '{secret}'")).await?;
        if given.is_none() {
            apply_value(client, objects::secret(spec, "superuser", "postgres", &secret, "*")).await?;
        }
    }
    Ok(())
}

async fn write_pod(client: &Client, instance: &Instance, ready: bool) -> Result<(), LabError> {
    let spec = &instance.spec;
    let status = objects::pod_status(spec, &instance.pod_ip, &whole_seconds(), ready);
    let pods = api(client, "v1", "Pod", &spec.namespace).await?;
    let patch = kube::api::Patch::Merge(json!({ "status": status }));
    pods.patch_status(&spec.instance(), &kube::api::PatchParams::default(), &patch).await?;
    Ok(())
}

async fn first_status(client: &Client, instance: &Instance) -> Result<(), LabError> {
    let (spec, status) = (&instance.spec, &instance.status);
    let postgres = instance.postgres().await;
    status.set("systemID", postgres.system_id().await?);
    let timeline = postgres.value("select timeline_id::text from pg_control_checkpoint()").await?;
    status.set("timelineID", timeline.parse::<u32>().unwrap_or(1));
    status.set("currentPrimary", spec.instance());
    status.set("currentPrimaryTimestamp", whole_seconds());
    status.set("targetPrimaryTimestamp", whole_seconds());
    status.set("instanceNames", json!([spec.instance()]));
    status.set("healthyPVC", json!(objects::claims(spec).into_iter().map(|(_, name, _)| name).collect::<Vec<_>>()));
    status.condition("ConsistentSystemID", true, "Unique", "A single, unique system ID was found across reporting instances.");
    if instance.archive.is_none() {
        status.condition("ContinuousArchiving", true, "ContinuousArchivingSuccess", "Continuous archiving is working");
    } else if instance.archive.as_ref().is_some_and(|a| a.location.object_store.is_some()) {
        status.set(
            "pluginStatus",
            json!([{"name": PLUGIN, "version": "0.14.0", "capabilities": ["TYPE_WAL_SERVICE", "TYPE_BACKUP_SERVICE"]}]),
        );
    }
    status.write(client, spec).await
}

/// One look after the instance: faults, numbers, conditions.
async fn tend(shared: &Shared, client: &Client, instance: &Instance) -> Result<(), LabError> {
    let (spec, status) = (&instance.spec, &instance.status);
    let behaviours = shared.behaviours(&spec.namespace, &spec.name);
    if let Some(archive) = &instance.archive {
        tend_archiver(client, spec, archive, &behaviours).await?;
    }
    let postgres = instance.postgres().await;
    let data = postgres.data();
    instance.exporter.set(|values| numbers::files(values, postgres.segment_bytes(), spec.wal_storage, &data));
    numbers::volumes(shared.cluster, spec, &data);
    let seen = numbers::archiver(&postgres).await;
    drop(postgres);
    let up = seen.is_ok();
    instance.exporter.set(|values| {
        values.up = up;
        values.archiver = seen.as_ref().ok().filter(|_| spec.default_queries).map(|seen| seen.values);
    });
    if behaviours.contains(&Behaviour::ConditionStuck) {
        return Ok(());
    }
    if let (Ok(seen), Some(_)) = (&seen, &instance.archive) {
        let (good, bad) = (seen.values.last_archived, seen.values.last_failed);
        if good > bad {
            status.condition("ContinuousArchiving", true, "ContinuousArchivingSuccess", "Continuous archiving is working");
        } else if bad > good {
            let message =
                format!("unexpected failure invoking barman-cloud-wal-archive: exit status 1 ({})", seen.last_failed_wal);
            status.condition("ContinuousArchiving", false, "ContinuousArchivingFailing", &message);
        }
    }
    let well = up && !behaviours.contains(&Behaviour::NeverReady);
    status.set("readyInstances", u32::from(well));
    status.set("phase", if well { HEALTHY } else { WAITING });
    let (reason, message) =
        if well { ("ClusterIsReady", "Cluster is Ready") } else { ("ClusterIsNotReady", "Cluster Is Not Ready") };
    status.condition("Ready", well, reason, message);
    status.write(client, spec).await
}

/// The archiver reads its keys from the Secret, as it is now, unless it was told to fail.
async fn tend_archiver(client: &Client, spec: &Spec, archive: &Archive, behaviours: &[Behaviour]) -> Result<(), LabError> {
    archive.archiver.hang(behaviours.contains(&Behaviour::ArchiverHangs))?;
    let keys = if behaviours.contains(&Behaviour::ArchiverBroken) {
        Keys::new("LABKEYADMIN", "rotated-away")
    } else {
        archive.location.keys(client, &spec.namespace).await?
    };
    let mut told = archive.keys.lock().unwrap_or_else(PoisonError::into_inner);
    if *told != keys {
        archive.archiver.set_credentials(&keys)?;
        *told = keys;
    }
    Ok(())
}

/// Removes what was made for a Cluster that is gone; the garbage collector would, too, a little later.
pub(super) async fn clean(client: &Client, namespace: &str, name: &str, uid: &str) {
    let kinds = [("v1", "Pod"), ("batch/v1", "Job"), ("v1", "PersistentVolumeClaim"), ("v1", "Secret"), ("v1", "Service")];
    for (version, kind) in kinds {
        let Ok(api) = api(client, version, kind, namespace).await else { continue };
        let Ok(found) = api.list(&kube::api::ListParams::default().labels(&format!("cnpg.io/cluster={name}"))).await else {
            continue;
        };
        for one in found {
            // Somebody else's object of the same label, or a later Cluster's of the same name, is not ours.
            let ours = one.metadata.owner_references.iter().flatten().any(|owner| owner.uid == uid || owner.kind == "Job");
            if let Some(name) = one.metadata.name.filter(|_| ours) {
                let _ = delete(client, version, kind, namespace, &name).await; // the namespace may be going
            }
        }
    }
    let _ = delete(client, "kwok.x-k8s.io/v1alpha1", "PortForward", namespace, &format!("{name}-1")).await;
}

impl Archiver {
    /// A script before the archiver that can hold it up: it says so and fails, or never ends.
    pub(super) fn gate(&self) -> Result<std::path::PathBuf, LabError> {
        use std::os::unix::fs::PermissionsExt;
        let file = self.folder().join("gate.sh");
        let text = format!(
            "#!/bin/sh\nd='{}'\nwhile [ -e \"$d/hang\" ]; do sleep 0.2; done\n\
             if [ -e \"$d/closed\" ]; then cat \"$d/closed\" >&2; exit 1; fi\nexec \"$@\"\n",
            self.folder().display()
        );
        fs::write(&file, text).map_err(LabError::file(&file))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).map_err(LabError::file(&file))?;
        Ok(file)
    }

    fn close_gate(&self, why: &str) -> Result<(), LabError> {
        let file = self.folder().join("closed");
        fs::write(&file, format!("{why}\n")).map_err(LabError::file(&file))
    }

    fn hang(&self, on: bool) -> Result<(), LabError> {
        let file = self.folder().join("hang");
        match (on, file.exists()) {
            (true, false) => fs::write(&file, "").map_err(LabError::file(&file)),
            (false, true) => fs::remove_file(&file).map_err(LabError::file(&file)),
            _ => Ok(()),
        }
    }
}
