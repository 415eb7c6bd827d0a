//! A recovery: barman-cloud-restore into an empty folder, a real PostgreSQL that fetches WAL by
//! barman-cloud-wal-restore, promotes, and is then the Cluster's server. The Job and its pods say how it went.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::spec::{Recovery, Spec};
use super::status::whole_seconds;
use super::{Behaviour, Shared, objects};
use crate::barman::Barman;
use crate::home::Folder;
use crate::kube::apply::{api, apply_value};
use crate::postgres::{Options, Postgres};
use crate::{LabError, User};

/// A failed pod is followed by another one so many times (`backoffLimit` of the Job), so much later.
const RETRIES: u32 = 6;
const PAUSE: Duration = Duration::from_secs(2);
const PROMOTED: Duration = Duration::from_mins(3);

/// Runs the Job to its end.
pub(super) async fn run(
    shared: &Shared,
    client: &Client,
    spec: &Spec,
    recovery: &Recovery,
    options: Options,
) -> Result<Postgres, LabError> {
    let job = apply_value(client, objects::job(spec)).await?;
    let uid = super::text(&job, "/metadata/uid").to_owned();
    let began = whole_seconds();
    let mut failed = 0;
    loop {
        let pod = objects::job_pod(spec, &uid, failed + 1);
        let name = super::text(&pod, "/metadata/name").to_owned();
        apply_value(client, pod).await?;
        let since = whole_seconds();
        pod_status(client, spec, &name, objects::job_pod_status(&since, &since, None)).await?;
        job_status(client, spec, json!({"startTime": began, "active": 1, "ready": 1, "failed": failed})).await?;
        shared.drag(&spec.namespace, &spec.name).await;
        let behaviours = shared.behaviours(&spec.namespace, &spec.name);
        let told = behaviours.iter().find_map(|b| if let Behaviour::RecoveryFails(why) = b { Some(why.clone()) } else { None });
        let done = match told {
            Some(why) => Err(LabError::Other(why)),
            None => recover(client, spec, recovery, options.clone()).await,
        };
        let now = whole_seconds();
        match done {
            Ok(postgres) => {
                pod_status(client, spec, &name, objects::job_pod_status(&since, &now, Some((0, "")))).await?;
                let condition = |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": now, "lastTransitionTime": now, "reason": "CompletionsReached"});
                let status = json!({
                    "startTime": began, "completionTime": now, "active": 0, "ready": 0, "failed": failed, "succeeded": 1,
                    "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
                });
                job_status(client, spec, status).await?;
                return Ok(postgres);
            }
            Err(e) => {
                failed += 1;
                let said = e.to_string();
                shared.complain(&format!("Job {}/{}", spec.namespace, objects::job_name(spec)), &e);
                pod_status(client, spec, &name, objects::job_pod_status(&since, &now, Some((1, &said)))).await?;
                if failed > RETRIES {
                    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": now, "lastTransitionTime": now, "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"});
                    let status = json!({
                        "startTime": began, "active": 0, "ready": 0, "failed": failed,
                        "conditions": [condition("FailureTarget"), condition("Failed")],
                    });
                    job_status(client, spec, status).await?;
                    return Err(e);
                }
                job_status(client, spec, json!({"startTime": began, "active": 0, "ready": 0, "failed": failed})).await?;
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn recover(client: &Client, spec: &Spec, recovery: &Recovery, options: Options) -> Result<Postgres, LabError> {
    let from = &recovery.from;
    let keys = from.keys(client, &spec.namespace).await?;
    let (bucket, path) = from.place()?;
    let barman = Barman::new(&from.endpoint, &keys, bucket, path, &from.server)?;
    let id = choose(&barman, &recovery.target).await?;
    let record = barman.record(&id).await?;
    let user = User::unprivileged()?;
    let folder = Folder::new("recovery")?;
    user.own(folder.path())?;
    let data = folder.path().join("data");
    barman.restore_as(user, &id, &data).await?;
    let signal = data.join("recovery.signal");
    fs::write(&signal, "").map_err(LabError::file(&signal))?;
    user.own(&signal)?;
    let restorer = barman.restorer()?;
    let segment: u64 = record.get("xlog_segment_size").and_then(|n| n.parse().ok()).unwrap_or(16 * 1024 * 1024);
    let mut options = options.segment_mib(u32::try_from(segment / 1024 / 1024).unwrap_or(16));
    options = options.setting("restore_command", &restorer.command()).setting("recovery_target_action", "promote");
    for (setting, value) in targets(&recovery.target)? {
        options = options.setting(setting, &value);
    }
    let mut postgres = Postgres::adopt(folder, options).await?;
    let until = Instant::now() + PROMOTED;
    loop {
        match postgres.value("select pg_is_in_recovery()::text").await {
            Ok(still) if still == "false" => break,
            _ if !postgres.is_running() || Instant::now() > until => {
                return Err(LabError::Other(format!("the server ended before it was promoted: {}", postgres.log_end())));
            }
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    drop(restorer); // promoted: nothing is fetched any more
    Ok(postgres)
}

/// The base backup: the one that is named, else the newest good one that ended before the target time.
async fn choose(barman: &Barman, target: &BTreeMap<String, String>) -> Result<String, LabError> {
    if let Some(id) = target.get("backupID") {
        return Ok(id.clone());
    }
    let before = target.get("targetTime").map(|text| time(text)).transpose()?;
    let mut found = None;
    for id in barman.backups().await? {
        let record = barman.record(&id).await?;
        let ended = record.get("end_time").and_then(|text| time(text).ok());
        let in_time = match (before, ended) {
            (None, _) => true,
            (Some(before), Some(ended)) => ended <= before,
            (Some(_), None) => false,
        };
        if record.get("status").map(String::as_str) == Some("DONE") && in_time {
            found = Some(id);
        }
    }
    found.ok_or_else(|| LabError::Other("no target backup found".into()))
}

fn time(text: &str) -> Result<Timestamp, LabError> {
    text.replacen(' ', "T", 1).parse().map_err(|e| LabError::Other(format!("{text}: {e}")))
}

/// The settings of a recovery target.
fn targets(target: &BTreeMap<String, String>) -> Result<Vec<(&'static str, String)>, LabError> {
    let mut all = Vec::new();
    for (field, value) in target {
        all.push(match field.as_str() {
            // PostgreSQL takes no `Z`.
            "targetTime" => ("recovery_target_time", time(value)?.strftime("%Y-%m-%d %H:%M:%S%.6f+00").to_string()),
            "targetLSN" => ("recovery_target_lsn", value.clone()),
            "targetXID" => ("recovery_target_xid", value.clone()),
            "targetName" => ("recovery_target_name", value.clone()),
            "targetTLI" => ("recovery_target_timeline", value.clone()),
            "targetImmediate" => ("recovery_target", "immediate".to_owned()),
            "exclusive" => ("recovery_target_inclusive", if value == "true" { "off" } else { "on" }.to_owned()),
            _ => continue,
        });
    }
    Ok(all)
}

async fn pod_status(client: &Client, spec: &Spec, name: &str, status: Value) -> Result<(), LabError> {
    let pods = api(client, "v1", "Pod", &spec.namespace).await?;
    pods.patch_status(name, &PatchParams::default(), &Patch::Merge(json!({ "status": status }))).await?;
    Ok(())
}

async fn job_status(client: &Client, spec: &Spec, status: Value) -> Result<(), LabError> {
    let jobs = api(client, "batch/v1", "Job", &spec.namespace).await?;
    let patch = Patch::Merge(json!({ "status": status }));
    jobs.patch_status(&objects::job_name(spec), &PatchParams::default(), &patch).await?;
    Ok(())
}
