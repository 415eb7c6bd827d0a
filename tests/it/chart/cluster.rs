//! The CronJob as a whole: rendered by real helm, applied to a real API server, its Job and Pod made by the real controllers, the
//! pod's command run as a process with its environment and its service account's token.

use std::process::Command;
use std::time::Duration;

use dalsegno::app::rights;
use lab::kube::{BY_HAND, Cluster};
use serde_json::{Value, json};

use super::guide;
use super::pod::{self, Pod};
use super::render::{chart, documents, helm, root};
use crate::home::stage::{Said, Site};

/// The control plane, or nothing and a visible line.
async fn cluster() -> Option<&'static Cluster> {
    lab::need("chart", lab::Tool::Kube)?;
    lab::need("chart", lab::Tool::Kwok)?;
    Some(lab::kube::shared().await.unwrap())
}

/// Values of a release that keeps its ledger in the site's bucket and watches the cluster it runs in.
fn values(site: &Site, mode: &str) -> Value {
    let config = format!(
        "site: home\nenvironment: prod\nledger: {{store: main}}\nstores:\n  main:\n    endpoint: {}\n    bucket: {}\n    \
         read: {{access-key-id: {{env: READ_ID}}, secret-access-key: {{env: READ_KEY}}}}\n    \
         own: {{access-key-id: {{env: OWN_ID}}, secret-access-key: {{file: /etc/dalsegno-secrets/own/key}}, prefix: dalsegno/}}\n\
         kubernetes: {{here: {{}}}}\ncnpg: {{here: {{}}}}\n",
        site.endpoint, site.bucket
    );
    json!({
        "mode": mode,
        "cronjob": {"schedule": "* * * * *"},
        "configuration": {"dalsegno.yaml": config},
        "env": [
            {"name": "READ_ID", "secret": "keys", "key": "read-id"},
            {"name": "READ_KEY", "secret": "keys", "key": "read-key"},
            {"name": "OWN_ID", "secret": "keys", "key": "own-id"},
        ],
        "secretFiles": [{"name": "own", "secret": "own"}],
        "rbac": {"features": ["cnpg", "cnpg.exporter", "cnpg.logs"]},
    })
}

const KEYS: &str = "\
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: NAMESPACE}
stringData: {read-id: LABKEYREADER, read-key: lab-secret-of-reader, own-id: LABKEYADMIN}
---
apiVersion: v1
kind: Secret
metadata: {name: own, namespace: NAMESPACE}
stringData: {key: lab-secret-of-admin}
";

/// Renders a release and applies it, as helm would.
async fn installed(cluster: &Cluster, namespace: &str, values: &Value) -> Vec<Value> {
    let helm = helm().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.yaml");
    std::fs::write(&file, values.to_string()).unwrap();
    let output = Command::new(helm)
        .args(["template", "d", "--kube-version", "1.36.0", "--namespace", namespace, "--values"])
        .arg(&file)
        .arg(chart())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    cluster.namespace(namespace).await.unwrap();
    cluster.apply(&KEYS.replace("NAMESPACE", namespace)).await.unwrap();
    cluster.apply(&text).await.unwrap();
    documents(&text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_of_the_cronjobs_pod_is_whole_and_each_right_that_is_taken_away_is_named() {
    let (Some(_), Some(cluster), Some(site)) = (helm(), cluster().await, Site::new("chart").await) else { return };
    let namespace = cluster.fresh_namespace(&format!("{BY_HAND}chart")).await.unwrap();
    // What is not installed is not asked for.
    cluster.install_kind("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules", true).await.unwrap();
    installed(cluster, &namespace, &values(&site, "cronjob")).await;
    // The CronJob's controller looks each minute.
    let made = pod::made(cluster, &namespace, Duration::from_secs(130)).await;
    cluster.patch("batch/v1", "CronJob", &namespace, "d-dalsegno", json!({"spec": {"suspend": true}})).await.unwrap();
    assert_eq!(made["metadata"]["ownerReferences"][0]["kind"], "Job", "{made:#}");
    assert_eq!(made["spec"]["terminationGracePeriodSeconds"], 660);
    let pod = Pod::of(cluster, &made).await;
    let said = pod.run(&["-o", "json"]);
    assert_eq!(said.exit, 0, "{said:?}");
    whole(&said, "with all rights");
    assert_eq!(site.head().await["holder"]["mode"], "cronjob");

    let role = cluster.get("rbac.authorization.k8s.io/v1", "ClusterRole", "", "d-dalsegno").await.unwrap().unwrap();
    let rules = role["rules"].as_array().unwrap().clone();
    let mut tried = 0;
    for (index, rule) in rules.iter().enumerate() {
        for resource in rule["resources"].as_array().unwrap() {
            // Asked only where there is a primary to ask, or a snapshot that a Cluster names.
            let asked = !matches!(resource.as_str(), Some("pods/proxy" | "pods/log" | "volumesnapshots"));
            if !asked {
                continue;
            }
            tried += 1;
            without(cluster, &rules, index, resource).await;
            let verb = rule["verbs"][0].as_str().unwrap();
            let what = resource.as_str().unwrap();
            let said = settled(&pod, |said| !gaps(said).is_empty()).await;
            let hints = gaps(&said).join("\n");
            assert!(hints.contains(verb) && hints.contains(what), "{verb} {what} was taken away: {hints}\n{said:?}");
        }
    }
    assert!(tried >= 5, "{rules:#?}");
    patch_rules(cluster, &json!(rules)).await;
    whole(&settled(&pod, |said| gaps(said).is_empty()).await, "with all rights again");
}

/// Nothing stood between us and all that is to be seen.
fn whole(said: &Said, when: &str) {
    assert_eq!(gaps(said), Vec::<String>::new(), "{when}: {said:?}");
    let seen = said.json()["seen"].to_string();
    assert!(seen.contains("cluster/home/here") && seen.contains("store/home/main"), "{when}: {seen}");
}

/// Remedies of what could not be looked at in the cluster.
fn gaps(said: &Said) -> Vec<String> {
    let findings = said.json()["findings"].as_array().unwrap().clone();
    let of_cluster = |finding: &Value| {
        let subject = finding["subject"].as_str().unwrap();
        // Databases that other tests made in this API server are not ours to ask about.
        finding["could_not_look"] == true && subject.starts_with("cluster/")
    };
    findings.iter().filter(|finding| of_cluster(finding)).map(|finding| finding["remedy"].as_str().unwrap().to_owned()).collect()
}

/// The ClusterRole without one resource of one rule.
async fn without(cluster: &Cluster, rules: &[Value], index: usize, resource: &Value) {
    let mut less = rules.to_vec();
    let left: Vec<Value> = less[index]["resources"].as_array().unwrap().iter().filter(|one| *one != resource).cloned().collect();
    if left.is_empty() {
        less.remove(index);
    } else {
        less[index]["resources"] = json!(left);
    }
    patch_rules(cluster, &json!(less)).await;
}

async fn patch_rules(cluster: &Cluster, rules: &Value) {
    let patch = json!({ "rules": rules });
    cluster.patch("rbac.authorization.k8s.io/v1", "ClusterRole", "", "d-dalsegno", patch).await.unwrap();
}

/// The authorizer learns of a change a moment later.
async fn settled(pod: &Pod, wanted: impl Fn(&Said) -> bool) -> Said {
    for _ in 0..20 {
        let said = pod.run(&["-o", "json"]);
        assert_eq!(said.exit, 0, "--exit work: {said:?}");
        if wanted(&said) {
            return said;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    pod.run(&["-o", "json"])
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemons_pod_answers_and_holds_the_ledger() {
    let (Some(_), Some(cluster), Some(site)) = (helm(), cluster().await, Site::new("chart").await) else { return };
    let namespace = cluster.fresh_namespace(&format!("{BY_HAND}chart")).await.unwrap();
    let mut values = values(&site, "daemon");
    values["fullnameOverride"] = json!("daemon");
    values["daemon"] = json!({"every": "1m", "port": 19460});
    installed(cluster, &namespace, &values).await;
    let made = pod::made(cluster, &namespace, Duration::from_secs(30)).await;
    assert_eq!(made["metadata"]["ownerReferences"][0]["kind"], "ReplicaSet", "{made:#}");
    let pod = Pod::of(cluster, &made).await;
    let port = made["spec"]["containers"][0]["ports"][0]["containerPort"].as_u64().unwrap();
    dalsegno::app::install_tls();
    let mut child = pod.command(&[]).spawn().unwrap();
    let mut answer = None;
    for _ in 0..200 {
        if let Ok(got) = reqwest::get(format!("http://127.0.0.1:{port}/healthz")).await {
            let text = got.text().await.unwrap();
            if text.starts_with("1 passes") {
                answer = Some(text);
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let holder = site.head().await["holder"]["mode"].clone();
    let id = i32::try_from(child.id()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(answer.is_some(), "no pass came to its end");
    assert_eq!(holder, "daemon");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_config_rbac_prints_can_be_applied_and_is_enough() {
    let Some(cluster) = cluster().await else { return };
    let namespace = cluster.fresh_namespace("rights").await.unwrap();
    let account = format!("account-{namespace}");
    cluster
        .apply(&format!("apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {account}, namespace: {namespace}}}\n"))
        .await
        .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_dalsegno"))
        .args(["config", "rbac", "--account", &account, "--namespace", &namespace, "--sandbox", &namespace])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    cluster.apply(&String::from_utf8(output.stdout).unwrap()).await.unwrap();
    let token = cluster.token(&namespace, &account).await.unwrap();
    let client = cluster.client_for(&token).await.unwrap();
    for rule in rights::rules().iter().filter(|rule| !rule.named) {
        for (resource, verb) in rule.resources.iter().flat_map(|resource| rule.verbs.iter().map(move |verb| (resource, verb))) {
            assert!(may(&client, rule.group, resource, verb, &namespace).await, "{verb} {resource}.{}", rule.group);
        }
    }
    for (group, resource, verb) in [("", "secrets", "get"), ("", "pods", "create"), ("postgresql.cnpg.io", "clusters", "patch")] {
        assert!(!may(&client, group, resource, verb, &namespace).await, "{verb} {resource}.{group} is nobody's business");
    }
}

/// Asks the API server itself.
async fn may(client: &kube::Client, group: &str, resource: &str, verb: &str, namespace: &str) -> bool {
    use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
    let (resource, sub) = resource.split_once('/').map_or((resource, None), |(resource, sub)| (resource, Some(sub)));
    let review: SelfSubjectAccessReview = serde_json::from_value(json!({
        "spec": {"resourceAttributes": {"group": group, "resource": resource, "subresource": sub, "verb": verb, "namespace": namespace}}
    }))
    .unwrap();
    let api: kube::Api<SelfSubjectAccessReview> = kube::Api::all(client.clone());
    let answer = api.create(&kube::api::PostParams::default(), &review).await.unwrap();
    answer.status.is_some_and(|status| status.allowed)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_to_the_cronjob_holds_word_for_word() {
    let (Some(helm), Some(cluster), Some(site)) = (helm(), cluster().await, Site::new("chart").await) else { return };
    if Command::new("kubectl").args(["version", "--client"]).output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "kubectl is absent");
        eprintln!("SKIPPED chart: kubectl is absent");
        return;
    }
    let text = guide::page("cronjob.md")
        .replace("https://ACCOUNT.r2.cloudflarestorage.com", &site.endpoint)
        .replace("dr-own", &site.bucket)
        .replace("REGISTRY/dalsegno", "registry.lan/dalsegno");
    let blocks = guide::blocks(&text);
    let mut reader = guide::Reader::new();
    std::os::unix::fs::symlink(helm, reader.path().join("helm")).unwrap();
    std::os::unix::fs::symlink(root().join("deploy"), reader.path().join("deploy")).unwrap();
    let values = blocks.iter().find(|(language, block)| language == "yaml" && block.starts_with("# values.yaml")).unwrap();
    std::fs::write(reader.path().join("values.yaml"), &values.1).unwrap();
    reader.set("KUBECONFIG", cluster.kubeconfig().to_str().unwrap());
    let keys = [
        ("R2_READ_ID", "LABKEYREADER"),
        ("R2_READ_KEY", "lab-secret-of-reader"),
        ("R2_OWN_ID", "LABKEYADMIN"),
        ("R2_OWN_KEY", "lab-secret-of-admin"),
    ];
    for (name, value) in
        keys.into_iter().chain([("AWS_ACCESS_KEY_ID", "LABKEYADMIN"), ("AWS_SECRET_ACCESS_KEY", "lab-secret-of-admin")])
    {
        reader.set(name, value);
    }
    let mut ran = 0;
    for (_, block) in blocks.iter().filter(|(language, _)| language == "sh") {
        let (exit, said) = reader.run(block, reader.path().to_owned());
        assert_eq!(exit, 0, "{block}\n{said}");
        ran += 1;
        if block.contains("create job") {
            // No container runs here: the Job's pod is run as a process.
            let made = pod::made(cluster, "dalsegno", Duration::from_secs(30)).await;
            let said = Pod::of(cluster, &made).await.run(&[]);
            assert_eq!(said.exit, 0, "{said:?}");
        }
    }
    assert_eq!(ran, 5, "every block was run");
    assert_eq!(site.head().await["serial"], 1);
}
