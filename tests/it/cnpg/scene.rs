//! An API server that answers from a table, and what a site with CNPG looks like.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use dalsegno::domain::{
    CnpgFact, CnpgSiteFact, ConfiguredLocation, Fact, Gap, Known, KubeId, KubeName, Observation, Observe, StoreId, Subject,
    SubjectKind,
};
use dalsegno::providers::cnpg::CnpgClusters;
use dalsegno::providers::cnpg::config::{CnpgSettings, Reads};
use dalsegno::providers::cnpg::locate::{Atlas, KnownDatabase, KnownStore};
use dalsegno::providers::kubernetes::config::KubernetesSettings;
use dalsegno::tap::{CallError, FailureKind, KubeAbout, KubeAsk, KubeCalls, KubeCounts, KubePage, Resource};
use serde_json::{Value, json};

pub(crate) use crate::conductor::scene::{cx, now};

/// Answers from tables; a page holds `page` objects.
#[derive(Default)]
pub(crate) struct FakeKube {
    pub(crate) groups: Mutex<BTreeMap<String, Vec<String>>>,
    pub(crate) objects: Mutex<BTreeMap<String, Vec<Value>>>,
    /// By plural (or `logs`, `pods/proxy`, `nodes/proxy`, `apis`): what the call fails with.
    pub(crate) broken: Mutex<BTreeMap<String, CallError>>,
    pub(crate) metrics: Mutex<BTreeMap<String, String>>,
    pub(crate) logs: Mutex<BTreeMap<String, String>>,
    pub(crate) kubelets: Mutex<BTreeMap<String, Value>>,
    pub(crate) page: usize,
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) calls: AtomicU64,
}

pub(crate) fn forbidden(what: &str) -> CallError {
    let user = "system:serviceaccount:dalsegno:dalsegno";
    let detail = format!("{what} is forbidden: User \"{user}\" cannot list resource \"{what}\" in API group \"\"");
    CallError::answered(403, Some("Forbidden".to_owned()), detail)
}

impl FakeKube {
    pub(crate) fn new() -> Self {
        let served = ["postgresql.cnpg.io", "barmancloud.cnpg.io", "monitoring.coreos.com", "storage.k8s.io", "batch"];
        let groups = served.iter().map(|group| ((*group).to_owned(), vec!["v1".to_owned()])).collect();
        Self { groups: Mutex::new(groups), page: 500, ..Self::default() }
    }

    pub(crate) fn put(&self, plural: &str, object: Value) {
        self.objects.lock().unwrap().entry(plural.to_owned()).or_default().push(object);
    }

    pub(crate) fn with(self, plural: &str, object: Value) -> Self {
        self.put(plural, object);
        self
    }

    pub(crate) fn breaks(&self, what: &str, error: CallError) {
        self.broken.lock().unwrap().insert(what.to_owned(), error);
    }

    fn check(&self, what: &str) -> Result<(), CallError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.asked.lock().unwrap().push(what.to_owned());
        self.broken.lock().unwrap().get(what).map_or(Ok(()), |error| Err(error.clone()))
    }
}

#[async_trait]
impl KubeCalls for FakeKube {
    async fn about(&self) -> Result<KubeAbout, CallError> {
        self.check("apis")?;
        Ok(KubeAbout { version: "v1.33.1".to_owned(), groups: self.groups.lock().unwrap().clone() })
    }

    async fn list(&self, of: &Resource, ask: &KubeAsk) -> Result<KubePage, CallError> {
        self.check(&of.plural)?;
        let all = self.objects.lock().unwrap().get(&of.plural).cloned().unwrap_or_default();
        let mine = |object: &Value| ask.namespace.as_ref().is_none_or(|of| object["metadata"]["namespace"] == **of);
        let all: Vec<Value> = all.into_iter().filter(mine).collect();
        let from: usize = ask.token.as_deref().map_or(0, |token| token.parse().unwrap());
        let next = (from + self.page < all.len()).then(|| (from + self.page).to_string());
        Ok(KubePage { items: all.into_iter().skip(from).take(self.page).collect(), next })
    }

    async fn get(&self, of: &Resource, namespace: Option<&str>, name: &str) -> Result<Value, CallError> {
        self.check(&of.plural)?;
        let all = self.objects.lock().unwrap().get(&of.plural).cloned().unwrap_or_default();
        let found = all.into_iter().find(|object| {
            object["metadata"]["name"] == name && namespace.is_none_or(|of| object["metadata"]["namespace"] == of)
        });
        found.ok_or_else(|| CallError::answered(404, Some("NotFound".to_owned()), format!("{} \"{name}\" not found", of.plural)))
    }

    async fn log(&self, _: &str, pod: &str, container: &str, _: u32) -> Result<String, CallError> {
        self.check("logs")?;
        Ok(self.logs.lock().unwrap().get(&format!("{pod}/{container}")).cloned().unwrap_or_default())
    }

    async fn pod_proxy(&self, _: &str, pod: &str, port: &str, _: &str) -> Result<Bytes, CallError> {
        self.check("pods/proxy")?;
        let text = self.metrics.lock().unwrap().get(&format!("{pod}:{port}")).cloned();
        text.map(Bytes::from).ok_or_else(|| CallError::answered(503, None, "no endpoints available"))
    }

    async fn node_proxy(&self, node: &str, _: &str) -> Result<Bytes, CallError> {
        self.check("nodes/proxy")?;
        Ok(Bytes::from(self.kubelets.lock().unwrap().get(node).cloned().unwrap_or_default().to_string()))
    }

    fn counts(&self) -> KubeCounts {
        KubeCounts { pages: self.calls.load(Ordering::Relaxed), ..KubeCounts::default() }
    }
}

pub(crate) fn settings() -> CnpgSettings {
    let kubernetes = KubernetesSettings {
        id: KubeId("k3s".into()),
        subject: cluster_subject(),
        site: "home".into(),
        environment: "prod".into(),
        kubeconfig: None,
        context: None,
    };
    CnpgSettings { reads: [Reads::Exporter, Reads::Logs].into(), ..CnpgSettings::bare(kubernetes) }
}

pub(crate) fn cluster_subject() -> Subject {
    Subject::new(SubjectKind::Cluster, &["home", "k3s"])
}

pub(crate) fn pg(name: &str) -> Subject {
    Subject::new(SubjectKind::Pg, &["home", "prod", name])
}

pub(crate) const ENDPOINT: &str = "https://acct.r2.cloudflarestorage.com";

pub(crate) fn r2() -> KnownStore {
    KnownStore {
        id: StoreId("r2".into()),
        subject: Subject::new(SubjectKind::Store, &["home", "r2"]),
        endpoint: ENDPOINT.into(),
        bucket: "dr-backups".into(),
    }
}

pub(crate) fn configured(name: &str, path: &str, server: &str) -> KnownDatabase {
    KnownDatabase {
        name: name.into(),
        subject: pg(name),
        location: ConfiguredLocation {
            spelt_in: format!("postgres.{name}.archive"),
            store: StoreId("r2".into()),
            endpoint: ENDPOINT.into(),
            bucket: "dr-backups".into(),
            path: path.into(),
            server: server.into(),
        },
        cluster: None,
    }
}

pub(crate) fn atlas() -> Atlas {
    Atlas { stores: vec![r2()], ..Atlas::default() }
}

/// A Cluster that archives through the plugin to ObjectStore `r2` of its namespace.
pub(crate) fn cluster(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster",
        "metadata": {"name": name, "namespace": namespace, "uid": format!("uid-{namespace}-{name}"), "creationTimestamp": "2026-05-01T00:00:00Z"},
        "spec": {
            "instances": 1,
            "imageName": "ghcr.io/cloudnative-pg/postgresql:17.5-standard-bookworm",
            "storage": {"size": "10Gi"},
            "plugins": [{"name": "barman-cloud.cloudnative-pg.io", "isWALArchiver": true, "parameters": {"barmanObjectName": "r2"}}],
        },
        "status": {
            "phase": "Cluster in healthy state", "readyInstances": 1, "currentPrimary": format!("{name}-1"), "targetPrimary": format!("{name}-1"),
            "systemID": "7713983393355418124", "timelineID": 1,
            "conditions": [{"type": "ContinuousArchiving", "status": "True", "reason": "ContinuousArchivingSuccess", "message": "Continuous archiving is working", "lastTransitionTime": "2026-05-01T00:10:00Z"}],
        },
    })
}

pub(crate) fn object_store(namespace: &str, name: &str, destination: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": namespace, "generation": 2},
        "spec": {
            "configuration": {
                "destinationPath": destination, "endpointURL": ENDPOINT,
                "s3Credentials": {"accessKeyId": {"name": "r2-keys", "key": "ID"}, "secretAccessKey": {"name": "r2-keys", "key": "SECRET"}},
            },
            "retentionPolicy": "30d",
        },
    })
}

pub(crate) fn pod(namespace: &str, cluster: &str) -> Value {
    json!({
        "metadata": {"name": format!("{cluster}-1"), "namespace": namespace, "uid": "p1", "labels": {"cnpg.io/cluster": cluster, "cnpg.io/instanceRole": "primary"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "postgres"}], "initContainers": [{"name": "plugin-barman-cloud", "env": [{"name": "AWS_REQUEST_CHECKSUM_CALCULATION", "value": "when_required"}, {"name": "AWS_SECRET_ACCESS_KEY", "value": "planted-secret"}]}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [{"name": "postgres", "restartCount": 2, "state": {"running": {"startedAt": "2026-11-01T00:00:00Z"}}}]},
    })
}

/// One Cluster with its ObjectStore and primary, nothing wrong.
pub(crate) fn healthy() -> FakeKube {
    let kube = FakeKube::new()
        .with("clusters", cluster("keycloak", "keycloak-db"))
        .with("objectstores", object_store("keycloak", "r2", "s3://dr-backups/cnpg/"))
        .with("pods", pod("keycloak", "keycloak-db"));
    kube.metrics.lock().unwrap().insert("keycloak-db-1:9187".into(), METRICS.into());
    kube
}

pub(crate) const METRICS: &str = "\
# HELP cnpg_collector_up 1 if PostgreSQL is up, 0 otherwise.
# TYPE cnpg_collector_up gauge
cnpg_collector_up{cluster=\"keycloak-db\"} 1
cnpg_collector_pg_wal{value=\"count\"} 10
cnpg_collector_pg_wal{value=\"size\"} 1.6777216e+08
cnpg_collector_pg_wal{value=\"keep\"} 32
cnpg_collector_pg_wal{value=\"volume_size\"} NaN
cnpg_collector_pg_wal_archive_status{value=\"ready\"} 3
cnpg_collector_pg_wal_archive_status{value=\"done\"} 7
cnpg_pg_stat_archiver_archived_count 51000
cnpg_pg_stat_archiver_failed_count 0
cnpg_pg_stat_archiver_last_failed_time -1
cnpg_pg_stat_archiver_seconds_since_last_archival 2
cnpg_pg_stat_archiver_last_archived_wal_start_lsn 3.221225472e+09
cnpg_pg_replication_slots_pg_wal_lsn_diff{slot_name=\"a\",slot_type=\"physical\"} 100
cnpg_pg_replication_slots_pg_wal_lsn_diff{slot_name=\"b\",slot_type=\"logical\"} 2000
go_goroutines 12
";

pub(crate) async fn look(kube: &Arc<FakeKube>, settings: CnpgSettings, atlas: Atlas, known: &Known) -> Observation {
    CnpgClusters::new(settings, atlas, Arc::clone(kube) as Arc<dyn KubeCalls>).observe(&cx(now()), known).await
}

pub(crate) async fn look_at(kube: FakeKube) -> Observation {
    look(&Arc::new(kube), settings(), atlas(), &Known::default()).await
}

pub(crate) fn clusters(seen: &Observation) -> Vec<&CnpgFact> {
    seen.facts.iter().filter_map(|fact| if let Fact::Cnpg(fact) = fact { Some(fact.as_ref()) } else { None }).collect()
}

pub(crate) fn the_cluster(seen: &Observation) -> &CnpgFact {
    let all = clusters(seen);
    assert_eq!(all.len(), 1, "{seen:?}");
    all[0]
}

pub(crate) fn site(seen: &Observation) -> &CnpgSiteFact {
    let found = seen.facts.iter().find_map(|fact| if let Fact::CnpgSite(fact) = fact { Some(fact.as_ref()) } else { None });
    found.unwrap_or_else(|| panic!("no fact of the site: {:?}", seen.gaps))
}

pub(crate) fn sample(seen: &Observation, metric: &str) -> Option<f64> {
    seen.facts.iter().find_map(|fact| match fact {
        Fact::Sample(sample) if sample.metric == metric => Some(sample.value),
        _ => None,
    })
}

pub(crate) fn details(gaps: &[Gap]) -> Vec<&str> {
    gaps.iter().map(|gap| gap.detail.as_str()).collect()
}

pub(crate) fn name(namespace: &str, name: &str) -> KubeName {
    KubeName::new(namespace, name)
}

pub(crate) fn down() -> CallError {
    CallError::new(FailureKind::Refused, "tcp connect error: Connection refused")
}
