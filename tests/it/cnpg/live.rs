//! The live form against a server that answers byte for byte what a test tells it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use dalsegno::tap::kube_live::{KubeAccess, KubeLimits, LiveKube};
use dalsegno::tap::{FailureKind, KubeActs, KubeAsk, KubeCalls, KubeDelete, Resource, list_whole};
use serde_json::json;

use crate::store::mock::{Asked, Mock, Reply};

const TOKEN: &str = "token-of-ours-SECRET";

fn kubeconfig(folder: &Path, server: &str) -> KubeAccess {
    let _ = rustls::crypto::ring::default_provider().install_default();
    std::fs::write(folder.join("token"), TOKEN).unwrap();
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: one\nclusters:\n- name: k\n  cluster: {{server: \"{server}\"}}\ncontexts:\n- name: one\n  context: \
         {{cluster: k, user: u}}\n- name: other\n  context: {{cluster: k, user: nobody}}\nusers:\n- name: u\n  user: {{tokenFile: {}}}\n",
        folder.join("token").display()
    );
    std::fs::write(folder.join("config"), text).unwrap();
    KubeAccess { kubeconfig: Some(folder.join("config")), context: None }
}

fn limits() -> KubeLimits {
    KubeLimits { connect: Duration::from_secs(2), call: Duration::from_secs(2), attempts: 4, wait: Duration::from_secs(3) }
}

struct Bench {
    mock: Mock,
    folder: tempfile::TempDir,
    kube: LiveKube,
}

impl Bench {
    async fn new(handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let mock = Mock::start(handler).await;
        let folder = tempfile::tempdir().unwrap();
        let kube = LiveKube::new(kubeconfig(folder.path(), &mock.endpoint), limits());
        Self { mock, folder, kube }
    }
}

fn pods() -> Resource {
    Resource::new("", "v1", "pods")
}

fn clusters() -> Resource {
    Resource::new("postgresql.cnpg.io", "v1", "clusters")
}

fn status(code: u16, reason: &str, message: &str) -> Reply {
    let body = json!({"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code});
    Reply::new(code, body.to_string()).with("content-type", "application/json")
}

#[tokio::test]
async fn a_list_is_asked_a_page_at_a_time_with_selectors_and_the_token() {
    let bench = Bench::new(|asked| {
        let body = match asked.param("continue") {
            None => json!({"metadata": {"continue": "to ken/=="}, "items": [{"metadata": {"name": "a"}}]}),
            Some(token) if token == "to ken/==" => json!({"metadata": {}, "items": [{"metadata": {"name": "b"}}]}),
            Some(other) => panic!("{other}"),
        };
        Reply::new(200, body.to_string())
    })
    .await;
    let ask = KubeAsk {
        namespace: Some("prod".into()),
        labels: Some("cnpg.io/cluster=x,y".into()),
        limit: Some(500),
        ..KubeAsk::default()
    };
    let items = list_whole(&bench.kube, &clusters(), &ask, 10).await.unwrap();
    assert_eq!(items.len(), 2);
    let asked = bench.mock.asked();
    assert_eq!(asked[0].path, "/apis/postgresql.cnpg.io/v1/namespaces/prod/clusters");
    assert_eq!(asked[0].param("labelSelector").unwrap(), "cnpg.io/cluster=x,y");
    assert_eq!(asked[0].param("limit").unwrap(), "500");
    assert_eq!(asked[0].header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
    assert_eq!(bench.kube.counts().pages, 2);
}

#[tokio::test]
async fn a_token_that_expired_begins_again_once_and_a_second_time_is_an_error() {
    let begun = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&begun);
    let bench = Bench::new(move |asked| match asked.param("continue").as_deref() {
        None => {
            let token = format!("t{}", seen.fetch_add(1, Ordering::SeqCst));
            Reply::new(200, json!({"metadata": {"continue": token}, "items": [{}, {}]}).to_string())
        }
        Some("t0") => status(410, "Expired", "The provided continue parameter is too old"),
        Some(_) => Reply::new(200, json!({"items": [{}]}).to_string()),
    })
    .await;
    let items = list_whole(&bench.kube, &pods(), &KubeAsk::default(), 10).await.unwrap();
    assert_eq!(items.len(), 3, "what came before the token expired is not counted twice");

    let bench = Bench::new(|asked| match asked.param("continue") {
        None => Reply::new(200, json!({"metadata": {"continue": "t"}, "items": [{}]}).to_string()),
        Some(_) => status(410, "Expired", "too old"),
    })
    .await;
    let error = list_whole(&bench.kube, &pods(), &KubeAsk::default(), 10).await.unwrap_err();
    assert_eq!((error.status, error.code.as_deref()), (Some(410), Some("Expired")));
    assert_eq!(bench.mock.asked().len(), 4);
}

#[tokio::test]
async fn what_may_pass_is_asked_again_after_the_time_that_the_server_names() {
    let tries = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&tries);
    let bench = Bench::new(move |_| match seen.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::new(429, "Too many requests, please try again later.").with("retry-after", "1"),
        1 => status(503, "ServiceUnavailable", "leader changed"),
        2 => Reply { hang_up: true, ..Reply::new(200, "") },
        _ => Reply::new(200, json!({"items": []}).to_string()),
    })
    .await;
    let begun = Instant::now();
    bench.kube.list(&pods(), &KubeAsk::default()).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(tries.load(Ordering::SeqCst), 4);
    let counts = bench.kube.counts();
    assert_eq!((counts.pages, counts.repeats), (1, 3), "a call that is repeated is one call");
}

#[tokio::test]
async fn a_server_that_asks_for_more_patience_than_there_is_is_not_waited_for() {
    let bench = Bench::new(|_| Reply::new(429, "later").with("retry-after", "600")).await;
    let begun = Instant::now();
    let error = bench.kube.list(&pods(), &KubeAsk::default()).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert_eq!((error.status, error.retry_after), (Some(429), Some(600)));
}

#[tokio::test]
async fn a_refusal_carries_the_servers_own_words_and_is_not_repeated() {
    let bench = Bench::new(|_| status(403, "Forbidden", "pods is forbidden: User \"x\" cannot list resource \"pods\"")).await;
    let error = bench.kube.list(&pods(), &KubeAsk::default()).await.unwrap_err();
    assert_eq!((error.kind, error.status, error.code.as_deref()), (FailureKind::Answered, Some(403), Some("Forbidden")));
    assert!(error.detail.contains("cannot list resource"));
    assert_eq!(bench.mock.asked().len(), 1);
}

#[tokio::test]
async fn an_expired_token_is_read_again_once() {
    let bench = Bench::new(|asked| match asked.header("authorization") {
        Some("Bearer rotated") => Reply::new(200, json!({"items": []}).to_string()),
        _ => status(401, "Unauthorized", "Unauthorized"),
    })
    .await;
    let error = bench.kube.list(&pods(), &KubeAsk::default()).await.unwrap_err();
    assert_eq!((error.status, bench.mock.asked().len()), (Some(401), 2));
    std::fs::write(bench.folder.path().join("token"), "rotated").unwrap();
    bench.kube.list(&pods(), &KubeAsk::default()).await.unwrap();
}

/// A server that says something else where TLS belongs.
async fn speaks_no_tls() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = tokio::io::AsyncWriteExt::write_all(&mut socket, b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    url
}

#[tokio::test]
async fn no_answer_is_told_apart_by_kind_and_never_holds_the_token() {
    let slow = Bench::new(|_| Reply { delay: Duration::from_secs(30), ..Reply::new(200, "{}") }).await;
    let error = slow.kube.list(&pods(), &KubeAsk::default()).await.unwrap_err();
    assert_eq!((error.kind, slow.mock.asked().len()), (FailureKind::Timeout, 1), "its time is gone: it is not asked again");
    let folder = tempfile::tempdir().unwrap();
    for (server, kind) in [
        ("http://127.0.0.1:1", FailureKind::Refused),
        ("http://no-such-host.invalid:6443", FailureKind::Dns),
        (&speaks_no_tls().await, FailureKind::Tls),
    ] {
        let kube = LiveKube::new(kubeconfig(folder.path(), server), limits());
        let error = kube.list(&pods(), &KubeAsk::default()).await.unwrap_err();
        assert_eq!(error.kind, kind, "{server}: {error}");
        assert!(!format!("{error:?}").contains(TOKEN));
    }
    let cut = Bench::new(|_| Reply { promised: Some(100), ..Reply::new(200, "{\"items\": [") }).await;
    let error = cut.kube.list(&pods(), &KubeAsk::default()).await.unwrap_err();
    assert_eq!(error.kind, FailureKind::Cut, "{error}");
    let nonsense = Bench::new(|_| Reply::new(200, "<html>a proxy's login page</html>")).await;
    assert_eq!(nonsense.kube.list(&pods(), &KubeAsk::default()).await.unwrap_err().kind, FailureKind::Malformed);
}

#[tokio::test]
async fn a_kubeconfig_that_cannot_be_used_costs_the_call_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let missing = KubeAccess { kubeconfig: Some(folder.path().join("none")), context: None };
    let error = LiveKube::new(missing, limits()).about().await.unwrap_err();
    assert_eq!(error.kind, FailureKind::NotSent);
    assert!(error.detail.contains("none"), "{error}");
    let access = KubeAccess { context: Some("prod".into()), ..kubeconfig(folder.path(), "http://127.0.0.1:1") };
    let error = LiveKube::new(access, limits()).about().await.unwrap_err();
    assert!(error.detail.contains("prod"), "{error}");
}

#[tokio::test]
async fn the_proxies_logs_and_versions_are_asked_where_the_api_has_them() {
    let bench = Bench::new(|asked| match asked.path.as_str() {
        "/version" => Reply::new(200, json!({"gitVersion": "v1.33.1+k3s1"}).to_string()),
        "/apis" => {
            Reply::new(200, json!({"groups": [{"name": "batch", "versions": [{"version": "v1"}]}, {"name": "x.io"}]}).to_string())
        }
        "/api/v1/namespaces/a/pods/https:x-1:9187/proxy/metrics" => Reply::new(200, "cnpg_collector_up 1\n"),
        "/api/v1/nodes/n1/proxy/stats/summary" => Reply::new(200, "{}"),
        "/api/v1/namespaces/a/pods/x-1/log" => Reply::new(200, "one\ntwo\n"),
        other => panic!("{other}"),
    })
    .await;
    let about = bench.kube.about().await.unwrap();
    assert_eq!(
        (about.version.as_str(), about.groups["batch"].as_slice(), about.groups["x.io"].len()),
        ("v1.33.1+k3s1", &["v1".to_owned()][..], 0)
    );
    assert_eq!(bench.kube.pod_proxy("a", "x-1", "https:9187", "metrics").await.unwrap(), "cnpg_collector_up 1\n");
    assert_eq!(bench.kube.node_proxy("n1", "stats/summary").await.unwrap(), "{}");
    assert_eq!(bench.kube.log("a", "x-1", "postgres", 50).await.unwrap(), "one\ntwo\n");
    let log = bench.mock.asked().pop().unwrap();
    assert_eq!((log.param("container").as_deref(), log.param("tailLines").as_deref()), (Some("postgres"), Some("50")));
    let counts = bench.kube.counts();
    assert_eq!((counts.about, counts.proxied, counts.logs), (2, 2, 1));
}

#[tokio::test]
async fn changes_carry_our_name_and_a_guard_and_are_not_repeated_when_nobody_knows_what_became_of_them() {
    let bench = Bench::new(|asked| match asked.method.as_str() {
        "POST" => status(500, "InternalError", "etcd timed out"),
        "PATCH" => Reply::new(200, "{}"),
        _ => Reply::new(200, json!({"kind": "Status", "status": "Success"}).to_string()),
    })
    .await;
    let object = json!({"metadata": {"name": "x"}});
    let error = bench.kube.create(&clusters(), Some("sandbox"), &object, true).await.unwrap_err();
    assert_eq!(error.status, Some(500));
    bench.kube.patch(&clusters(), Some("sandbox"), "x", Some("status"), &json!({"status": {}})).await.unwrap();
    let how = KubeDelete { uid: "u-1".into(), propagation: "Foreground" };
    bench.kube.delete(&clusters(), Some("sandbox"), "x", &how).await.unwrap();
    let asked = bench.mock.asked();
    assert_eq!(asked.iter().map(|of| of.method.as_str()).collect::<Vec<_>>(), ["POST", "PATCH", "DELETE"]);
    assert_eq!(asked[0].param("dryRun").as_deref(), Some("All"));
    assert_eq!(asked[0].param("fieldManager").as_deref(), Some("dalsegno"));
    assert_eq!(asked[1].path, "/apis/postgresql.cnpg.io/v1/namespaces/sandbox/clusters/x/status");
    assert_eq!(asked[1].header("content-type"), Some("application/merge-patch+json"));
    let body: serde_json::Value = serde_json::from_slice(&asked[2].body).unwrap();
    assert_eq!((body["preconditions"]["uid"].as_str(), body["propagationPolicy"].as_str()), (Some("u-1"), Some("Foreground")));
}
