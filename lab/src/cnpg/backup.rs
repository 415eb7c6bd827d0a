//! A Backup, done by barman-cloud-backup at the running server.

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::instance::Instance;
use super::spec::PLUGIN;
use super::status::whole_seconds;
use super::{Behaviour, CNPG, Shared, objects, text};
use crate::LabError;
use crate::kube::apply::api;

pub(super) async fn run(shared: &Shared, client: &Client, instance: &Instance, object: &Value) {
    let spec = instance.spec();
    let name = text(object, "/metadata/name");
    let started = whole_seconds();
    let begin = json!({
        "phase": "started", "startedAt": started, "method": method(object),
        "instanceID": {"podName": instance.pod(), "ContainerID": objects::container_id(spec, "postgres")},
    });
    let _ = write(client, spec, name, begin).await; // it may be deleted already; what follows says so
    instance.status().condition("LastBackupSucceeded", false, "BackupStarted", "New Backup starting up");
    let _ = instance.status().write(client, spec).await;
    shared.drag(&spec.namespace, &spec.name).await;
    let behaviours = shared.behaviours(&spec.namespace, &spec.name);
    if behaviours.contains(&Behaviour::BackupsHang) {
        return;
    }
    let told = behaviours.iter().find_map(|b| if let Behaviour::BackupsFail(why) = b { Some(why.clone()) } else { None });
    let done = match told {
        Some(why) => Err(LabError::Other(why)),
        None => take(instance, object).await,
    };
    let wrote = match done {
        Ok(end) => succeed(client, instance, name, end).await,
        Err(e) => fail(client, instance, name, &e.to_string()).await,
    };
    if let Err(e) = wrote {
        shared.complain(&format!("Backup {}/{name}", spec.namespace), &e);
    }
}

fn method(object: &Value) -> String {
    let method = text(object, "/spec/method");
    if method.is_empty() { "barmanObjectStore".to_owned() } else { method.to_owned() }
}

/// The backup itself; gives the status of its end.
async fn take(instance: &Instance, object: &Value) -> Result<Value, LabError> {
    let method = method(object);
    let archive = instance
        .archive()
        .ok_or_else(|| LabError::Other("cannot proceed with the backup as the cluster has no backup section".into()))?;
    let by_plugin = archive.location.object_store.is_some();
    if method == "volumeSnapshot" || (method == "plugin") != by_plugin {
        return Err(LabError::Other(format!("the cluster has no backup of method {method}")));
    }
    if by_plugin && text(object, "/spec/pluginConfiguration/name") != PLUGIN {
        return Err(LabError::Other("requested plugin is not available".into()));
    }
    let postgres = instance.postgres().await;
    let label = format!("backup-{}", jiff::Timestamp::now().strftime("%Y%m%d%H%M%S"));
    let id = archive.barman.backup_with(&postgres, archive.location.base, &["-n", &label]).await?;
    let record = archive.barman.record(&id).await?;
    let field = |name: &str| record.get(name).cloned().unwrap_or_default();
    Ok(json!({
        "phase": "completed", "backupId": id, "backupName": label, "stoppedAt": whole_seconds(), "method": method, "online": true,
        "beginWal": field("begin_wal"), "endWal": field("end_wal"), "beginLSN": field("begin_xlog"), "endLSN": field("end_xlog"),
        "destinationPath": archive.location.destination, "serverName": archive.location.server, "majorVersion": postgres.major(),
        "endpointURL": archive.location.endpoint, "s3Credentials": credentials(archive),
    }))
}

/// A Backup tells how its archive is reached, so that a recovery can name it alone.
fn credentials(archive: &super::instance::Archive) -> Value {
    let [(id, id_key), (secret, secret_key)] = &archive.location.secrets;
    json!({"accessKeyId": {"name": id, "key": id_key}, "secretAccessKey": {"name": secret, "key": secret_key}})
}

async fn succeed(client: &Client, instance: &Instance, name: &str, mut end: Value) -> Result<(), LabError> {
    let (spec, status) = (instance.spec(), instance.status());
    let at = whole_seconds();
    let seconds = jiff::Timestamp::now().as_second() as f64;
    let first_before = |old: f64| if old > 0.0 { old } else { seconds };
    let store = instance
        .archive()
        .and_then(|archive| archive.location.object_store.clone().map(|s| (s, archive.location.server.clone())));
    if let Some((store, server)) = store {
        // The plugin's Backups do not say where the archive is: its ObjectStore does.
        if let Some(map) = end.as_object_mut() {
            for field in ["destinationPath", "endpointURL", "s3Credentials", "serverName"] {
                map.remove(field);
            }
        }
        instance.exporter().set(|v| {
            let [first, _, failed] = v.plugin.unwrap_or_default();
            v.plugin = Some([first_before(first), seconds, failed]);
        });
        let stores = api(client, "barmancloud.cnpg.io/v1", "ObjectStore", &spec.namespace).await?;
        let old = stores.get(&store).await?;
        let first = old.data.pointer(&format!("/status/serverRecoveryWindow/{server}/firstRecoverabilityPoint")).cloned();
        let window =
            json!({"firstRecoverabilityPoint": first.unwrap_or_else(|| at.clone().into()), "lastSuccessfulBackupTime": at});
        let patch = Patch::Merge(json!({"status": {"serverRecoveryWindow": {server: window}}}));
        stores.patch_status(&store, &PatchParams::default(), &patch).await?;
    } else {
        instance.exporter().set(|v| {
            let [first, _, failed] = v.in_tree;
            v.in_tree = [first_before(first), seconds, failed];
        });
        status.set("lastSuccessfulBackup", at.clone());
        status.set_once("firstRecoverabilityPoint", at);
    }
    write(client, spec, name, end).await?;
    status.condition("LastBackupSucceeded", true, "LastBackupSucceeded", "Backup was successful");
    status.write(client, spec).await
}

async fn fail(client: &Client, instance: &Instance, name: &str, why: &str) -> Result<(), LabError> {
    let (spec, status) = (instance.spec(), instance.status());
    let seconds = jiff::Timestamp::now().as_second() as f64;
    let by_plugin = instance.archive().is_some_and(|archive| archive.location.object_store.is_some());
    instance.exporter().set(|v| {
        if by_plugin {
            let [first, last, _] = v.plugin.unwrap_or_default();
            v.plugin = Some([first, last, seconds]);
        } else {
            let [first, last, _] = v.in_tree;
            v.in_tree = [first, last, seconds];
        }
    });
    write(client, spec, name, json!({"phase": "failed", "error": why, "stoppedAt": whole_seconds()})).await?;
    status.set("lastFailedBackup", whole_seconds());
    status.condition("LastBackupSucceeded", false, "LastBackupFailed", why);
    status.write(client, spec).await
}

async fn write(client: &Client, spec: &super::spec::Spec, name: &str, status: Value) -> Result<(), LabError> {
    let backups = api(client, CNPG, "Backup", &spec.namespace).await?;
    backups.patch_status(name, &PatchParams::default(), &Patch::Merge(json!({ "status": status }))).await?;
    Ok(())
}
