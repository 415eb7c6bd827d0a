//! The cluster: what is real in it is real, and each fault of its API is what it says.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::api::{Api, ListParams, LogParams, PostParams};
use lab::kube::{ApiFault, Cluster, KubeletManner, Say, Usage};
use lab::link::Mode;
use lab::webhook::Webhook;
use lab::{Tool, need};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn cluster() -> Option<&'static Cluster> {
    for tool in [Tool::Kube, Tool::Kwok] {
        need("lab::cluster", tool)?;
    }
    Some(lab::kube::shared().await.unwrap())
}

fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("{other}"),
    }
}

fn phase(object: Option<&Value>) -> &str {
    object.and_then(|o| o.pointer("/status/phase")).and_then(Value::as_str).unwrap_or_default()
}

const POD: &str =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: web, image: nobody/pulls-this}\n";

fn pod_in(namespace: &str) -> String {
    POD.replace("{name: web}\n", &format!("{{name: web, namespace: {namespace}}}\n"))
}

#[tokio::test]
async fn a_token_of_a_service_account_may_what_its_role_says_and_no_more() {
    let Some(cluster) = cluster().await else { return };
    let ns = cluster.fresh_namespace("rights").await.unwrap();
    let yaml = format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: reader, namespace: {ns}}}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: reader, namespace: {ns}}}\n\
         rules:\n- {{apiGroups: [\"\"], resources: [configmaps], verbs: [get, list]}}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: reader, namespace: {ns}}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}}\n\
         subjects:\n- {{kind: ServiceAccount, name: reader, namespace: {ns}}}\n"
    );
    assert_eq!(cluster.apply(&yaml).await.unwrap().len(), 3);
    let token = cluster.token(&ns, "reader").await.unwrap();
    let client = cluster.client_for(&token).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &ns);
    // Roles are cached by the authorizer for a moment.
    let until = std::time::Instant::now() + Duration::from_secs(10);
    while maps.list(&ListParams::default()).await.is_err() {
        assert!(std::time::Instant::now() < until, "the role has no effect");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let secrets: Api<Secret> = Api::namespaced(client, &ns);
    assert_eq!(code(&secrets.list(&ListParams::default()).await.unwrap_err()), 403);
    let text = std::fs::read_to_string(cluster.kubeconfig_for(&token).unwrap()).unwrap();
    assert!(text.contains(&token) && text.contains(&cluster.url()), "{text}");
    let nobody = cluster.client_for("no-such-token").await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(nobody, &ns);
    assert_eq!(code(&maps.list(&ListParams::default()).await.unwrap_err()), 401);
}

#[tokio::test]
async fn pods_run_jobs_end_and_a_namespace_goes_with_all_that_is_in_it() {
    let Some(cluster) = cluster().await else { return };
    let ns = cluster.fresh_namespace("life").await.unwrap();
    cluster.apply(&pod_in(&ns)).await.unwrap();
    let limit = Duration::from_secs(30);
    cluster.wait_for("v1", "Pod", &ns, "web", limit, |pod| phase(pod) == "Running").await.unwrap();
    let job = format!(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: tick, namespace: {ns}}}\nspec:\n  schedule: '0 0 1 1 *'\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          restartPolicy: Never\n          containers: [{{name: a, image: b}}]\n---\n\
         apiVersion: batch/v1\nkind: Job\nmetadata: {{name: once, namespace: {ns}}}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{{name: a, image: b}}]\n"
    );
    cluster.apply(&job).await.unwrap();
    let done = |job: Option<&Value>| job.and_then(|j| j.pointer("/status/succeeded")) == Some(&json!(1));
    cluster.wait_for("batch/v1", "Job", &ns, "once", limit, done).await.unwrap();
    cluster.delete("v1", "Namespace", "", &ns).await.unwrap();
    cluster.wait_for("v1", "Namespace", "", &ns, limit, |ns| ns.is_none()).await.unwrap();
    assert!(cluster.list("v1", "Pod", &ns).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_pod_by_hand_is_left_alone() {
    let Some(cluster) = cluster().await else { return };
    let ns = cluster.fresh_namespace("hand-pods").await.unwrap();
    cluster.apply(&pod_in(&ns)).await.unwrap();
    let other = cluster.fresh_namespace("twin").await.unwrap();
    cluster.apply(&pod_in(&other)).await.unwrap();
    let limit = Duration::from_secs(30);
    cluster.wait_for("v1", "Pod", &other, "web", limit, |pod| phase(pod) == "Running").await.unwrap();
    let pod = cluster.get("v1", "Pod", &ns, "web").await.unwrap();
    assert_eq!(phase(pod.as_ref()), "Pending");
    cluster.patch_status("v1", "Pod", &ns, "web", json!({"phase": "Failed", "reason": "Lab"})).await.unwrap();
    assert_eq!(phase(cluster.get("v1", "Pod", &ns, "web").await.unwrap().as_ref()), "Failed");
}

#[tokio::test]
async fn port_forward_logs_and_the_proxy_of_pods_reach_what_really_runs() {
    let Some(cluster) = cluster().await else { return };
    let ns = cluster.fresh_namespace("reach").await.unwrap();
    cluster.apply(&pod_in(&ns)).await.unwrap();
    let limit = Duration::from_secs(30);
    let pod = cluster.wait_for("v1", "Pod", &ns, "web", limit, |pod| phase(pod) == "Running").await.unwrap().unwrap();
    let hook = Webhook::start().unwrap();
    let local: u16 = hook.url("").trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
    cluster.forward(&ns, "web", &[(5432, local)]).await.unwrap();
    let client = cluster.client().await.unwrap();
    let pods: Api<Pod> = Api::namespaced(client.clone(), &ns);
    let mut answer = String::new();
    for _ in 0..50 {
        // kwok learns of the forward by its own watch.
        let mut forward = pods.portforward("web", &[5432]).await.unwrap();
        let mut stream = forward.take_stream(5432).unwrap();
        let request = b"GET /forwarded HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
        let sent = stream.write_all(request).await;
        // The end of the stream does not come through: the first bytes do.
        let mut bytes = vec![0; 512];
        if let (Ok(()), Ok(Ok(n))) = (sent, tokio::time::timeout(Duration::from_secs(5), stream.read(&mut bytes)).await) {
            answer = String::from_utf8_lossy(&bytes[..n]).into_owned();
        }
        if !answer.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
    assert!(hook.received().iter().any(|r| r.path == "/forwarded"));

    let ip = pod.pointer("/status/podIP").and_then(Value::as_str).unwrap();
    cluster.route(ip, 9187, local);
    let path = format!("/api/v1/namespaces/{ns}/pods/web:9187/proxy/metrics");
    client.request_text(axum::http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap();
    assert!(hook.received().iter().any(|r| r.path == "/metrics"), "{:?}", hook.received());
    let path = format!("/api/v1/namespaces/{ns}/pods/web:9188/proxy/metrics");
    assert!(client.request_text(axum::http::Request::get(path).body(Vec::new()).unwrap()).await.is_err());

    let folder = lab::home::Folder::new("podlog").unwrap();
    let file = folder.path().join("web.log");
    std::fs::write(&file, "2026-11-30T15:00:00.000000001Z stdout F a line of the pod\n").unwrap();
    cluster.log_file(&ns, "web", "web", &file).await.unwrap();
    let until = std::time::Instant::now() + Duration::from_secs(10);
    loop {
        let text = pods.logs("web", &LogParams::default()).await;
        if text.as_ref().is_ok_and(|text| text.contains("a line of the pod")) {
            break;
        }
        assert!(std::time::Instant::now() < until, "{text:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn a_kubelet_says_what_it_was_told_about_volumes() {
    let Some(cluster) = cluster().await else { return };
    let kubelet = cluster.add_node("node-of-volumes").await.unwrap();
    kubelet.set_volume("prod", "pg-1", "pgdata", "pg-1", Usage::of(1000, 250));
    let client = cluster.client().await.unwrap();
    let path = "/api/v1/nodes/node-of-volumes/proxy/stats/summary";
    let ask = async || client.request::<Value>(axum::http::Request::get(path).body(Vec::new()).unwrap()).await;
    let said = ask().await.unwrap();
    assert_eq!(said.pointer("/pods/0/podRef/name").unwrap(), "pg-1");
    assert_eq!(said.pointer("/pods/0/volume/0/availableBytes").unwrap(), 250);
    assert_eq!(said.pointer("/pods/0/volume/0/pvcRef/name").unwrap(), "pg-1");
    kubelet.answer(KubeletManner::Status(500));
    assert!(ask().await.is_err());
    assert_eq!(kubelet.asked(), 2);
    // The node of kwok has one too, and what is not its own goes on to kwok.
    let path = format!("/api/v1/nodes/{}/proxy/stats/summary", lab::kube::NODE);
    let said = client.request::<Value>(axum::http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap();
    assert_eq!(said.pointer("/node/nodeName").unwrap(), lab::kube::NODE);
}

#[tokio::test]
async fn the_front_is_down_slow_or_rude_and_then_again_the_real_thing() {
    let Some(cluster) = cluster().await else { return };
    let ns = cluster.fresh_namespace("front").await.unwrap();
    let front = cluster.front().unwrap();
    let client = front.client().await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, &ns);
    let list = async || maps.list(&ListParams::default()).await;
    list().await.unwrap();
    let path = format!("/api/v1/namespaces/{ns}/configmaps*");
    for (say, expected) in [(Say::Gone, 410), (Say::TooMany(1), 429), (Say::Unauthorized, 401), (Say::Forbidden, 403)] {
        front.fault(ApiFault::next(1, "GET", &path, say));
        assert_eq!(code(&list().await.unwrap_err()), expected);
        list().await.unwrap();
    }
    let object: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "kept"}, "data": {"a": "b"}})).unwrap();
    maps.create(&PostParams::default(), &object).await.unwrap();
    front.fault(ApiFault::next(1, "", &path, Say::Late(Duration::from_millis(700))));
    let before = std::time::Instant::now();
    list().await.unwrap();
    assert!(before.elapsed() >= Duration::from_millis(700));
    front.fault(ApiFault::next(1, "", &path, Say::Drop));
    assert!(list().await.is_err());
    front.link().set(Mode::Refuse);
    assert!(list().await.is_err());
    front.link().set(Mode::Pass);
    assert!(list().await.unwrap().items.iter().any(|m| m.metadata.name.as_deref() == Some("kept")));
    assert!(front.seen().iter().filter(|seen| seen.faulted).count() >= 6);
    assert!(std::fs::read_to_string(front.kubeconfig()).unwrap().contains(front.url()));
}

#[tokio::test]
async fn kinds_of_cnpg_are_known_and_keep_their_status_apart() {
    let Some(cluster) = cluster().await else { return };
    let ns = cluster.fresh_namespace("kinds").await.unwrap();
    let yaml = format!(
        "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {{name: pg, namespace: {ns}}}\nspec:\n  instances: 1\n  storage: {{size: 1Gi}}\n\
         status: {{phase: Cluster in healthy state}}\n---\n\
         apiVersion: barmancloud.cnpg.io/v1\nkind: ObjectStore\nmetadata: {{name: store, namespace: {ns}}}\nspec:\n  configuration:\n    destinationPath: s3://b/p\n    s3Credentials: {{inheritFromIAMRole: true}}\n"
    );
    cluster.apply(&yaml).await.unwrap();
    let pg = cluster.get("postgresql.cnpg.io/v1", "Cluster", &ns, "pg").await.unwrap();
    assert_eq!(phase(pg.as_ref()), "Cluster in healthy state");
    assert_eq!(cluster.list("barmancloud.cnpg.io/v1", "ObjectStore", &ns).await.unwrap().len(), 1);

    // Kinds of our own making, as CNPG's are where upstream's text is not at hand: any field, status apart.
    cluster.install_kind("lab.invalid", "v1", "Thing", "things", true).await.unwrap();
    let thing = format!(
        "apiVersion: lab.invalid/v1\nkind: Thing\nmetadata: {{name: one, namespace: {ns}}}\nspec: {{any: [1]}}\nstatus: {{phase: fine}}\n"
    );
    cluster.apply(&thing).await.unwrap();
    cluster.apply(&thing.replace("status: {phase: fine}\n", "").replace("[1]", "[2]")).await.unwrap();
    let thing = cluster.get("lab.invalid/v1", "Thing", &ns, "one").await.unwrap();
    assert_eq!(phase(thing.as_ref()), "fine");
    assert_eq!(thing.unwrap()["spec"]["any"][0], 2);
    cluster.remove_kind("lab.invalid", "things").await.unwrap();
}
