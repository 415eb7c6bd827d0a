//! Against a real API server: a token of a service account that has what the table of rights says, and no more.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dalsegno::domain::{Denied, FactKind, Known, Observation, RbacRule, RbacScope};
use dalsegno::providers::cnpg::config::{CnpgSettings, Reads};
use dalsegno::providers::cnpg::rbac::{DRILL, RULES};
use dalsegno::providers::cnpg::{CnpgClusters, keep::KeepCnpg};
use dalsegno::tap::kube_live::{KubeAccess, KubeLimits, LiveKube};
use dalsegno::tap::{FailureKind, KubeAsk, KubeCalls, Recorder, Recording, Resource, list_whole};
use lab::cnpg::exporter::{Exporter, Values};
use lab::kube::{ApiFault, Cluster, Say, Usage};
use lab::link::Mode;
use lab::{Tool, need};
use serde_json::{Value, json};

use super::scene::*;

const LIMIT: Duration = Duration::from_secs(30);

async fn cluster_or_skip(suite: &str) -> Option<&'static Cluster> {
    for tool in [Tool::Kube, Tool::Kwok] {
        need(suite, tool)?;
    }
    let _ = rustls::crypto::ring::default_provider().install_default();
    Some(lab::kube::shared().await.unwrap())
}

/// A namespace with a Cluster and everything that makes each right be used, and an account that may look at it.
struct Site {
    cluster: &'static Cluster,
    namespace: String,
    kubeconfig: PathBuf,
    _exporter: Exporter,
    _folder: tempfile::TempDir,
}

/// VolumeSnapshots of any form. Its group is protected: Kubernetes wants to be told that this is not the real one.
fn snapshot_kind() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "volumesnapshots.snapshot.storage.k8s.io", "annotations": {"api-approved.kubernetes.io": "unapproved, of a lab"}},
        "spec": {
            "group": "snapshot.storage.k8s.io", "scope": "Namespaced",
            "names": {"kind": "VolumeSnapshot", "plural": "volumesnapshots", "singular": "volumesnapshot", "listKind": "VolumeSnapshotList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

/// A name of its own for each rule and resource.
fn role_name(namespace: &str, rule: &RbacRule, resource: &str) -> String {
    format!("{namespace}-{}-{}", if rule.group.is_empty() { "core" } else { rule.group }, resource.replace('/', "-"))
}

fn role(namespace: &str, rule: &RbacRule, resource: &str) -> Vec<Value> {
    let name = role_name(namespace, rule, resource);
    let subject = json!([{"kind": "ServiceAccount", "name": "looks", "namespace": namespace}]);
    let of = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
    let version = "rbac.authorization.k8s.io/v1";
    let binding = match rule.scope {
        RbacScope::Cluster => {
            json!({"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": name}, "roleRef": of, "subjects": subject})
        }
        _ => {
            json!({"apiVersion": version, "kind": "RoleBinding", "metadata": {"name": name, "namespace": namespace}, "roleRef": of, "subjects": subject})
        }
    };
    vec![
        json!({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"apiGroups": [rule.group], "resources": [resource], "verbs": rule.verbs}]}),
        binding,
    ]
}

fn yaml(objects: &[Value]) -> String {
    objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
}

fn rules() -> impl Iterator<Item = (&'static RbacRule, &'static str)> {
    RULES
        .iter()
        .filter(|rule| !rule.named && rule.feature != DRILL)
        .flat_map(|rule| rule.resources.iter().map(move |resource| (rule, *resource)))
}

impl Site {
    async fn new(cluster: &'static Cluster) -> Self {
        cluster.install_kind("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules", true).await.unwrap();
        cluster.apply(&snapshot_kind().to_string()).await.unwrap();
        let established = |of: Option<&Value>| {
            of.and_then(|of| of["status"]["conditions"].as_array())
                .is_some_and(|all| all.iter().any(|row| row["type"] == "Established" && row["status"] == "True"))
        };
        let (api, kind, name) =
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "volumesnapshots.snapshot.storage.k8s.io");
        cluster.wait_for(api, kind, "", name, LIMIT, established).await.unwrap();
        let namespace = cluster.fresh_namespace("cnpg-looks").await.unwrap();
        let ns = namespace.as_str();
        let mut db = super::scene::cluster(ns, "keycloak-db");
        db["spec"]["bootstrap"] = json!({"recovery": {"volumeSnapshots": {"storage": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "snap"}}}});
        db["status"]["conditions"][0]["status"] = json!("False");
        db["metadata"].as_object_mut().unwrap().remove("uid");
        let mut store = object_store(ns, "r2", "s3://dr-backups/cnpg");
        store["apiVersion"] = json!("barmancloud.cnpg.io/v1");
        store["kind"] = json!("ObjectStore");
        store["metadata"].as_object_mut().unwrap().remove("generation");
        let labels = json!({"cnpg.io/cluster": "keycloak-db", "cnpg.io/instanceRole": "primary", "cnpg.io/pvcRole": "PG_DATA", "cnpg.io/instanceName": "keycloak-db-1"});
        let mut objects = vec![
            db,
            store,
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "looks", "namespace": ns}}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "keycloak-db-1", "namespace": ns, "labels": labels},
                "spec": {"containers": [{"name": "postgres", "image": "nobody/pulls-this"}]}}),
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "keycloak-db-1", "namespace": ns, "labels": labels},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}}),
            json!({"apiVersion": "postgresql.cnpg.io/v1", "kind": "ScheduledBackup", "metadata": {"name": "nightly", "namespace": ns},
                "spec": {"schedule": "0 0 3 * * *", "cluster": {"name": "keycloak-db"}}}),
        ];
        objects.extend(rules().flat_map(|(rule, resource)| role(ns, rule, resource)));
        cluster.apply(&yaml(&objects)).await.unwrap();
        let running = |pod: Option<&Value>| pod.is_some_and(|pod| pod["status"]["phase"] == "Running");
        let pod = cluster.wait_for("v1", "Pod", ns, "keycloak-db-1", LIMIT, running).await.unwrap().unwrap();
        let exporter = Exporter::start(Values::of("keycloak-db")).unwrap();
        cluster.route(pod["status"]["podIP"].as_str().unwrap(), 9187, exporter.port());
        cluster.kubelet().set_volume(ns, "keycloak-db-1", "pgdata", "keycloak-db-1", Usage::of(1000, 250));
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        std::fs::write(&log, "2026-11-30T15:00:00.000000001Z stdout F FATAL:  could not write\n").unwrap();
        cluster.log_file(ns, "keycloak-db-1", "postgres", &log).await.unwrap();
        let token = cluster.token(ns, "looks").await.unwrap();
        let kubeconfig = cluster.kubeconfig_for(&token).unwrap();
        Self { cluster, namespace, kubeconfig, _exporter: exporter, _folder: folder }
    }

    fn live(&self) -> Arc<LiveKube> {
        let access = KubeAccess { kubeconfig: Some(self.kubeconfig.clone()), context: None };
        Arc::new(LiveKube::new(access, KubeLimits { attempts: 1, ..KubeLimits::default() }))
    }

    fn settings(&self) -> CnpgSettings {
        let mut settings = settings();
        settings.namespaces = vec![self.namespace.clone()];
        settings.reads = [Reads::Exporter, Reads::Kubelet, Reads::Logs].into();
        settings
    }

    async fn look(&self, kube: Arc<dyn KubeCalls>) -> Observation {
        use dalsegno::domain::Observe;
        CnpgClusters::new(self.settings(), atlas(), kube).observe(&cx(now()), &Known::default()).await
    }

    /// Looks until it is as it should be: rights are cached by the server for a moment, and kwok learns of logs by a watch.
    async fn look_until(&self, ready: impl Fn(&Observation) -> bool) -> Observation {
        let until = Instant::now() + LIMIT;
        loop {
            let seen = self.look(self.live()).await;
            if ready(&seen) || Instant::now() > until {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn give(&self, rule: &RbacRule, resource: &str) {
        self.cluster.apply(&yaml(&role(&self.namespace, rule, resource))).await.unwrap();
    }

    async fn take(&self, rule: &RbacRule, resource: &str) {
        let name = role_name(&self.namespace, rule, resource);
        let (kind, namespace) = match rule.scope {
            RbacScope::Cluster => ("ClusterRoleBinding", ""),
            _ => ("RoleBinding", self.namespace.as_str()),
        };
        self.cluster.delete("rbac.authorization.k8s.io/v1", kind, namespace, &name).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_rights_of_the_table_a_look_is_whole_and_each_one_that_is_taken_away_is_named() {
    let Some(cluster) = cluster_or_skip("cnpg: rights").await else { return };
    let site = Site::new(cluster).await;
    let whole = site.look_until(|seen| seen.gaps.is_empty()).await;
    assert!(whole.gaps.is_empty(), "{:?}", whole.gaps);
    let fact = the_cluster(&whole);
    assert_eq!(fact.pods.as_ref().unwrap()[0].log.as_deref(), Some(&["FATAL:  could not write".to_owned()][..]));
    assert_eq!(sample(&whole, "exporter_up"), Some(1.0));
    assert_eq!(sample(&whole, "wal_volume_available_bytes"), Some(250.0));
    assert_eq!(fact.schedules.as_ref().unwrap().len(), 1);
    for (rule, resource) in rules() {
        site.take(rule, resource).await;
        let seen = site.look_until(|seen| !seen.gaps.is_empty()).await;
        let words = format!("{} {resource}", rule.verbs[0]);
        let plain = resource.split('/').next().unwrap();
        assert!(!seen.gaps.is_empty(), "{words}: taken away, and nobody noticed");
        for gap in &seen.gaps {
            assert!(matches!(gap.why, Denied::Denied { .. }), "{words}: {gap:?}");
            assert!(gap.hint.contains(rule.verbs[0]) && gap.hint.contains(plain), "{words}: {}", gap.hint);
            assert!(gap.hint.contains(&format!("system:serviceaccount:{}:looks", site.namespace)), "{}", gap.hint);
            assert_eq!(gap.code.as_deref(), Some("Forbidden"));
        }
        site.give(rule, resource).await;
        site.look_until(|seen| seen.gaps.is_empty()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_of_a_real_server_is_seen_again() {
    let Some(cluster) = cluster_or_skip("cnpg: recording").await else { return };
    let site = Site::new(cluster).await;
    site.look_until(|seen| seen.gaps.is_empty()).await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("r");
    let mut recorder = Recorder::create(&root, "home").unwrap();
    let pass = recorder.pass(now()).unwrap();
    let live = site.look(pass.kube("k3s", site.live(), Arc::new(KeepCnpg))).await;
    pass.finish().unwrap();
    recorder.finish().unwrap();
    let replayed = site.look(Recording::open(&root).unwrap().passes().next().unwrap().kube("k3s").unwrap()).await;
    assert!(live.gaps.is_empty(), "{:?}", live.gaps);
    assert_eq!(live, replayed);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_is_rude_slow_or_gone_is_told_apart() {
    let Some(cluster) = cluster_or_skip("cnpg: faults").await else { return };
    let namespace = cluster.fresh_namespace("cnpg-faults").await.unwrap();
    let maps: Vec<Value> = (0..5)
        .map(|index| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{index}"), "namespace": namespace}}))
        .collect();
    cluster.apply(&yaml(&maps)).await.unwrap();
    let front = cluster.front().unwrap();
    let access = KubeAccess { kubeconfig: Some(front.kubeconfig()), context: None };
    let limits = KubeLimits { call: Duration::from_secs(2), ..KubeLimits::default() };
    let kube = LiveKube::new(access, limits);
    let of = Resource::new("", "v1", "configmaps");
    let ask = KubeAsk { namespace: Some(namespace), limit: Some(2), ..KubeAsk::default() };
    let whole = list_whole(&kube, &of, &ask, 100).await.unwrap().len();
    assert!(whole >= 5, "{whole}");

    for fault in [
        ApiFault::next(1, "GET", "*continue=*", Say::Gone),
        ApiFault::next(1, "GET", "*", Say::TooMany(1)),
        ApiFault::next(1, "GET", "*", Say::Unauthorized),
        ApiFault::next(1, "GET", "*", Say::Drop),
        ApiFault::next(2, "GET", "*", Say::Status(503, "ServiceUnavailable".into(), "apiserver not ready".into())),
        ApiFault::next(1, "GET", "*", Say::Late(Duration::from_millis(300))),
    ] {
        front.mend();
        front.fault(fault.clone());
        let items = list_whole(&kube, &of, &ask, 100).await;
        assert_eq!(items.map(|items| items.len()), Ok(whole), "{fault:?} passes");
    }
    for (fault, kind, status) in [
        (Say::Gone, FailureKind::Answered, Some(410)),
        (Say::Unauthorized, FailureKind::Answered, Some(401)),
        (Say::Forbidden, FailureKind::Answered, Some(403)),
        (Say::TooMany(60), FailureKind::Answered, Some(429)),
        (Say::Hang, FailureKind::Timeout, None),
    ] {
        front.mend();
        front.fault(ApiFault::always("GET", "*", fault.clone()));
        let error = list_whole(&kube, &of, &ask, 100).await.unwrap_err();
        assert_eq!((error.kind, error.status), (kind, status), "{fault:?}: {error}");
    }
    front.mend();
    front.link().set(Mode::Refuse);
    let error = list_whole(&kube, &of, &ask, 100).await.unwrap_err();
    assert!(matches!(error.kind, FailureKind::Refused | FailureKind::Reset), "{error}");
    front.link().set(Mode::Pass);
    assert_eq!(list_whole(&kube, &of, &ask, 100).await.unwrap().len(), whole, "it comes back");
}

/// CRDs that go while others look: a cluster of its own.
#[tokio::test(flavor = "multi_thread")]
async fn kinds_that_are_not_there_are_silence_and_kinds_that_went_are_a_gap() {
    use dalsegno::domain::Observe;
    for tool in [Tool::Kube, Tool::Kwok] {
        if need("cnpg: kinds", tool).is_none() {
            return;
        }
    }
    let cluster = Cluster::start().await.unwrap();
    let access = KubeAccess { kubeconfig: Some(cluster.kubeconfig()), context: None };
    let observer = CnpgClusters::new(settings(), atlas(), Arc::new(LiveKube::new(access, KubeLimits::default())));
    let first = observer.observe(&cx(now()), &Known::default()).await;
    assert!(first.gaps.is_empty() && site(&first).adopted, "{:?}", first.gaps);
    let known = Known { memory: first.memory.clone(), ..Known::default() };
    cluster.remove_kind("barmancloud.cnpg.io", "objectstores").await.unwrap();
    let seen = observer.observe(&cx(now()), &known).await;
    assert!(
        seen.gaps.iter().any(|gap| gap.why == Denied::AbsentApi && gap.detail.contains("barmancloud.cnpg.io")),
        "{:?}",
        seen.gaps
    );
    for plural in ["clusters", "backups", "scheduledbackups"] {
        cluster.remove_kind("postgresql.cnpg.io", plural).await.unwrap();
    }
    let seen = observer.observe(&cx(now()), &known).await;
    assert_eq!(
        seen.gaps.iter().map(|gap| (gap.what, gap.why.clone())).collect::<Vec<_>>(),
        [(FactKind::CnpgSite, Denied::AbsentApi)]
    );
    let fresh = observer.observe(&cx(now()), &Known::default()).await;
    assert!(fresh.gaps.is_empty() && !site(&fresh).adopted, "{:?}", fresh.gaps);
}
