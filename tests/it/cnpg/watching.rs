//! From lists to facts; what is refused or absent is a gap of its own, and nothing is read as fine.

use std::sync::Arc;

use dalsegno::domain::{ArchiveRef, Bootstrap, Denied, FactKind, Known, Observation};
use dalsegno::providers::cnpg::config::Reads;
use dalsegno::providers::cnpg::rbac::{DRILL, RULES};
use dalsegno::tap::CallError;
use serde_json::json;

use super::scene::*;

#[tokio::test]
async fn a_cluster_comes_back_with_what_belongs_to_it_and_no_gap() {
    let seen = look_at(healthy()).await;
    assert!(seen.gaps.is_empty(), "{:?}", seen.gaps);
    let fact = the_cluster(&seen);
    assert_eq!(fact.subject, pg("keycloak-db"));
    assert_eq!(fact.major, Some(17));
    assert_eq!(fact.system_id.unwrap().0, 7_713_983_393_355_418_124);
    assert_eq!(fact.storage, Some(10 << 30));
    assert_eq!(fact.wal_storage, None);
    let ArchiveRef::Plugin { location: Some(location), dangling, declared_archiver, .. } = &fact.archivers[0] else {
        panic!("{:?}", fact.archivers)
    };
    assert_eq!((*dangling, *declared_archiver), (false, Some(true)));
    assert_eq!((location.bucket.as_deref(), location.path.as_deref()), (Some("dr-backups"), Some("cnpg")));
    assert_eq!(location.server, "keycloak-db", "the plugin's default is the Cluster's name");
    assert_eq!(location.store.as_ref().unwrap().0, "r2");
    assert_eq!(location.retention.as_deref(), Some("30d"));
    let pods = fact.pods.as_ref().unwrap();
    assert_eq!(pods[0].role.as_deref(), Some("primary"));
    assert_eq!(
        pods[0].containers.iter().map(|of| (of.name.as_str(), of.init)).collect::<Vec<_>>(),
        [("plugin-barman-cloud", true), ("postgres", false)]
    );
    assert_eq!(pods[0].containers[1].restarts, 2);
    let env = &pods[0].containers[0].env;
    assert_eq!(env["AWS_REQUEST_CHECKSUM_CALCULATION"].as_deref(), Some("when_required"));
    assert_eq!(env["AWS_SECRET_ACCESS_KEY"], None, "a value whose name tells a secret is not read");
    assert_eq!(fact.backups.as_deref(), Some(&[][..]), "looked at, and none");
    assert!(site(&seen).adopted);
    assert_eq!(site(&seen).version.as_deref(), Some("v1.33.1"));
}

#[tokio::test]
async fn an_object_with_absent_status_is_a_cluster_of_which_little_is_known() {
    let kube = FakeKube::new().with("clusters", json!({"metadata": {"name": "new", "namespace": "a"}}));
    let seen = look_at(kube).await;
    let fact = the_cluster(&seen);
    assert_eq!((fact.phase.as_deref(), fact.ready_instances, fact.conditions.len()), (None, None, 0));
    assert!(fact.archivers.is_empty() && fact.writer().is_none());
    assert!(matches!(fact.bootstrap, Bootstrap::Initdb { database: None, .. }));
}

#[tokio::test]
async fn an_object_without_a_name_is_a_gap_and_the_others_stand() {
    let kube = healthy().with("clusters", json!({"spec": {}})).with("clusters", json!("nonsense"));
    let seen = look_at(kube).await;
    assert_eq!(clusters(&seen).len(), 1);
    assert_eq!(seen.gaps.len(), 1);
    assert_eq!(seen.gaps[0].why, Denied::Malformed);
    assert!(seen.gaps[0].detail.contains("2 objects"), "{:?}", seen.gaps);
}

/// Each right of the table taken away in turn: the gap names verb and resource, and all that does not need it is seen.
#[tokio::test]
async fn each_right_that_is_missing_is_a_gap_with_the_verb_and_resource_in_its_hint() {
    let mut tried = 0;
    for rule in RULES.iter().filter(|rule| !rule.named && rule.feature != DRILL) {
        for resource in rule.resources {
            let kube = healthy();
            // Something that makes every resource be asked.
            let mut restored = cluster("apps", "restored");
            restored["spec"]["bootstrap"] = json!({"recovery": {"volumeSnapshots": {"storage": {"name": "snap"}}}});
            restored["status"]["conditions"] = json!([{"type": "ContinuousArchiving", "status": "False"}]);
            kube.put("clusters", restored);
            kube.put("pods", pod("apps", "restored"));
            kube.groups.lock().unwrap().insert("snapshot.storage.k8s.io".into(), vec!["v1".into()]);
            let key = if *resource == "pods/log" { "logs" } else { resource };
            kube.breaks(key, forbidden(resource));
            let mut settings = settings();
            settings.reads.insert(Reads::Kubelet);
            kube.kubelets.lock().unwrap().insert("n1".into(), json!({"pods": []}));
            kube.metrics.lock().unwrap().insert("restored-1:9187".into(), METRICS.into());
            let seen = look(&Arc::new(kube), settings, atlas(), &Known::default()).await;
            let gaps: Vec<_> = seen.gaps.iter().filter(|gap| matches!(gap.why, Denied::Denied { .. })).collect();
            assert!(!gaps.is_empty(), "{resource}: no gap, {:?}", seen.gaps);
            for gap in gaps {
                let Denied::Denied { verb } = &gap.why else { unreachable!() };
                assert!(
                    verb.starts_with(rule.verbs[0]) && verb.contains(resource.split('/').next().unwrap()),
                    "{resource}: {verb}"
                );
                assert!(
                    gap.hint.contains(rule.verbs[0]) && gap.hint.contains(resource.split('/').next().unwrap()),
                    "{}",
                    gap.hint
                );
                assert!(gap.hint.contains("--as=system:serviceaccount:dalsegno:dalsegno"), "{}", gap.hint);
            }
            if *resource != "clusters" {
                assert_eq!(clusters(&seen).len(), 2, "{resource}: what does not need it is seen");
            }
            tried += 1;
        }
    }
    assert!(tried >= 12, "{tried}");
}

#[tokio::test]
async fn a_list_that_was_refused_is_not_looked_at_never_empty() {
    for (plural, of) in
        [("pods", 0), ("persistentvolumeclaims", 1), ("jobs", 2), ("events", 3), ("backups", 4), ("scheduledbackups", 5)]
    {
        let kube = healthy();
        kube.breaks(plural, forbidden(plural));
        let seen = look_at(kube).await;
        let fact = the_cluster(&seen);
        let looked = [
            fact.pods.is_some(),
            fact.claims.is_some(),
            fact.jobs.is_some(),
            fact.events.is_some(),
            fact.backups.is_some(),
            fact.schedules.is_some(),
        ];
        for (index, looked) in looked.iter().enumerate() {
            assert_eq!(*looked, index != of, "{plural}: {index}");
        }
    }
}

#[tokio::test]
async fn an_object_store_that_is_not_there_dangles_and_one_that_could_not_be_read_does_not() {
    let kube = FakeKube::new().with("clusters", cluster("a", "x"));
    let seen = look_at(kube).await;
    assert!(matches!(&the_cluster(&seen).archivers[0], ArchiveRef::Plugin { dangling: true, location: None, .. }));
    let kube = FakeKube::new().with("clusters", cluster("a", "x"));
    kube.breaks("objectstores", forbidden("objectstores"));
    let seen = look_at(kube).await;
    assert!(matches!(&the_cluster(&seen).archivers[0], ArchiveRef::Plugin { dangling: false, location: None, .. }));
}

#[tokio::test]
async fn where_cnpg_was_never_adopted_there_is_silence_and_where_it_was_there_is_a_gap() {
    let kube = FakeKube::new();
    kube.groups.lock().unwrap().remove("postgresql.cnpg.io");
    let kube = Arc::new(kube);
    let seen = look(&kube, settings(), atlas(), &Known::default()).await;
    assert!(seen.gaps.is_empty() && !site(&seen).adopted);
    assert_eq!(kube.asked.lock().unwrap().as_slice(), ["apis"], "nothing else is asked");

    let before = look_at(healthy()).await;
    let known = Known { memory: before.memory, ..Known::default() };
    let seen = look(&kube, settings(), atlas(), &known).await;
    assert!(seen.facts.is_empty());
    let about: Vec<_> = seen.gaps.iter().map(|gap| (gap.subject.to_string(), gap.what, gap.why.clone())).collect();
    assert_eq!(
        about,
        [
            ("cluster/home/k3s".to_owned(), FactKind::CnpgSite, Denied::AbsentApi),
            ("pg/home/prod/keycloak-db".to_owned(), FactKind::Cnpg, Denied::AbsentApi),
        ]
    );
}

#[tokio::test]
async fn an_older_version_of_the_crd_is_a_gap_that_names_both() {
    let kube = FakeKube::new();
    kube.groups.lock().unwrap().insert("postgresql.cnpg.io".into(), vec!["v1alpha1".into()]);
    let seen = look_at(kube).await;
    assert_eq!(seen.gaps.len(), 1);
    assert!(seen.gaps[0].detail.contains("v1alpha1") && seen.gaps[0].detail.contains("v1 is read"), "{:?}", seen.gaps);
}

#[tokio::test]
async fn an_api_server_that_is_down_hides_every_cluster_that_was_there() {
    let before = look_at(healthy()).await;
    let kube = FakeKube::new();
    kube.breaks("apis", down());
    let known = Known { memory: before.memory, ..Known::default() };
    let seen = look(&Arc::new(kube), settings(), atlas(), &known).await;
    assert!(seen.facts.is_empty() && seen.memory.is_none(), "what was kept stays");
    let subjects: Vec<_> = seen.gaps.iter().map(|gap| gap.subject.to_string()).collect();
    assert_eq!(subjects, ["cluster/home/k3s", "pg/home/prod/keycloak-db"]);
    assert!(seen.gaps.iter().all(|gap| gap.why == Denied::Refused));
}

#[tokio::test]
async fn a_cluster_that_is_gone_is_remembered_with_how_far_it_had_written() {
    let before = look_at(healthy()).await;
    let known = Known { memory: before.memory, ..Known::default() };
    let seen = look(&Arc::new(FakeKube::new()), settings(), atlas(), &known).await;
    assert!(seen.gaps.is_empty(), "{:?}", seen.gaps);
    let gone = &site(&seen).gone[0];
    assert_eq!(gone.cluster, name("keycloak", "keycloak-db"));
    let position = gone.last_position.as_ref().unwrap();
    assert_eq!(position.lsn, 3_221_225_472 + 4 * 16_777_216, "what was archived last, and three that waited");
    assert_eq!(gone.location.as_ref().unwrap().server, "keycloak-db");
    // The twin: one whose namespace could not be read is not gone.
    let blind = FakeKube::new();
    blind.breaks("clusters", forbidden("clusters"));
    let seen = look(&Arc::new(blind), settings(), atlas(), &known).await;
    assert!(site(&seen).gone.is_empty());
    assert!(seen.gaps.iter().any(|gap| gap.subject == pg("keycloak-db")), "{:?}", seen.gaps);
}

#[tokio::test]
async fn completed_backups_that_vanish_are_named_and_failed_ones_are_not() {
    let backup = |name: &str, phase: &str| json!({"metadata": {"name": name, "namespace": "keycloak"}, "spec": {"cluster": {"name": "keycloak-db"}}, "status": {"phase": phase}});
    let kube = healthy()
        .with("backups", backup("one", "completed"))
        .with("backups", backup("two", "completed"))
        .with("backups", backup("bad", "failed"));
    let before = look_at(kube).await;
    assert_eq!(the_cluster(&before).backups_gone, None, "nothing was known before");
    let known = Known { memory: before.memory, ..Known::default() };
    let seen = look(&Arc::new(healthy().with("backups", backup("two", "completed"))), settings(), atlas(), &known).await;
    assert_eq!(the_cluster(&seen).backups_gone.as_deref(), Some(&["one".to_owned()][..]));
    assert_eq!(the_cluster(&seen).backups.as_ref().unwrap()[0].method, "barmanObjectStore", "the default of the CRD");
}

#[tokio::test]
async fn schedules_and_open_backups_of_a_cluster_that_is_not_there_belong_to_nobody() {
    let kube = healthy()
        .with("scheduledbackups", json!({"metadata": {"name": "nightly", "namespace": "keycloak"}, "spec": {"schedule": "0 0 3 * * *", "cluster": {"name": "keycloack-db"}}}))
        .with("backups", json!({"metadata": {"name": "b", "namespace": "keycloak"}, "spec": {"cluster": {"name": "keycloack-db"}}, "status": {"phase": "pending"}}))
        .with("backups", json!({"metadata": {"name": "old", "namespace": "keycloak"}, "spec": {"cluster": {"name": "gone"}}, "status": {"phase": "completed"}}));
    let seen = look_at(kube).await;
    assert_eq!(site(&seen).orphan_schedules.len(), 1);
    assert_eq!(
        site(&seen).orphan_backups.iter().map(|(_, of)| of.name.as_str()).collect::<Vec<_>>(),
        ["b"],
        "a completed one is history"
    );
}

#[tokio::test]
async fn events_are_those_of_the_cluster_and_of_its_backups() {
    let event = |kind: &str, name: &str, reason: &str| json!({"metadata": {"name": format!("{name}.1"), "namespace": "keycloak"}, "involvedObject": {"kind": kind, "name": name, "apiVersion": "postgresql.cnpg.io/v1"}, "reason": reason, "count": 4, "lastTimestamp": "2026-11-25T03:00:00Z"});
    let kube = healthy()
        .with(
            "backups",
            json!({"metadata": {"name": "b", "namespace": "keycloak"}, "spec": {"cluster": {"name": "keycloak-db"}}}),
        )
        .with("events", event("Backup", "b", "BackupPending"))
        .with("events", event("Cluster", "keycloak-db", "RetentionPolicyFailed"))
        .with("events", event("Cluster", "other", "RetentionPolicyFailed"));
    let seen = look_at(kube).await;
    let events = the_cluster(&seen).events.as_ref().unwrap();
    assert_eq!(events.iter().map(|of| of.reason.as_str()).collect::<Vec<_>>(), ["BackupPending", "RetentionPolicyFailed"]);
    assert_eq!((events[0].count, events[0].last.is_some()), (4, true));
}

#[tokio::test]
async fn watched_namespaces_are_asked_one_by_one_and_one_that_is_refused_is_its_own_gap() {
    let kube = Arc::new(healthy().with("clusters", cluster("apps", "orders")));
    let mut settings = settings();
    settings.namespaces = vec!["keycloak".into()];
    let seen = look(&kube, settings, atlas(), &Known::default()).await;
    assert_eq!(the_cluster(&seen).cluster, name("keycloak", "keycloak-db"));
}

#[tokio::test]
async fn calls_grow_with_pages_not_with_objects() {
    let calls = async |objects: usize, page: usize| {
        let mut kube = FakeKube::new();
        kube.page = page;
        for index in 0..objects {
            kube.put(
                "backups",
                json!({"metadata": {"name": format!("b{index}"), "namespace": "a"}, "spec": {"cluster": {"name": "x"}}}),
            );
        }
        let kube = Arc::new(kube);
        let _seen = look(&kube, settings(), atlas(), &Known::default()).await;
        kube.calls.load(std::sync::atomic::Ordering::Relaxed)
    };
    let few = calls(10, 500).await;
    assert_eq!(calls(500, 500).await, few);
    assert_eq!(calls(1500, 500).await, few + 2);
}

#[tokio::test]
async fn a_flood_of_objects_is_a_gap_not_a_short_list() {
    let kube = FakeKube::new();
    for index in 0..20_001 {
        kube.put("backups", json!({"metadata": {"name": format!("b{index}"), "namespace": "a"}}));
    }
    let kube = kube.with("clusters", cluster("a", "x"));
    let seen = look_at(kube).await;
    assert!(
        seen.gaps.iter().any(|gap| gap.why == Denied::Truncated && gap.detail.contains("backups")),
        "{:?}",
        details(&seen.gaps)
    );
    assert_eq!(the_cluster(&seen).backups, None);
}

#[tokio::test]
async fn logs_are_read_of_pods_in_trouble_only() {
    let kube = healthy();
    let kube = Arc::new(kube);
    let _quiet: Observation = look(&kube, settings(), atlas(), &Known::default()).await;
    assert!(!kube.asked.lock().unwrap().contains(&"logs".to_owned()));

    let kube = FakeKube::new().with("objectstores", object_store("a", "r2", "s3://dr-backups/cnpg")).with("pods", pod("a", "x"));
    let mut failing = cluster("a", "x");
    failing["status"]["conditions"] = json!([{"type": "ContinuousArchiving", "status": "False", "reason": "ContinuousArchivingFailing", "message": "exit status 4"}]);
    kube.put("clusters", failing);
    let line = json!({"level": "error", "msg": "while archiving", "error": "https://user:hunter2@minio:9000/b?X-Amz-Signature=abc refused"});
    kube.logs
        .lock()
        .unwrap()
        .insert("x-1/plugin-barman-cloud".into(), format!("{{\"level\":\"info\",\"msg\":\"fine\"}}\n{line}\n"));
    let seen = look_at(kube).await;
    let log = the_cluster(&seen).pods.as_ref().unwrap()[0].log.clone().unwrap();
    assert_eq!(log, ["ERROR:  while archiving: https://minio:9000/b refused"]);
}

#[tokio::test]
async fn a_call_that_hangs_costs_itself_and_not_the_look() {
    use dalsegno::domain::Observe;
    use dalsegno::providers::cnpg::CnpgClusters;
    let kube = Arc::new(Slow(healthy()));
    let observer = CnpgClusters::new(settings(), atlas(), kube);
    let mut cx = cx(now());
    cx.deadline = std::time::Instant::now() + std::time::Duration::from_secs(2);
    let seen = observer.observe(&cx, &Known::default()).await;
    assert_eq!(clusters(&seen).len(), 1, "{:?}", seen.gaps);
    assert_eq!(the_cluster(&seen).events, None);
    assert!(seen.gaps.iter().any(|gap| gap.why == Denied::Timeout && gap.detail.contains("events")), "{:?}", details(&seen.gaps));
}

struct Slow(FakeKube);

#[async_trait::async_trait]
impl dalsegno::tap::KubeCalls for Slow {
    async fn about(&self) -> Result<dalsegno::tap::KubeAbout, CallError> {
        self.0.about().await
    }
    async fn list(
        &self,
        of: &dalsegno::tap::Resource,
        ask: &dalsegno::tap::KubeAsk,
    ) -> Result<dalsegno::tap::KubePage, CallError> {
        if of.plural == "events" {
            return std::future::pending().await;
        }
        self.0.list(of, ask).await
    }
    async fn get(
        &self,
        of: &dalsegno::tap::Resource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<serde_json::Value, CallError> {
        self.0.get(of, namespace, name).await
    }
    async fn log(&self, namespace: &str, pod: &str, container: &str, lines: u32) -> Result<String, CallError> {
        self.0.log(namespace, pod, container, lines).await
    }
    async fn pod_proxy(&self, namespace: &str, pod: &str, port: &str, path: &str) -> Result<bytes::Bytes, CallError> {
        self.0.pod_proxy(namespace, pod, port, path).await
    }
    async fn node_proxy(&self, node: &str, path: &str) -> Result<bytes::Bytes, CallError> {
        self.0.node_proxy(node, path).await
    }
}
