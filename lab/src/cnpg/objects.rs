//! The objects that the operator makes for a Cluster: claims, pods, secrets, the service, the recovery job.

use serde_json::{Value, json};

use super::spec::Spec;
use crate::kube::NODE;

/// Who works a Job in the place of Kubernetes' own controller.
const MANAGED_BY: &str = "lab.dalsegno/cnpg-actor";

fn owner(spec: &Spec) -> Value {
    json!([{
        "apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "name": spec.name, "uid": spec.uid,
        "controller": true, "blockOwnerDeletion": true,
    }])
}

fn labels(spec: &Spec, more: &[(&str, &str)]) -> Value {
    let mut all = json!({"cnpg.io/cluster": spec.name});
    if let Some(map) = all.as_object_mut() {
        map.extend(more.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))));
    }
    all
}

/// The claims: role, name and bytes of each.
pub(super) fn claims(spec: &Spec) -> Vec<(&'static str, String, u64)> {
    let mut all = vec![("PG_DATA", spec.instance(), spec.storage)];
    if let Some(size) = spec.wal_storage {
        all.push(("PG_WAL", format!("{}-wal", spec.instance()), size));
    }
    all
}

pub(super) fn claim(spec: &Spec, role: &str, name: &str, size: u64) -> Value {
    let quantity = size.to_string();
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name, "namespace": spec.namespace, "ownerReferences": owner(spec),
            "labels": labels(spec, &[("cnpg.io/instanceName", &spec.instance()), ("cnpg.io/pvcRole", role)]),
        },
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": quantity}}, "volumeName": format!("pv-{name}")},
        "status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": quantity}},
    })
}

/// The secret of a role, with every key that the operator writes.
pub(super) fn secret(spec: &Spec, suffix: &str, user: &str, password: &str, database: &str) -> Value {
    let host = format!("{}-rw", spec.name);
    let uri = format!("postgresql://{user}:{password}@{host}.{}:5432/{database}", spec.namespace);
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth",
        "metadata": {"name": format!("{}-{suffix}", spec.name), "namespace": spec.namespace, "ownerReferences": owner(spec), "labels": labels(spec, &[])},
        "stringData": {
            "username": user, "user": user, "password": password, "host": host, "port": "5432", "dbname": database,
            "uri": uri, "jdbc-uri": format!("jdbc:postgresql://{host}.{}:5432/{database}?password={password}&user={user}", spec.namespace),
            "pgpass": format!("{host}:5432:{database}:{user}:{password}\n"),
        },
    })
}

pub(super) fn service(spec: &Spec) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": format!("{}-rw", spec.name), "namespace": spec.namespace, "ownerReferences": owner(spec), "labels": labels(spec, &[])},
        "spec": {"selector": {"cnpg.io/cluster": spec.name, "cnpg.io/instanceRole": "primary"}, "ports": [{"name": "postgres", "port": 5432}]},
    })
}

/// The instance's pod, with the plugin's sidecar when the plugin archives.
pub(super) fn pod(spec: &Spec) -> Value {
    let mut volumes = vec![json!({"name": "pgdata", "persistentVolumeClaim": {"claimName": spec.instance()}})];
    if spec.wal_storage.is_some() {
        volumes.push(json!({"name": "pg-wal", "persistentVolumeClaim": {"claimName": format!("{}-wal", spec.instance())}}));
    }
    let sidecars: Vec<Value> = sidecar(spec).into_iter().collect();
    let instance = spec.instance();
    let names = [
        ("cnpg.io/instanceName", instance.as_str()),
        ("cnpg.io/instanceRole", "primary"),
        ("cnpg.io/podRole", "instance"),
        ("role", "primary"),
    ];
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": instance, "namespace": spec.namespace, "ownerReferences": owner(spec), "labels": labels(spec, &names),
            "annotations": {"lab.dalsegno/by-hand": "its status is the actor's"},
        },
        "spec": {
            "nodeName": NODE, "initContainers": sidecars, "volumes": volumes,
            "containers": [{
                "name": "postgres", "image": spec.image,
                "ports": [
                    {"name": "postgresql", "containerPort": 5432}, {"name": "metrics", "containerPort": 9187},
                    {"name": "status", "containerPort": 8000},
                ],
            }],
        },
    })
}

fn sidecar(spec: &Spec) -> Option<Value> {
    spec.archive.as_ref().and_then(|archive| archive.object_store.as_ref())?;
    Some(json!({
        "name": "plugin-barman-cloud", "image": "ghcr.io/cloudnative-pg/plugin-barman-cloud-sidecar:v0.14.0",
        "restartPolicy": "Always",
    }))
}

/// The status of the instance's pod.
pub(super) fn pod_status(spec: &Spec, ip: &str, since: &str, ready: bool) -> Value {
    let word = if ready { "True" } else { "False" };
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": since});
    let running = |name: &str, image: &Value| {
        json!({
            "name": name, "image": image, "imageID": "", "ready": ready, "started": true, "restartCount": 0,
            "state": {"running": {"startedAt": since}}, "containerID": container_id(spec, name),
        })
    };
    let sidecars: Vec<Value> =
        sidecar(spec).iter().map(|one| running("plugin-barman-cloud", one.get("image").unwrap_or(&Value::Null))).collect();
    json!({
        "phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "hostIP": "10.246.0.1", "startTime": since,
        "conditions": [
            condition("PodScheduled", "True"), condition("Initialized", "True"), condition("ContainersReady", word), condition("Ready", word),
        ],
        "containerStatuses": [running("postgres", &Value::from(spec.image.as_str()))],
        "initContainerStatuses": sidecars,
    })
}

/// The id of a container, made from the Cluster's uid: another Cluster of the same name has another one.
pub(super) fn container_id(spec: &Spec, container: &str) -> String {
    let digest = crate::s3::sign::sha256_hex(format!("{}/{container}", spec.uid).as_bytes());
    format!("containerd://{digest}")
}

/// The name of the recovery's Job.
pub(super) fn job_name(spec: &Spec) -> String {
    format!("{}-full-recovery", spec.instance())
}

/// The Job that recovers. Kubernetes' own controller leaves it alone: the actor does the work and writes what came of it.
pub(super) fn job(spec: &Spec) -> Value {
    let name = job_name(spec);
    let marks = labels(spec, &[("cnpg.io/instanceName", &spec.instance()), ("cnpg.io/jobRole", "full-recovery")]);
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": spec.namespace, "ownerReferences": owner(spec), "labels": marks},
        "spec": {
            "managedBy": MANAGED_BY, "backoffLimit": 6,
            "template": {
                "metadata": {"labels": marks},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "full-recovery", "image": spec.image}]},
            },
        },
    })
}

/// The pod of an attempt of that Job.
pub(super) fn job_pod(spec: &Spec, job_uid: &str, attempt: u32) -> Value {
    let job = job_name(spec);
    let marks = [
        ("cnpg.io/instanceName", spec.instance()),
        ("cnpg.io/jobRole", "full-recovery".into()),
        ("job-name", job.clone()),
        ("batch.kubernetes.io/job-name", job.clone()),
    ];
    let marks: Vec<(&str, &str)> = marks.iter().map(|(name, value)| (*name, value.as_str())).collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("{job}-lab{attempt}"), "namespace": spec.namespace, "labels": labels(spec, &marks),
            "annotations": {"lab.dalsegno/by-hand": "its status is the actor's"},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": job_uid, "controller": true, "blockOwnerDeletion": true}],
        },
        "spec": {
            "nodeName": NODE, "restartPolicy": "Never",
            "volumes": [{"name": "pgdata", "persistentVolumeClaim": {"claimName": spec.instance()}}],
            "containers": [{"name": "full-recovery", "image": spec.image}],
        },
    })
}

/// The status of such a pod: `None` while it runs, then its exit code and last words.
pub(super) fn job_pod_status(since: &str, now: &str, end: Option<(i32, &str)>) -> Value {
    let (phase, state) = match end {
        None => ("Running", json!({"running": {"startedAt": since}})),
        Some((code, said)) => (
            if code == 0 { "Succeeded" } else { "Failed" },
            json!({"terminated": {
                "exitCode": code, "startedAt": since, "finishedAt": now, "message": said,
                "reason": if code == 0 { "Completed" } else { "Error" },
            }}),
        ),
    };
    json!({
        "phase": phase, "startTime": since, "hostIP": "10.246.0.1",
        "containerStatuses": [{
            "name": "full-recovery", "image": "", "imageID": "", "ready": end.is_none(), "started": end.is_none(), "restartCount": 0, "state": state,
        }],
    })
}
