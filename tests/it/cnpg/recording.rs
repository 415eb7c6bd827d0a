//! A recording is judged as what it was made of, and holds nothing that nobody reads: no Secret, whatever they planted.

use std::path::Path;
use std::sync::Arc;

use dalsegno::domain::{Known, Observation, Observe};
use dalsegno::providers::cnpg::CnpgClusters;
use dalsegno::providers::cnpg::keep::KeepCnpg;
use dalsegno::tap::{FailureKind, KubeCalls, Recorder, Recording};
use serde_json::json;

use super::scene::*;

async fn observed(kube: Arc<dyn KubeCalls>) -> Observation {
    CnpgClusters::new(settings(), atlas(), kube).observe(&cx(now()), &Known::default()).await
}

/// Records a look, and replays it.
async fn both(kube: FakeKube, folder: &Path) -> (Observation, Observation) {
    let mut recorder = Recorder::create(folder, "home").unwrap();
    let pass = recorder.pass(now()).unwrap();
    let live = observed(pass.kube("k3s", Arc::new(kube), Arc::new(KeepCnpg))).await;
    pass.finish().unwrap();
    recorder.finish().unwrap();
    let recording = Recording::open(folder).unwrap();
    let pass = recording.passes().next().unwrap();
    (live, observed(pass.kube("k3s").unwrap()).await)
}

fn planted() -> FakeKube {
    let mut of = cluster("keycloak", "keycloak-db");
    of["metadata"]["annotations"] = json!({
        "kubectl.kubernetes.io/last-applied-configuration": "{\"password\":\"planted-1\"}",
        "cnpg.io/hibernation": "off",
    });
    of["spec"]["postgresql"] =
        json!({"parameters": {"max_wal_size": "1GB", "primary_conninfo": "password=planted-2", "archive_timeout": "5min"}});
    of["spec"]["bootstrap"] = json!({"initdb": {"postInitSQL": ["create user x password 'planted-3'"], "database": "app"}});
    of["spec"]["superuserSecret"] = json!({"name": "planted-4"});
    let mut pod = pod("keycloak", "keycloak-db");
    pod["spec"]["containers"][0]["env"] = json!([{"name": "PGPASSWORD", "value": "planted-5"}, {"name": "TZ", "value": "UTC"}]);
    pod["spec"]["containers"][0]["args"] = json!(["--token=planted-6"]);
    let kube = FakeKube::new()
        .with("clusters", of)
        .with("objectstores", object_store("keycloak", "r2", "s3://dr-backups/cnpg"))
        .with("pods", pod)
        .with("secrets", json!({"metadata": {"name": "r2-keys", "namespace": "keycloak"}, "data": {"ID": "cGxhbnRlZC03"}}))
        .with("prometheusrules", json!({"metadata": {"name": "r", "namespace": "m"}, "spec": {"groups": [{"rules": [{"alert": "A", "expr": "cnpg_collector_up == 0", "annotations": {"x": "planted-8"}}, {"alert": "B", "expr": "up == 0"}]}]}}));
    kube.metrics.lock().unwrap().insert("keycloak-db-1:9187".into(), format!("{METRICS}other_secret{{token=\"planted-9\"}} 1\n"));
    kube
}

#[tokio::test]
async fn a_replay_sees_what_was_seen() {
    let folder = tempfile::tempdir().unwrap();
    let (live, replayed) = both(planted(), &folder.path().join("r")).await;
    assert!(live.gaps.is_empty(), "{:?}", live.gaps);
    assert_eq!(live, replayed);
    assert_eq!(the_cluster(&live).parameters.keys().collect::<Vec<_>>(), ["archive_timeout", "max_wal_size"]);
}

#[tokio::test]
async fn no_planted_secret_reaches_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let _looks = both(planted(), &folder.path().join("r")).await;
    let mut files = 0;
    for entry in walkdir::WalkDir::new(folder.path()).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file())
    {
        let bytes = std::fs::read(entry.path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("planted") && !text.contains("cGxhbnRlZC03"), "{}: {text}", entry.path().display());
        files += 1;
    }
    assert!(files > 8, "{files}");
}

#[tokio::test]
async fn what_was_refused_is_refused_again_with_the_same_gap() {
    for what in ["pods", "clusters", "apis", "pods/proxy"] {
        let folder = tempfile::tempdir().unwrap();
        let kube = planted();
        kube.breaks(what, forbidden(what));
        let (live, replayed) = both(kube, &folder.path().join("r")).await;
        assert!(!live.gaps.is_empty());
        assert_eq!(live.gaps, replayed.gaps, "{what}");
        assert_eq!(live, replayed, "{what}");
    }
}

#[tokio::test]
async fn what_is_not_in_a_recording_is_a_gap_never_empty() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("r");
    let _looks = both(planted(), &root).await;
    std::fs::remove_file(root.join("000/kube/k3s/core_v1_pods.json")).unwrap();
    let recording = Recording::open(&root).unwrap();
    let seen = observed(recording.passes().next().unwrap().kube("k3s").unwrap()).await;
    assert_eq!(the_cluster(&seen).pods, None);
    assert!(seen.gaps.iter().any(|gap| gap.detail.contains("not recorded")), "{:?}", seen.gaps);
    // Nor is a recording without the cluster at all one of a cluster without CNPG.
    let error = recording.passes().next().unwrap().kube("other").unwrap().about().await.unwrap_err();
    assert_eq!(error.kind, FailureKind::NotRecorded);
}

/// A recording made by hand: lists only. Groups are those of its files; a word of `apis.json` wins.
#[tokio::test]
async fn a_recording_by_hand_needs_no_more_than_its_lists() {
    let folder = tempfile::tempdir().unwrap();
    let pass = folder.path().join("000/kube/k3s");
    std::fs::create_dir_all(&pass).unwrap();
    std::fs::write(folder.path().join("recording.yaml"), "format: 1\npasses: [{dir: \"000\", now: 2026-11-30T15:00:00Z}]\n")
        .unwrap();
    let list = json!({"items": [cluster("a", "x"), cluster("b", "y")]});
    std::fs::write(pass.join("postgresql.cnpg.io_v1_clusters.json"), list.to_string()).unwrap();
    let open = || Recording::open(folder.path()).unwrap().passes().next().unwrap().kube("k3s").unwrap();
    assert_eq!(open().about().await.unwrap().groups.keys().collect::<Vec<_>>(), ["postgresql.cnpg.io"]);
    let seen = observed(open()).await;
    assert_eq!(clusters(&seen).len(), 2);
    std::fs::write(pass.join("apis.json"), json!({"barmancloud.cnpg.io": "denied", "postgresql.cnpg.io": "served"}).to_string())
        .unwrap();
    let seen = observed(open()).await;
    assert!(
        seen.gaps.iter().any(|gap| gap.detail.contains("objectstores") && gap.code.as_deref() == Some("Forbidden")),
        "{:?}",
        seen.gaps
    );
    std::fs::write(pass.join("apis.json"), json!({"postgresql.cnpg.io": "absent"}).to_string()).unwrap();
    assert!(!site(&observed(open()).await).adopted);
}
