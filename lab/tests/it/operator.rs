//! The actor that stands for CNPG's operator does honest work: what it says is so.

use std::time::Duration;

use lab::cnpg::{Actor, Behaviour};
use lab::kube::Cluster;
use lab::seaweed::Seaweed;
use lab::{Tool, exposition, need};
use serde_json::{Value, json};

const CNPG: &str = "postgresql.cnpg.io/v1";
const LIMIT: Duration = Duration::from_secs(90);

struct Stage {
    cluster: &'static Cluster,
    actor: &'static Actor,
    weed: &'static Seaweed,
    bucket: String,
    ns: String,
}

async fn stage(name: &str) -> Option<Stage> {
    for tool in [Tool::Kube, Tool::Kwok, Tool::Seaweed, Tool::Barman, Tool::Postgres(16)] {
        need("lab::operator", tool)?;
    }
    let (cluster, actor) = (lab::kube::shared().await.unwrap(), lab::cnpg::shared().await.unwrap());
    let weed = lab::seaweed::shared().await.unwrap();
    let bucket = weed.fresh_bucket().await.unwrap();
    let ns = cluster.fresh_namespace(name).await.unwrap();
    actor.serve(&ns);
    let keys = weed.keys().admin();
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: keys, namespace: {ns}}}\nstringData: {{id: {}, secret: {}}}\n",
        keys.id, keys.secret
    );
    cluster.apply(&secret).await.unwrap();
    Some(Stage { cluster, actor, weed, bucket, ns })
}

impl Stage {
    fn store(&self) -> Value {
        json!({
            "destinationPath": format!("s3://{}/cnpg", self.bucket), "endpointURL": self.weed.endpoint(),
            "s3Credentials": {"accessKeyId": {"name": "keys", "key": "id"}, "secretAccessKey": {"name": "keys", "key": "secret"}},
            "wal": {"compression": "gzip"},
        })
    }

    async fn cluster_object(&self, name: &str, spec: Value) {
        let mut whole = json!({
            "apiVersion": CNPG, "kind": "Cluster", "metadata": {"name": name, "namespace": self.ns},
            "spec": {"instances": 1, "storage": {"size": "1Gi"}, "bootstrap": {"initdb": {"walSegmentSize": 1}}},
        });
        for (key, value) in spec.as_object().unwrap() {
            whole["spec"][key] = value.clone();
        }
        self.cluster.apply(&whole.to_string()).await.unwrap();
    }

    async fn wait(&self, kind: &str, name: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let found = self.cluster.wait_for(CNPG, kind, &self.ns, name, LIMIT, |o| o.is_some_and(&wanted)).await;
        found.unwrap_or_else(|e| panic!("{what}: {e}; {:?}", self.actor.errors())).unwrap()
    }

    async fn wait_condition(&self, name: &str, kind: &str, status: &str) -> Value {
        self.wait("Cluster", name, kind, |o| condition(o, kind).is_some_and(|c| c["status"] == status)).await
    }
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object.pointer("/status/conditions")?.as_array()?.iter().find(|c| c["type"] == kind)
}

#[tokio::test]
async fn a_cluster_in_the_tree_archives_backs_up_and_is_recovered_and_taken_away() {
    let Some(stage) = stage("tree").await else { return };
    stage.cluster_object("pg-main", json!({"backup": {"barmanObjectStore": stage.store()}, "enableSuperuserAccess": true})).await;
    let instance = stage.actor.wait_instance(&stage.ns, "pg-main", LIMIT).await.unwrap();
    let ready = stage.wait_condition("pg-main", "Ready", "True").await;
    assert_eq!(ready["status"]["phase"], "Cluster in healthy state");
    assert_eq!(ready["status"]["systemID"], instance.postgres().await.system_id().await.unwrap());
    instance.postgres().await.write_accounts(100).await.unwrap();
    instance.postgres().await.switch_and_wait_archived().await.unwrap();
    stage.wait_condition("pg-main", "ContinuousArchiving", "True").await;
    assert!(!stage.weed.client().keys(&stage.bucket, "cnpg/pg-main/wals/").await.unwrap().is_empty());

    let backup = json!({
        "apiVersion": CNPG, "kind": "Backup", "metadata": {"name": "now", "namespace": stage.ns}, "spec": {"cluster": {"name": "pg-main"}},
    });
    stage.cluster.apply(&backup.to_string()).await.unwrap();
    let done = stage.wait("Backup", "now", "the backup ends", |o| o["status"]["phase"] == "completed").await;
    let id = done["status"]["backupId"].as_str().unwrap();
    assert!(stage.weed.client().head(&stage.bucket, &format!("cnpg/pg-main/base/{id}/backup.info")).await.unwrap().is_some());
    assert_eq!(done["status"]["beginWal"].as_str().unwrap().len(), 24);
    instance.postgres().await.write_accounts(50).await.unwrap();
    instance.postgres().await.switch_and_wait_archived().await.unwrap();

    // The exporter by way of the API server, with the server's own numbers.
    let path = format!("/api/v1/namespaces/{}/pods/pg-main-1:9187/proxy/metrics", stage.ns);
    let request = axum::http::Request::get(path).body(Vec::new()).unwrap();
    let text = stage.cluster.client().await.unwrap().request_text(request).await.unwrap();
    let samples = exposition::parse(&text).unwrap();
    assert!(samples.iter().any(|s| s.name == "cnpg_pg_stat_archiver_archived_count" && s.value >= 2.0), "{text}");

    let external = json!([{"name": "src", "barmanObjectStore": {
        "serverName": "pg-main", "destinationPath": stage.store()["destinationPath"], "endpointURL": stage.weed.endpoint(),
        "s3Credentials": stage.store()["s3Credentials"],
    }}]);
    stage
        .cluster_object(
            "drill",
            json!({"bootstrap": {"recovery": {"source": "src"}}, "externalClusters": external, "enableSuperuserAccess": true}),
        )
        .await;
    stage.wait_condition("drill", "Ready", "True").await;
    let drilled = stage.actor.instance(&stage.ns, "drill").unwrap();
    assert_eq!(drilled.postgres().await.value("select count(*)::text from accounts").await.unwrap(), "150");
    let job = stage.cluster.get("batch/v1", "Job", &stage.ns, "drill-1-full-recovery").await.unwrap().unwrap();
    assert_eq!(job["status"]["succeeded"], 1);
    let object = stage.cluster.get(CNPG, "Cluster", &stage.ns, "drill").await.unwrap().unwrap();
    assert_eq!(object["status"]["timelineID"], 2);
    assert_eq!(object["status"]["systemID"], ready["status"]["systemID"]);
    through_the_port_forward(&stage).await;

    stage.cluster.delete(CNPG, "Cluster", &stage.ns, "drill").await.unwrap();
    drop(drilled);
    for (version, kind, name) in
        [("v1", "Pod", "drill-1"), ("v1", "PersistentVolumeClaim", "drill-1"), ("batch/v1", "Job", "drill-1-full-recovery")]
    {
        stage.cluster.wait_for(version, kind, &stage.ns, name, LIMIT, |o| o.is_none()).await.unwrap();
    }
    assert!(stage.cluster.get("v1", "Pod", &stage.ns, "pg-main-1").await.unwrap().is_some(), "the twin stays");
    assert!(stage.actor.instance(&stage.ns, "drill").is_none());
}

/// As a drill does: the superuser's Secret, a local port, the API server's port-forward, SQL.
async fn through_the_port_forward(stage: &Stage) {
    use k8s_openapi::api::core::v1::{Pod, Secret};
    let client = stage.cluster.client().await.unwrap();
    let secrets: kube::Api<Secret> = kube::Api::namespaced(client.clone(), &stage.ns);
    let data = secrets.get("drill-superuser").await.unwrap().data.unwrap();
    let password = String::from_utf8(data["password"].0.clone()).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let pods: kube::Api<Pod> = kube::Api::namespaced(client, &stage.ns);
    let carried = tokio::spawn(async move {
        loop {
            let (mut local, _) = listener.accept().await.unwrap();
            let mut forward = pods.portforward("drill-1", &[5432]).await.unwrap();
            let mut stream = forward.take_stream(5432).unwrap();
            tokio::spawn(async move {
                let _ = tokio::io::copy_bidirectional(&mut local, &mut stream).await;
            });
        }
    });
    let ask = async |password: &str| {
        let options = sqlx::postgres::PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(port)
            .username("postgres")
            .password(password)
            .database("postgres");
        let mut connection = <sqlx::PgConnection as sqlx::Connection>::connect_with(&options).await?;
        let one: Result<String, sqlx::Error> =
            sqlx::query_scalar("select count(*)::text from accounts").fetch_one::<&mut sqlx::PgConnection>(&mut connection).await;
        one
    };
    assert_eq!(ask(&password).await.unwrap(), "150");
    assert!(ask("wrong").await.is_err());
    carried.abort();
}

#[tokio::test]
async fn a_cluster_of_the_plugin_says_when_its_archive_fails_and_when_not() {
    let Some(stage) = stage("plugin").await else { return };
    let store = json!({
        "apiVersion": "barmancloud.cnpg.io/v1", "kind": "ObjectStore", "metadata": {"name": "store", "namespace": stage.ns},
        "spec": {"configuration": stage.store()},
    });
    stage.cluster.apply(&store.to_string()).await.unwrap();
    let plugins = json!([{
        "name": "barman-cloud.cloudnative-pg.io", "isWALArchiver": true, "parameters": {"barmanObjectName": "store", "serverName": "other"},
    }]);
    stage.cluster_object("pg", json!({"plugins": plugins, "walStorage": {"size": "200Mi"}})).await;
    let instance = stage.actor.wait_instance(&stage.ns, "pg", LIMIT).await.unwrap();
    instance.postgres().await.switch_and_wait_archived().await.unwrap();
    stage.wait_condition("pg", "ContinuousArchiving", "True").await;
    assert!(!stage.weed.client().keys(&stage.bucket, "cnpg/other/wals/").await.unwrap().is_empty());
    let pod = stage.cluster.get("v1", "Pod", &stage.ns, "pg-1").await.unwrap().unwrap();
    assert_eq!(pod["spec"]["initContainers"][0]["restartPolicy"], "Always");

    let backup = json!({
        "apiVersion": CNPG, "kind": "Backup", "metadata": {"name": "first", "namespace": stage.ns},
        "spec": {"cluster": {"name": "pg"}, "method": "plugin", "pluginConfiguration": {"name": "barman-cloud.cloudnative-pg.io"}},
    });
    stage.cluster.apply(&backup.to_string()).await.unwrap();
    stage.wait("Backup", "first", "the backup ends", |o| o["status"]["phase"] == "completed").await;
    let store = stage.cluster.get("barmancloud.cnpg.io/v1", "ObjectStore", &stage.ns, "store").await.unwrap().unwrap();
    assert!(store.pointer("/status/serverRecoveryWindow/other/lastSuccessfulBackupTime").is_some(), "{store}");

    stage.actor.behave(&stage.ns, "pg", Behaviour::ArchiverBroken);
    tokio::time::sleep(Duration::from_secs(2)).await;
    instance.postgres().await.write_segments(3).await.unwrap();
    stage.wait_condition("pg", "ContinuousArchiving", "False").await;
    let until = std::time::Instant::now() + LIMIT;
    while instance.exporter().values().ready < 3 {
        assert!(std::time::Instant::now() < until, "{:?}", instance.exporter().values());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    stage.actor.behave(&stage.ns, "pg", Behaviour::BackupsFail("as told".into()));
    let second = backup.to_string().replace("first", "second");
    stage.cluster.apply(&second).await.unwrap();
    let failed = stage.wait("Backup", "second", "the backup fails", |o| o["status"]["phase"] == "failed").await;
    assert!(failed["status"]["error"].as_str().unwrap().contains("as told"));
    stage.wait_condition("pg", "LastBackupSucceeded", "False").await;
    stage.actor.mend(&stage.ns, "pg");
    stage.wait_condition("pg", "ContinuousArchiving", "True").await;

    // The kubelet's numbers are of the two volumes.
    let path = format!("/api/v1/nodes/{}/proxy/stats/summary", lab::kube::NODE);
    let request = axum::http::Request::get(path).body(Vec::new()).unwrap();
    let said: Value = stage.cluster.client().await.unwrap().request(request).await.unwrap();
    let pods = said["pods"].as_array().unwrap();
    let mine = pods.iter().find(|p| p["podRef"]["namespace"] == stage.ns.as_str()).unwrap();
    let volumes = mine["volume"].as_array().unwrap();
    assert_eq!(volumes.len(), 2);
    let wal = volumes.iter().find(|v| v["pvcRef"]["name"] == "pg-1-wal").unwrap();
    assert_eq!(wal["capacityBytes"], 200 * 1024 * 1024);
    assert!(wal["usedBytes"].as_u64().unwrap() >= 1024 * 1024);
}

#[tokio::test]
async fn a_recovery_that_fails_shows_in_its_job_and_one_that_is_stuck_in_its_condition() {
    let Some(stage) = stage("bad").await else { return };
    stage.actor.behave(&stage.ns, "never", Behaviour::RecoveryFails("WAL ends before end of online backup".into()));
    let external = json!([{"name": "src", "barmanObjectStore": stage.store()}]);
    stage.cluster_object("never", json!({"bootstrap": {"recovery": {"source": "src"}}, "externalClusters": external})).await;
    let failed = |job: Option<&Value>| job.is_some_and(|j| j["status"]["failed"].as_u64().unwrap_or(0) >= 2);
    stage.cluster.wait_for("batch/v1", "Job", &stage.ns, "never-1-full-recovery", LIMIT, failed).await.unwrap();
    let object = stage.cluster.get(CNPG, "Cluster", &stage.ns, "never").await.unwrap().unwrap();
    assert_eq!(object["status"]["phase"], "Setting up primary");
    let pods = stage.cluster.list("v1", "Pod", &stage.ns).await.unwrap();
    assert!(pods.iter().any(|p| p["status"]["phase"] == "Failed"), "{pods:?}");
    stage.cluster.delete(CNPG, "Cluster", &stage.ns, "never").await.unwrap();

    // The same with a real cause: the archive is empty.
    let external = json!([{"name": "src", "barmanObjectStore": stage.store()}]);
    stage.cluster_object("empty", json!({"bootstrap": {"recovery": {"source": "src"}}, "externalClusters": external})).await;
    let failed = |job: Option<&Value>| job.is_some_and(|j| j["status"]["failed"].as_u64().unwrap_or(0) >= 1);
    stage.cluster.wait_for("batch/v1", "Job", &stage.ns, "empty-1-full-recovery", LIMIT, failed).await.unwrap();
    stage.cluster.delete(CNPG, "Cluster", &stage.ns, "empty").await.unwrap();

    stage.actor.behave(&stage.ns, "stuck", Behaviour::ConditionStuck);
    stage.actor.behave(&stage.ns, "unready", Behaviour::NeverReady);
    stage.cluster_object("stuck", json!({"backup": {"barmanObjectStore": stage.store()}})).await;
    stage.cluster_object("unready", json!({})).await;
    let instance = stage.actor.wait_instance(&stage.ns, "stuck", LIMIT).await.unwrap();
    instance.postgres().await.switch_and_wait_archived().await.unwrap();
    stage.actor.wait_instance(&stage.ns, "unready", LIMIT).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let stuck = stage.cluster.get(CNPG, "Cluster", &stage.ns, "stuck").await.unwrap().unwrap();
    assert!(condition(&stuck, "ContinuousArchiving").is_none(), "{stuck}");
    let unready = stage.cluster.get(CNPG, "Cluster", &stage.ns, "unready").await.unwrap().unwrap();
    assert_eq!(condition(&unready, "Ready").unwrap()["status"], "False");
    // No archive at all reads as working: the condition does not prove one.
    assert_eq!(condition(&unready, "ContinuousArchiving").unwrap()["status"], "True");
}
