//! What is made, on paper; and what is not ours, in a real API server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dalsegno::archive::RecoveryTarget;
use dalsegno::domain::{Act, ArchivePlace, Call, KubeId, Prefix, RunId, Secret, State, StoreId, Undone};
use dalsegno::restore::Trouble;
use dalsegno::restore::cnpg::objects::{Aim, Form, Reached, cluster, could_archive, major_of, namespace_name};
use dalsegno::restore::cnpg::{ArchiveKeys, CnpgRestorer, DrillCluster, DrillSource, Shape, of_job};
use dalsegno::restore::held::Memory;
use dalsegno::tap::kube_live::{KubeAccess, KubeLimits, LiveKube};
use serde_json::{Map, Value, json};

use super::stage::Ground;
use crate::execution::bench::cx;

fn place() -> ArchivePlace {
    ArchivePlace { store: StoreId("main".into()), bucket: "b".into(), prefix: Prefix::new("cnpg"), server: "pg-main".into() }
}

fn made(by_plugin: bool, target: RecoveryTarget) -> Value {
    let form = Form { image: "i:16.4".into(), storage: "1Gi".into(), ..Form::default() };
    let place = place();
    let from = Reached { place: &place, endpoint: "http://s3:9000", token: false, ca: false };
    let aim = Aim { backup: "20261130T120000", timeline: 3, target };
    cluster("ns", "c", (RunId::new(), "recover"), &form, &from, aim, by_plugin)
}

#[test]
fn the_cluster_restores_what_was_chosen_and_has_nowhere_to_archive_to() {
    let at = "2026-11-30T12:39:00Z".parse().unwrap();
    for by_plugin in [true, false] {
        let object = made(by_plugin, RecoveryTarget::Time(at));
        assert_eq!(could_archive(&object), Vec::<String>::new(), "{object:#}");
        let target = &object["spec"]["bootstrap"]["recovery"]["recoveryTarget"];
        assert_eq!(*target, json!({"backupID": "20261130T120000", "targetTLI": "3", "targetTime": "2026-11-30T12:39:00Z"}));
        assert_eq!(object["spec"]["instances"], 1);
        let external = &object["spec"]["externalClusters"][0];
        let server = if by_plugin {
            &external["plugin"]["parameters"]["serverName"]
        } else {
            &external["barmanObjectStore"]["serverName"]
        };
        assert_eq!(server, "pg-main", "production's, which is only read");
        assert!(!object.to_string().contains("retentionPolicy"), "{object:#}");
    }
    assert!(made(true, RecoveryTarget::End)["spec"]["bootstrap"]["recovery"]["recoveryTarget"].get("targetTime").is_none());
}

#[test]
fn whatever_could_archive_is_seen_in_what_the_server_kept() {
    for (pointer, value) in [
        ("plugins", json!([{"name": "barman-cloud.cloudnative-pg.io", "isWALArchiver": true}])),
        ("backup", json!({"barmanObjectStore": {}})),
    ] {
        let mut object = made(true, RecoveryTarget::End);
        object["spec"][pointer] = value;
        assert_eq!(could_archive(&object).len(), 1, "{pointer}");
    }
    let mut object = made(true, RecoveryTarget::End);
    object["metadata"]["annotations"] = json!({"cnpg.io/skipEmptyWalArchiveCheck": "enabled"});
    assert_eq!(could_archive(&object).len(), 1);
}

#[test]
fn the_major_version_is_read_of_a_tag_and_of_nothing_else() {
    for (image, major) in [
        ("ghcr.io/cloudnative-pg/postgresql:16.4-bookworm", Some(16)),
        ("r:5000/pg:17@sha256:00", Some(17)),
        ("pg:latest", None),
        ("pg", None),
        ("pg@sha256:16", None),
        ("pg:20261130", None),
    ] {
        assert_eq!(major_of(image), major, "{image}");
    }
}

#[test]
fn only_the_archive_makes_a_job_failed_and_our_own_lack_never_does() {
    for bad in [
        "ERROR: Barman cloud restore exception: not a gzip file",
        "FATAL:  could not locate required checkpoint record",
        "LOG:  connection timed out and was made again\nFATAL:  could not locate required checkpoint record",
    ] {
        assert!(matches!(of_job("Job j", bad), Trouble::Bad { .. }), "{bad}");
    }
    for ours in [
        "",
        "OOMKilled",
        "An error occurred (AccessDenied) when calling the GetObject operation",
        "Could not connect to the endpoint URL: http://minio:9000",
        "FATAL:  recovery ended before configured recovery target was reached",
        "could not write: No space left on device",
    ] {
        assert!(matches!(of_job("Job j", ours), Trouble::CouldNot { .. }), "{ours}");
    }
}

fn call(run: RunId) -> Call {
    let args: Map<String, Value> = [("subject".to_owned(), json!("pg/home/prod/pg-main"))].into_iter().collect();
    Call { run, step: "namespace".into(), verb: "kube.namespace".into(), args }
}

fn actor(ground: &Ground) -> CnpgRestorer {
    let access = KubeAccess { kubeconfig: Some(ground.cluster.kubeconfig_for(&ground.token).unwrap()), context: None };
    let secret = || Secret::new("x".into());
    let keys = ArchiveKeys { id: secret(), secret: secret(), token: None, region: "auto".into() };
    let source = DrillSource { cluster: None, endpoint: "http://s3:9000".into(), keys, ca_pem: None };
    let target = DrillCluster {
        id: KubeId("prod".into()),
        kube: Arc::new(LiveKube::new(access, KubeLimits::default())),
        shape: Shape::default(),
        sources: BTreeMap::from([("pg/home/prod/pg-main".parse().unwrap(), source)]),
    };
    CnpgRestorer::new(vec![target], Arc::new(Memory::default()))
}

async fn ended(actor: &CnpgRestorer, cx: &dalsegno::domain::Cx, intent: &dalsegno::domain::Intent) -> State {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        match actor.look(cx, intent, None).await.unwrap() {
            State::Running { .. } if Instant::now() < until => tokio::time::sleep(Duration::from_millis(50)).await,
            state => return state,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_of_the_same_name_that_is_not_ours_is_refused_and_untouched() {
    let Some(ground) = Ground::of("cnpg_drill: foreign").await else { return };
    let (run, actor) = (RunId::new(), actor(&ground));
    let name = namespace_name(run, "namespace");
    ground.cluster.namespace(&name).await.unwrap();
    let before = ground.cluster.get("v1", "Namespace", "", &name).await.unwrap().unwrap();
    let (cx, intent) = (cx(run), actor.intend(&call(run)).unwrap());
    actor.start(&cx, &intent).await.unwrap();
    let state = ended(&actor, &cx, &intent).await;
    assert!(matches!(&state, State::CouldNot { why, .. } if why.contains("refused")), "{state:?}");
    assert_eq!(actor.undo(&cx, &intent, &state).await.unwrap(), Undone::NothingToDo);
    let after = ground.cluster.get("v1", "Namespace", "", &name).await.unwrap().unwrap();
    assert_eq!(before["metadata"]["uid"], after["metadata"]["uid"]);
    assert!(after["metadata"].get("deletionTimestamp").is_none() && after["metadata"]["labels"].get("dalsegno.io/run").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_of_ours_is_made_once_taken_back_once_and_told_when_it_is_stuck() {
    let Some(ground) = Ground::of("cnpg_drill: namespace").await else { return };
    let (run, first) = (RunId::new(), actor(&ground));
    let (cx, intent) = (cx(run), first.intend(&call(run)).unwrap());
    first.start(&cx, &intent).await.unwrap();
    first.start(&cx, &intent).await.unwrap();
    assert!(matches!(ended(&first, &cx, &intent).await, State::Done { .. }));
    // Another process finds it by its label, carries nothing on, and takes it back.
    let second = actor(&ground);
    let state = second.look(&cx, &intent, None).await.unwrap();
    assert!(matches!(state, State::CouldNot { .. }), "{state:?}");
    let name = namespace_name(run, "namespace");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "namespace": name, "finalizers": ["lab.dalsegno/held"]}});
    ground.cluster.apply(&map.to_string()).await.unwrap();
    let short = dalsegno::domain::Cx { deadline: Instant::now() + Duration::from_secs(10), ..cx.clone() };
    let undone = second.undo(&short, &intent, &state).await.unwrap();
    assert!(matches!(&undone, Undone::Stuck { why } if why.contains("still there")), "{undone:?}");
    ground.cluster.patch("v1", "ConfigMap", &name, "held", json!({"metadata": {"finalizers": null}})).await.unwrap();
    assert_eq!(second.undo(&cx, &intent, &state).await.unwrap(), Undone::Removed);
    assert_eq!(second.undo(&cx, &intent, &state).await.unwrap(), Undone::NothingToDo);
    assert_eq!(second.look(&cx, &intent, None).await.unwrap_or(State::Absent), State::Absent);
}
