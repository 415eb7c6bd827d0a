//! Whatever an API server answers, nothing panics, and one odd field does not hide the others.

use std::sync::Arc;

use dalsegno::domain::Known;
use dalsegno::providers::cnpg::keep::KeepCnpg;
use dalsegno::tap::{KeepKube, Resource};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::scene::*;

/// Keys that are read, so that random objects reach the readers.
const KEYS: [&str; 28] = [
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "cnpg.io/cluster",
    "cnpg.io/fencedInstances",
    "spec",
    "status",
    "plugins",
    "parameters",
    "conditions",
    "backup",
    "barmanObjectStore",
    "destinationPath",
    "endpointURL",
    "externalClusters",
    "bootstrap",
    "recovery",
    "volumeSnapshots",
    "storage",
    "size",
    "containers",
    "env",
    "replica",
    "managedFields",
    "serverRecoveryWindow",
    "configuration",
];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~]{0,20}".prop_map(Value::from),
        prop_oneof![Just("s3://"), Just("s3:///x"), Just("10Gi"), Just("-1e99Ei"), Just("2026-13-45T99:99:99Z"), Just("[\"*\"]")]
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(KEYS.to_vec()), inner), 0..6).prop_map(|pairs| Value::Object(
                pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>()
            )),
        ]
    })
}

const PLURALS: [&str; 10] = [
    "clusters",
    "backups",
    "scheduledbackups",
    "objectstores",
    "pods",
    "persistentvolumeclaims",
    "jobs",
    "events",
    "storageclasses",
    "prometheusrules",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_json_in_any_list_is_read_without_a_panic(objects in prop::collection::vec((prop::sample::select(PLURALS.to_vec()), any_json()), 0..12)) {
        let kube = healthy();
        for (plural, object) in objects {
            kube.put(plural, object);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let seen = runtime.block_on(look(&Arc::new(kube), settings(), atlas(), &Known::default()));
        prop_assert!(clusters(&seen).iter().any(|fact| fact.cluster == name("keycloak", "keycloak-db")), "the sound one is always seen");
    }

    /// What a recording keeps is read as the original is.
    #[test]
    fn what_is_kept_is_kept_again_unchanged(plural in prop::sample::select(vec![("postgresql.cnpg.io", "clusters"), ("", "pods"), ("barmancloud.cnpg.io", "objectstores")]), object in any_json()) {
        let of = Resource::new(plural.0, "v1", plural.1);
        if let Some(kept) = KeepCnpg.object(&of, &object) {
            prop_assert_eq!(KeepCnpg.object(&of, &kept), Some(kept));
        }
    }
}

#[tokio::test]
async fn one_odd_field_does_not_hide_the_others() {
    let mut odd = cluster("a", "odd");
    odd["spec"]["instances"] = json!("three");
    odd["spec"]["storage"] = json!(7);
    odd["metadata"]["labels"] = json!(7);
    odd["status"]["conditions"].as_array_mut().unwrap().push(json!("nonsense"));
    odd["status"]["timelineID"] = json!(null);
    let kube = FakeKube::new().with("clusters", odd).with("objectstores", object_store("a", "r2", "s3://dr-backups/cnpg"));
    let seen = look_at(kube).await;
    let fact = the_cluster(&seen);
    assert_eq!((fact.instances, fact.storage, fact.timeline), (1, None, None));
    assert_eq!(fact.conditions.len(), 1, "the sound row stands");
    assert!(fact.writer().is_some());
}

#[tokio::test]
async fn both_spellings_of_the_last_success_are_read() {
    for key in ["lastSuccessfulBackupTime", "lastSuccussfulBackupTime"] {
        let mut store = object_store("a", "r2", "s3://dr-backups/cnpg");
        store["status"] = json!({"serverRecoveryWindow": {"x": {key: "2026-11-30T03:00:10Z", "firstRecoverabilityPoint": "2026-11-01T03:00:10Z"}}});
        store["metadata"]["managedFields"] = json!([
            {"time": "2026-11-20T00:00:00Z", "fieldsV1": {"f:spec": {"f:configuration": {}}}},
            {"time": "2026-11-29T00:00:00Z", "subresource": "status", "fieldsV1": {"f:status": {}}},
        ]);
        let seen = look_at(FakeKube::new().with("clusters", cluster("a", "x")).with("objectstores", store)).await;
        let of = &the_cluster(&seen).object_stores[0];
        assert_eq!(of.windows["x"].last_success.unwrap().to_string(), "2026-11-30T03:00:10Z", "{key}");
        assert_eq!(of.changed.unwrap().to_string(), "2026-11-20T00:00:00Z", "status is not spec");
    }
}

#[tokio::test]
async fn a_replica_is_one_by_its_flag_or_by_another_primary_of_the_topology() {
    let of = async |replica: Value| {
        let mut of = cluster("a", "x");
        of["spec"]["replica"] = replica;
        let seen =
            look_at(FakeKube::new().with("clusters", of).with("objectstores", object_store("a", "r2", "s3://dr-backups/cnpg")))
                .await;
        the_cluster(&seen).replica_of.clone()
    };
    assert_eq!(of(json!({"enabled": true, "source": "main"})).await.as_deref(), Some("main"));
    assert_eq!(of(json!({"enabled": false, "source": "main"})).await, None);
    assert_eq!(of(json!({"primary": "dc-a", "self": "dc-b", "source": "dc-a"})).await.as_deref(), Some("dc-a"));
    assert_eq!(of(json!({"primary": "x", "source": "other"})).await, None, "self is the Cluster's own name");
}
