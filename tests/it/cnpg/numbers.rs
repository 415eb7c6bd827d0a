//! Exporter and kubelet: what is not a number is not a sample, and WAL's volume is apart from the data's.

use std::sync::Arc;

use dalsegno::domain::{Denied, FactKind, Known};
use dalsegno::providers::cnpg::config::Reads;
use serde_json::json;

use super::scene::*;

#[tokio::test]
async fn an_exporter_of_the_primary_gives_samples_of_the_closed_table() {
    let seen = look_at(healthy()).await;
    for (metric, value) in [
        ("exporter_up", 1.0),
        ("wal_ready_count", 3.0),
        ("wal_bytes", 167_772_160.0),
        ("wal_keep_bytes", 32.0 * 16_777_216.0),
        ("wal_archived_count", 51_000.0),
        ("wal_failed_count", 0.0),
        ("wal_last_failed_seconds", -1.0),
        ("wal_seconds_since_archival_seconds", 2.0),
        ("wal_archived_position_bytes", 3_221_225_472.0),
        ("wal_slot_retained_bytes", 2_000.0),
    ] {
        assert_eq!(sample(&seen, metric), Some(value), "{metric}");
    }
    assert_eq!(sample(&seen, "wal_volume_capacity_bytes"), None, "NaN is not a sample");
}

#[tokio::test]
async fn without_the_default_queries_there_are_no_samples_of_the_archiver_and_no_zeros() {
    let kube = healthy();
    let only_collector: Vec<&str> = METRICS.lines().filter(|line| !line.contains("pg_stat_archiver")).collect();
    let only_collector = only_collector.join("\n");
    kube.metrics.lock().unwrap().insert("keycloak-db-1:9187".into(), only_collector);
    let seen = look_at(kube).await;
    assert_eq!(sample(&seen, "wal_archived_count"), None);
    assert_eq!(sample(&seen, "exporter_up"), Some(1.0));
    assert_eq!(the_cluster(&seen).last_position, None);
}

#[tokio::test]
async fn an_exporter_behind_tls_is_asked_with_the_scheme() {
    let kube = FakeKube::new().with("objectstores", object_store("a", "r2", "s3://dr-backups/cnpg")).with("pods", pod("a", "x"));
    let mut of = cluster("a", "x");
    of["spec"]["monitoring"] = json!({"tls": {"enabled": true}});
    kube.put("clusters", of);
    kube.metrics.lock().unwrap().insert("x-1:https:9187".into(), METRICS.into());
    let seen = look_at(kube).await;
    assert!(seen.gaps.is_empty(), "{:?}", seen.gaps);
    assert_eq!(sample(&seen, "exporter_up"), Some(1.0));
}

#[tokio::test]
async fn an_exporter_that_does_not_answer_is_a_gap_of_its_database() {
    let kube = healthy();
    kube.metrics.lock().unwrap().clear();
    let seen = look_at(kube).await;
    assert_eq!(seen.gaps.len(), 1);
    assert_eq!(
        (seen.gaps[0].subject.clone(), seen.gaps[0].what, seen.gaps[0].why.clone()),
        (pg("keycloak-db"), FactKind::Cnpg, Denied::Broken)
    );
    // The twin: no exporter is asked where no pod runs, and where reading it is off.
    let mut still = pod("keycloak", "keycloak-db");
    still["status"]["phase"] = json!("Pending");
    let kube = FakeKube::new()
        .with("clusters", cluster("keycloak", "keycloak-db"))
        .with("objectstores", object_store("keycloak", "r2", "s3://dr-backups/cnpg"))
        .with("pods", still);
    assert!(look_at(kube).await.gaps.is_empty());
    let kube = healthy();
    kube.metrics.lock().unwrap().clear();
    let mut off = settings();
    off.reads = [Reads::Logs].into();
    assert!(look(&Arc::new(kube), off, atlas(), &Known::default()).await.gaps.is_empty());
}

fn claim(name: &str, role: &str) -> serde_json::Value {
    json!({
        "metadata": {"name": name, "namespace": "keycloak", "labels": {"cnpg.io/cluster": "keycloak-db", "cnpg.io/pvcRole": role, "cnpg.io/instanceName": "keycloak-db-1"}},
        "spec": {"storageClassName": "longhorn", "resources": {"requests": {"storage": "20Gi"}}},
        "status": {"phase": "Bound", "capacity": {"storage": "10Gi"}, "conditions": [{"type": "Resizing", "status": "True"}]},
    })
}

async fn volumes(claims: &[(&str, &str)]) -> Vec<(String, f64)> {
    let kube = healthy().with("storageclasses", json!({"metadata": {"name": "longhorn"}, "allowVolumeExpansion": true}));
    for (name, role) in claims {
        kube.put("persistentvolumeclaims", claim(name, role));
    }
    kube.kubelets.lock().unwrap().insert(
        "n1".into(),
        json!({"pods": [
            {"podRef": {"name": "other", "namespace": "keycloak"}, "volume": [{"pvcRef": {"name": "keycloak-db-1"}, "availableBytes": 1}]},
            {"podRef": {"name": "keycloak-db-1", "namespace": "keycloak"}, "volume": [
                {"name": "pgdata", "pvcRef": {"name": "keycloak-db-1", "namespace": "keycloak"}, "availableBytes": 500, "capacityBytes": 1000},
                {"name": "pg-wal", "pvcRef": {"name": "keycloak-db-1-wal", "namespace": "keycloak"}, "availableBytes": 50, "capacityBytes": 100},
                {"name": "scratch", "availableBytes": 7},
            ]},
        ]}),
    );
    let mut settings = settings();
    settings.reads = [Reads::Kubelet].into();
    let seen = look(&Arc::new(kube), settings, atlas(), &Known::default()).await;
    assert!(seen.gaps.is_empty(), "{:?}", seen.gaps);
    let claim = &the_cluster(&seen).claims.as_ref().unwrap()[0];
    assert_eq!((claim.requested, claim.capacity, claim.class_expands), (Some(20 << 30), Some(10 << 30), Some(true)));
    let metrics =
        ["data_volume_available_bytes", "data_volume_capacity_bytes", "wal_volume_available_bytes", "wal_volume_capacity_bytes"];
    metrics.iter().filter_map(|metric| Some(((*metric).to_owned(), sample(&seen, metric)?))).collect()
}

#[tokio::test]
async fn the_wal_volume_is_apart_from_the_data_volume_where_there_is_one_and_the_same_where_there_is_none() {
    let values = |rows: Vec<(String, f64)>| rows.into_iter().map(|row| row.1).collect::<Vec<_>>();
    assert_eq!(
        values(volumes(&[("keycloak-db-1", "PG_DATA"), ("keycloak-db-1-wal", "PG_WAL")]).await),
        [500.0, 1000.0, 50.0, 100.0]
    );
    assert_eq!(values(volumes(&[("keycloak-db-1", "PG_DATA")]).await), [500.0, 1000.0, 500.0, 1000.0]);
}
