//! Recording of Kubernetes: `NNN/kube/<context>/`. What is kept passed the wire types first ([`KeepKube`]).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};

use super::format::safe_name;
use super::record::Files;
use super::{CallError, KeepKube, KubeAbout, KubeAsk, KubeCalls, KubeCounts, KubePage, Resource};

/// The name of a list's file, without its ending: `postgresql.cnpg.io_v1_clusters`, `core_v1_pods@keycloak`.
pub(super) fn stem(of: &Resource, namespace: Option<&str>) -> String {
    let group = if of.group.is_empty() { "core" } else { &of.group };
    let whole = safe_name(&format!("{group}_{}_{}", of.version, of.plural));
    namespace.map_or_else(|| whole.clone(), |namespace| format!("{whole}@{}", safe_name(namespace)))
}

/// The name of a single object's file, without its ending.
pub(super) fn stem_of_one(of: &Resource, namespace: Option<&str>, name: &str) -> String {
    format!("{}_{}", stem(of, namespace), safe_name(name))
}

/// Namespace and name: what tells an object from the others of its kind.
pub(super) fn identity(object: &Value) -> (String, String) {
    let meta = |key: &str| object.pointer(&format!("/metadata/{key}")).and_then(Value::as_str).unwrap_or_default().to_owned();
    (meta("namespace"), meta("name"))
}

/// Lists so far, by file: two questions with different selectors are one file.
#[derive(Debug, Default)]
pub(super) struct Notes {
    folder: String,
    lists: Mutex<BTreeMap<String, Objects>>,
}

/// Objects by namespace and name.
type Objects = BTreeMap<(String, String), Value>;

impl Notes {
    pub(super) fn write(&self, files: &Files) {
        let Ok(lists) = self.lists.lock() else { return };
        for (stem, objects) in lists.iter() {
            let items: Vec<&Value> = objects.values().collect();
            files.json(&format!("{}/{stem}.json", self.folder), &json!({ "kind": "List", "items": items }));
        }
    }
}

pub(super) struct RecordingKube {
    files: Arc<Files>,
    source: String,
    inner: Arc<dyn KubeCalls>,
    keep: Arc<dyn KeepKube>,
    notes: Arc<Notes>,
}

impl RecordingKube {
    pub(super) fn new(files: Arc<Files>, context: &str, inner: Arc<dyn KubeCalls>, keep: Arc<dyn KeepKube>) -> Self {
        let folder = format!("kube/{}", safe_name(context));
        Self { files, source: folder.clone(), inner, keep, notes: Arc::new(Notes { folder, lists: Mutex::default() }) }
    }

    pub(super) fn notes(&self) -> Arc<Notes> {
        Arc::clone(&self.notes)
    }

    /// What is kept of an object. One that no wire type reads keeps its name, so that the list stays as long as it was.
    fn kept(&self, of: &Resource, object: &Value) -> Value {
        self.keep.object(of, object).unwrap_or_else(|| {
            let (namespace, name) = identity(object);
            json!({ "metadata": { "namespace": namespace, "name": name } })
        })
    }

    fn note<T>(&self, verb: &str, what: &str, result: &Result<T, CallError>) {
        if let Err(error) = result {
            self.files.denied(&self.source, verb, what, error);
        }
    }

    fn text(&self, name: &str, text: &str) {
        self.files.bytes(&format!("{}/{name}", self.source), text.as_bytes());
    }
}

#[async_trait]
impl KubeCalls for RecordingKube {
    async fn about(&self) -> Result<KubeAbout, CallError> {
        let result = self.inner.about().await;
        self.note("get", "apis", &result);
        if let Ok(about) = &result {
            self.files.json(&format!("{}/version.json", self.source), &json!({ "gitVersion": about.version }));
            let words: BTreeMap<&str, &str> = about.groups.keys().map(|group| (group.as_str(), "served")).collect();
            self.files.json(&format!("{}/apis.json", self.source), &words);
            self.files.json(&format!("{}/versions.json", self.source), &about.groups);
        }
        result
    }

    async fn list(&self, of: &Resource, ask: &KubeAsk) -> Result<KubePage, CallError> {
        let result = self.inner.list(of, ask).await;
        if !self.keep.keeps(of) {
            return result;
        }
        let stem = stem(of, ask.namespace.as_deref());
        // A token that expired is asked again from the start; what is written is what came of that.
        let again = ask.token.is_some() && result.as_ref().is_err_and(|error| error.status == Some(410));
        if !again {
            self.note("list", &stem, &result);
        }
        if let (Ok(page), Ok(mut lists)) = (&result, self.notes.lists.lock()) {
            let list = lists.entry(stem).or_default();
            for object in &page.items {
                list.insert(identity(object), self.kept(of, object));
            }
        }
        result
    }

    async fn get(&self, of: &Resource, namespace: Option<&str>, name: &str) -> Result<Value, CallError> {
        let result = self.inner.get(of, namespace, name).await;
        if self.keep.keeps(of) {
            let stem = stem_of_one(of, namespace, name);
            self.note("get", &stem, &result);
            if let Ok(object) = &result {
                self.files.json(&format!("{}/one/{stem}.json", self.source), &self.kept(of, object));
            }
        }
        result
    }

    async fn log(&self, namespace: &str, pod: &str, container: &str, lines: u32) -> Result<String, CallError> {
        let result = self.inner.log(namespace, pod, container, lines).await;
        let name = [namespace, pod, container].map(safe_name).join("_");
        self.note("log", &name, &result);
        if let Some(kept) = result.as_ref().ok().and_then(|text| self.keep.log(text)) {
            self.text(&format!("logs/{name}.txt"), &kept);
        }
        result
    }

    async fn pod_proxy(&self, namespace: &str, pod: &str, port: &str, path: &str) -> Result<Bytes, CallError> {
        let result = self.inner.pod_proxy(namespace, pod, port, path).await;
        let name = [namespace, pod].map(safe_name).join("_");
        self.note("proxy", &name, &result);
        let text = result.as_ref().ok().map(|bytes| String::from_utf8_lossy(bytes));
        if let Some(kept) = text.and_then(|text| self.keep.metrics(&text)) {
            self.text(&format!("metrics/{name}.prom"), &kept);
        }
        result
    }

    async fn node_proxy(&self, node: &str, path: &str) -> Result<Bytes, CallError> {
        let result = self.inner.node_proxy(node, path).await;
        let name = safe_name(node);
        self.note("proxy", &format!("node/{name}"), &result);
        let body = result.as_ref().ok().and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok());
        if let Some(kept) = body.and_then(|body| self.keep.kubelet(&body)) {
            self.files.json(&format!("{}/kubelet/{name}.json", self.source), &kept);
        }
        result
    }

    fn counts(&self) -> KubeCounts {
        self.inner.counts()
    }
}
