//! Whole drills by the program: proven, failed, not known, rude API servers.

use lab::cnpg::Behaviour;
use lab::kube::{ApiFault, Say};
use serde_json::Value;

use super::stage::{Ground, Stage, shape};
use crate::restore::drill::{PREFIX, SERVER};

const DRILL: [&str; 4] = ["drill", "cnpg-restore", "-o", "json"];

fn ends(evidence: &Value, name: &str) -> String {
    let all = evidence["assertions"].as_array().unwrap();
    let found = all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name}: {evidence:#}"));
    found["end"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_whose_cluster_is_gone_is_proven_by_the_operator_and_nothing_is_left() {
    let Some(ground) = Ground::of("cnpg_drill: proven").await else { return };
    let kubeconfig = ground.cluster.kubeconfig_for(&ground.token).unwrap();
    let stage = Stage::of(&ground, &ground.archived.bucket, &kubeconfig, &shape()).await;

    let plan = stage.run(&["drill", "cnpg-restore", "--plan"]);
    assert_eq!(plan.exit, Some(0), "{plan:?}");
    for what in ["Namespace dalsegno-<run>-namespace", "NetworkPolicy", "drill-keys", "drill-superuser", "drill-src", "Cluster "]
    {
        assert!(plan.out.contains(what), "{what}: {}", plan.out);
    }
    assert!(!stage.state().join("drills").exists(), "a plan does nothing");

    let said = stage.run(&DRILL);
    assert_eq!(said.exit, Some(0), "{said:?} {:?}", ground.actor.errors());
    let evidence = said.json();
    assert_eq!(evidence["verdict"], "proven", "{evidence:#}");
    assert_eq!(evidence["isolation"], "declared");
    assert!(evidence["isolation_facts"].to_string().contains("was not shown"), "{evidence:#}");
    for name in ["system-id", "replay-end", "archiving-off", "relation-files", "rows"] {
        assert_eq!(ends(&evidence, name), "passed", "{name}: {evidence:#}");
    }
    for phase in ["catalogue", "namespace", "objects", "restore", "start", "connect", "checks", "clean-up"] {
        assert!(evidence["phases"].as_array().unwrap().iter().any(|one| one["name"] == phase), "{phase}: {evidence:#}");
    }
    assert!(evidence["rto_seconds"].as_f64().unwrap() > 0.0 && !evidence["rpo"]["covered_until"].is_null(), "{evidence:#}");
    assert_eq!(evidence["left_over"], serde_json::json!([]));
    assert!(ground.left(&stage.run_id()).await.is_empty());
    // Neither evidence nor journal holds a key or a password.
    let secret = stage.command(&[]).get_envs().find(|(name, _)| *name == "KEY_SECRET").unwrap().1.unwrap().to_owned();
    let journal = std::fs::read_to_string(stage.state().join("drills").join(stage.run_id()).join("journal.jsonl")).unwrap();
    assert!(!journal.contains(secret.to_str().unwrap()) && !journal.contains("password"), "{journal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_backup_that_cannot_be_unpacked_fails_and_nothing_is_left() {
    let Some(ground) = Ground::of("cnpg_drill: failed").await else { return };
    let kubeconfig = ground.cluster.kubeconfig_for(&ground.token).unwrap();
    let bucket = ground.archived.copy().await;
    let weed = lab::seaweed::shared().await.unwrap();
    let keys = weed.client().keys(&bucket, &format!("{PREFIX}/{SERVER}/base/")).await.unwrap();
    let tar = keys.iter().find(|key| key.contains("data.tar")).unwrap();
    weed.client().put(&bucket, tar, bytes::Bytes::from_static(b"this is no tar")).await.unwrap();
    let stage = Stage::of(&ground, &bucket, &kubeconfig, &shape()).await;
    let said = stage.run(&DRILL);
    assert_eq!(said.json()["verdict"], "failed", "{said:?} {:?}", ground.actor.errors());
    assert_eq!(said.exit, Some(4), "{said:?}");
    assert!(said.json()["reasons"].to_string().contains("full-recovery"), "{said:?}");
    assert!(ground.left(&stage.run_id()).await.is_empty());
}

/// The archive's WAL raises max_connections behind the base backup.
#[tokio::test(flavor = "multi_thread")]
async fn limits_of_the_source_that_nobody_gave_are_our_lack_and_not_the_archives() {
    let Some(ground) = Ground::of("cnpg_drill: limits").await else { return };
    let kubeconfig = ground.cluster.kubeconfig_for(&ground.token).unwrap();
    let without = shape().replace(", parameters: {max_connections: \"100\"}", "");
    let stage = Stage::of(&ground, &ground.archived.bucket, &kubeconfig, &without).await;
    let said = stage.run(&DRILL);
    assert_eq!(said.json()["verdict"], "unknown", "{said:?}");
    assert!(said.json()["hints"].to_string().contains("drill.parameters"), "{said:?}");
    assert!(ground.left(&stage.run_id()).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_never_ready_is_not_known_after_the_limit() {
    let Some(ground) = Ground::of("cnpg_drill: never ready").await else { return };
    ground.actor.behave("dalsegno-*", "drill-*-never", Behaviour::NeverReady);
    let kubeconfig = ground.cluster.kubeconfig_for(&ground.token).unwrap();
    let stage = Stage::of(&ground, &ground.archived.bucket, &kubeconfig, &shape()).await;
    let runbook = stage.runbook(&[("name: recover", "name: never"), ("time-limit: 12h", "time-limit: 20s")]);
    let said = stage.run(&["drill", &runbook, "-o", "json"]);
    let evidence = said.json();
    assert_eq!(evidence["verdict"], "unknown", "{evidence:#}");
    assert!(evidence["reasons"].to_string().contains("time limit"), "{evidence:#}");
    assert!(ground.left(&stage.run_id()).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_is_rude_for_a_while_does_not_fail_a_drill() {
    let Some(ground) = Ground::of("cnpg_drill: rude").await else { return };
    let front = ground.cluster.front().unwrap();
    let kubeconfig = front.kubeconfig_for(&ground.token).unwrap();
    let stage = Stage::of(&ground, &ground.archived.bucket, &kubeconfig, &shape()).await;
    let error = || Say::Status(500, "InternalError".into(), "etcdserver: request timed out".into());
    front.fault(ApiFault::next(3, "POST", "*", Say::Status(503, "ServiceUnavailable".into(), "not ready".into())));
    front.fault(ApiFault::next(10, "GET", "*clusters*", error()));
    front.fault(ApiFault::next(3, "GET", "*namespaces*", Say::TooMany(1)));
    let said = stage.run(&DRILL);
    assert_eq!(said.json()["verdict"], "proven", "{said:?} {:?}", ground.actor.errors());
    assert!(ground.left(&stage.run_id()).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_image_and_source_or_without_an_api_it_is_not_known_and_the_way_out_is_named() {
    let Some(ground) = Ground::of("cnpg_drill: not known").await else { return };
    let kubeconfig = ground.cluster.kubeconfig_for(&ground.token).unwrap();
    let stage = Stage::of(&ground, &ground.archived.bucket, &kubeconfig, "{}").await;
    let said = stage.run(&DRILL);
    assert_eq!(said.json()["verdict"], "unknown", "{said:?}");
    assert!(said.json()["hints"].to_string().contains("--set image="), "{said:?}");
    let given = stage.run(&["drill", "cnpg-restore", "--set", "image=x/postgresql:11.2", "--set", "storage=1Gi", "-o", "json"]);
    assert_eq!(given.json()["verdict"], "unknown", "{given:?}");
    assert!(given.json()["reasons"].to_string().contains("PostgreSQL 11"), "{given:?}");
    assert!(ground.left(&stage.run_id()).await.is_empty());
    // No right to read anything: said with the feature that gives it.
    let elsewhere = ground.cluster.fresh_namespace("nobody").await.unwrap();
    let account =
        serde_json::json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nobody", "namespace": elsewhere}});
    ground.cluster.apply(&account.to_string()).await.unwrap();
    let nobody = ground.cluster.kubeconfig_for(&ground.cluster.token(&elsewhere, "nobody").await.unwrap()).unwrap();
    let stage = Stage::of(&ground, &ground.archived.bucket, &nobody, &shape()).await;
    let said = stage.run(&DRILL);
    assert_eq!(said.json()["verdict"], "unknown", "{said:?}");
    assert!(said.json()["hints"].to_string().contains("rbac"), "{said:?}");
    // Not switched on: the plan says so before anything is done.
    let stage = Stage::of(&ground, &ground.archived.bucket, &kubeconfig, "null").await;
    let plan = stage.run(&["drill", "cnpg-restore", "--plan"]);
    assert_eq!(plan.exit, Some(3), "{plan:?}");
    assert!(plan.out.contains("drill pg-restore"), "{plan:?}");
}
