//! What is read beside the objects: metrics of primaries, free space from kubelets, logs of pods in trouble.

use std::collections::{BTreeMap, BTreeSet};

use super::client::{Client, Lists};
use super::config::{CnpgSettings, Reads};
use super::rbac::Right;
use super::{gaps, logs, numbers};
use crate::domain::{CnpgFact, Fact, FactKind, KubeName, Observation, PodSeen, Sample};
use crate::tap::CallError;

/// More logs than this are not read in one look.
const MOST_LOGS: usize = 16;
/// The port of an instance's exporter.
const EXPORTER_PORT: u16 = 9187;
/// The sidecar that archives.
const SIDECAR: &str = "plugin-barman-cloud";
/// The container that PostgreSQL runs in.
const POSTGRES: &str = "postgres";

pub(super) async fn add(
    client: &Client<'_>,
    settings: &CnpgSettings,
    lists: &Lists,
    clusters: &mut [CnpgFact],
    seen: &mut Observation,
) {
    let on = |what: Reads| settings.reads.contains(&what);
    let nothing = Vec::new();
    let (exporters, kubelets, texts) = tokio::join!(
        exporters(client, lists, if on(Reads::Exporter) { &*clusters } else { &nothing }),
        kubelets(client, if on(Reads::Kubelet) { &*clusters } else { &nothing }),
        pod_logs(client, if on(Reads::Logs) { &*clusters } else { &nothing }),
    );
    let now = client.cx.now;
    let mut refused: BTreeSet<(String, String)> = BTreeSet::new();
    let mut once = |verb: &str, namespace: &str, error: &CallError| {
        // A right that is missing is missing for every pod of the namespace.
        error.status != Some(403) || refused.insert((verb.to_owned(), namespace.to_owned()))
    };
    for fact in clusters.iter_mut() {
        let namespace = fact.cluster.namespace.clone();
        match exporters.get(&fact.cluster) {
            Some(Ok(text)) => {
                let exported = numbers::exported(text);
                seen.facts.extend(exported.samples(&fact.subject, now).into_iter().map(Fact::Sample));
                fact.last_position = exported.position(now, fact.timeline);
            }
            // A pod that is not ready answers nothing, and the pod itself tells that.
            Some(Err(error)) if error.status != Some(403) && primary(fact).and_then(|pod| pod.ready) == Some(false) => {}
            Some(Err(error)) => {
                let right = Right { verb: "get", group: "", resource: "pods/proxy", namespace: Some(&namespace) };
                if once("proxy", &namespace, error) {
                    seen.gaps.push(gaps::of_call(&fact.subject, FactKind::Cnpg, &right, error));
                }
            }
            None => {}
        }
        seen.facts.extend(volumes(fact, &kubelets, now).into_iter().map(Fact::Sample));
        for pod in fact.pods.iter_mut().flatten() {
            match texts.get(&(namespace.clone(), pod.name.clone())) {
                Some(Ok(lines)) => pod.log = Some(lines.clone()),
                Some(Err(error)) => {
                    let right = Right { verb: "get", group: "", resource: "pods/log", namespace: Some(&namespace) };
                    if once("log", &namespace, error) {
                        seen.gaps.push(gaps::of_call(&fact.subject, FactKind::Cnpg, &right, error));
                    }
                }
                None => {}
            }
        }
    }
    for (node, error) in kubelets.iter().filter_map(|(node, answer)| Some((node, answer.as_ref().err()?))) {
        let right = Right { verb: "get", group: "", resource: "nodes/proxy", namespace: None };
        if once("kubelet", "", error) {
            let mut gap = gaps::of_call(&settings.kubernetes.subject, FactKind::Cnpg, &right, error);
            gap.detail = format!("node {node}: {}", gap.detail);
            seen.gaps.push(gap);
        }
    }
}

/// The pod that is the primary, when it runs.
fn primary(fact: &CnpgFact) -> Option<&PodSeen> {
    let pods = fact.pods.as_ref()?;
    let named = fact.current_primary.as_ref().and_then(|name| pods.iter().find(|pod| &pod.name == name));
    let by_role = || pods.iter().find(|pod| pod.role.as_deref() == Some("primary"));
    named.or_else(by_role).filter(|pod| pod.phase.as_deref() == Some("Running"))
}

async fn exporters(client: &Client<'_>, lists: &Lists, clusters: &[CnpgFact]) -> BTreeMap<KubeName, Result<String, CallError>> {
    let tls: BTreeSet<KubeName> = lists
        .clusters
        .items
        .iter()
        .filter(|of| of.spec.monitoring.as_ref().and_then(|of| of.tls.as_ref()?.enabled).unwrap_or(false))
        .map(|of| super::name_of(&of.metadata))
        .collect();
    let pods: BTreeMap<KubeName, String> =
        clusters.iter().filter_map(|fact| Some((fact.cluster.clone(), primary(fact)?.name.clone()))).collect();
    let whom = pods.keys().cloned().collect();
    client
        .each(whom, |name: &KubeName| {
            let pod = pods.get(name).cloned().unwrap_or_default();
            let namespace = name.namespace.clone();
            let port = if tls.contains(name) { format!("https:{EXPORTER_PORT}") } else { EXPORTER_PORT.to_string() };
            async move {
                let body = client.kube.pod_proxy(&namespace, &pod, &port, "metrics").await?;
                Ok(String::from_utf8_lossy(&body).into_owned())
            }
        })
        .await
}

/// Summaries of the nodes that primaries run on.
async fn kubelets(client: &Client<'_>, clusters: &[CnpgFact]) -> BTreeMap<String, Result<numbers::Summary, CallError>> {
    let nodes: BTreeSet<String> = clusters.iter().filter_map(|fact| primary(fact)?.node.clone()).collect();
    client
        .each(nodes.into_iter().collect(), |node: &String| {
            let node = node.clone();
            async move {
                let body = client.kube.node_proxy(&node, "stats/summary").await?;
                serde_json::from_slice(&body)
                    .map_err(|error| CallError::new(crate::tap::FailureKind::Malformed, error.to_string()))
            }
        })
        .await
}

fn volumes(
    fact: &CnpgFact,
    kubelets: &BTreeMap<String, Result<numbers::Summary, CallError>>,
    now: jiff::Timestamp,
) -> Vec<Sample> {
    let (Some(pod), Some(claims)) = (primary(fact), &fact.claims) else { return Vec::new() };
    let summary = pod.node.as_ref().and_then(|node| kubelets.get(node)?.as_ref().ok());
    summary.map(|of| numbers::volumes(of, &fact.cluster.namespace, pod, claims, &fact.subject, now)).unwrap_or_default()
}

/// Containers whose log may say what is wrong: of the primary whose archiving fails, of instances that are not ready or start again and
/// again, of jobs that failed.
fn troubled(fact: &CnpgFact) -> Vec<(String, String)> {
    let failing = fact.condition("ContinuousArchiving").is_some_and(crate::domain::Condition::is_false);
    let failed_jobs: BTreeSet<&str> =
        fact.jobs.iter().flatten().filter(|job| job.failed > 0).map(|job| job.name.as_str()).collect();
    let waits = |pod: &PodSeen| pod.containers.iter().any(|container| container.waiting.is_some() && container.restarts > 0);
    let mut found = Vec::new();
    for pod in fact.pods.iter().flatten() {
        let is_primary = fact.current_primary.as_deref() == Some(pod.name.as_str());
        let of_failed_job = pod.job.as_deref().is_some_and(|job| failed_jobs.contains(job));
        let of_instance = pod.job.is_none() && (pod.ready == Some(false) || waits(pod));
        if !(of_failed_job || of_instance || (failing && is_primary)) {
            continue;
        }
        let has = |name: &str| pod.containers.iter().any(|container| container.name == name);
        let first = pod.containers.iter().find(|container| !container.init).map(|container| container.name.clone());
        let main = if has(POSTGRES) { Some(POSTGRES.to_owned()) } else { first };
        let sidecar = has(SIDECAR).then(|| SIDECAR.to_owned());
        found.extend(main.into_iter().chain(sidecar).map(|container| (pod.name.clone(), container)));
    }
    found
}

/// Telling lines by namespace and pod, of all its containers that were read.
async fn pod_logs(client: &Client<'_>, clusters: &[CnpgFact]) -> BTreeMap<(String, String), Result<Vec<String>, CallError>> {
    let of_fact = |fact: &CnpgFact| {
        let namespace = fact.cluster.namespace.clone();
        troubled(fact).into_iter().map(move |(pod, container)| (namespace.clone(), pod, container)).collect::<Vec<_>>()
    };
    let whom: Vec<(String, String, String)> = clusters.iter().flat_map(of_fact).take(MOST_LOGS).collect();
    let answers = client
        .each(whom, |(namespace, pod, container): &(String, String, String)| {
            let (namespace, pod, container) = (namespace.clone(), pod.clone(), container.clone());
            async move { client.kube.log(&namespace, &pod, &container, logs::LINES).await }
        })
        .await;
    let mut found: BTreeMap<(String, String), Result<Vec<String>, CallError>> = BTreeMap::new();
    for ((namespace, pod, _), answer) in answers {
        let known = found.entry((namespace, pod)).or_insert_with(|| Ok(Vec::new()));
        match answer {
            Ok(text) => {
                if let Ok(lines) = known {
                    lines.extend(logs::telling(&text));
                }
            }
            // A pod that is gone by now, or a container that has not started, has no log: that is no gap.
            Err(error) if matches!(error.status, Some(400 | 404)) => {}
            Err(error) => *known = Err(error),
        }
    }
    found
}
