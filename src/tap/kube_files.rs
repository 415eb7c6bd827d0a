//! Kubernetes from rendered manifests: files and folders of YAML instead of an API server.
//!
//! Only objects that a manifest writes down are listed. Everything that a running cluster adds (pods, claims, events, Backups, status)
//! was never asked: each such call fails as not sent, so that nobody reads "there is none" out of a text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::Value;

use super::kube_texts::{Document, documents, files, read};
use super::{CallError, FailureKind, KubeAbout, KubeAsk, KubeCalls, KubePage, Resource};
use crate::domain::{Exit, ExitCode, Explained};
use crate::yaml;

/// Objects more than these are not read: it is no site's manifests any more.
const MOST_OBJECTS: usize = 20_000;
/// The version of each group that is read.
const VERSION: &str = "v1";
/// The namespace of an object that names none, as `kubectl apply` has it.
const DEFAULT_NAMESPACE: &str = "default";

/// Kinds that are read: API group, kind, plural.
const KINDS: &[(&str, &str, &str)] = &[
    ("postgresql.cnpg.io", "Cluster", "clusters"),
    ("postgresql.cnpg.io", "ScheduledBackup", "scheduledbackups"),
    ("barmancloud.cnpg.io", "ObjectStore", "objectstores"),
];

/// One thing that is wrong with the texts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {what}")]
pub struct ManifestMistake {
    /// `FILE:LINE:COLUMN`, `FILE:LINE`, or a path.
    pub at: String,
    /// What is wrong.
    pub what: String,
}

/// Manifests that cannot be judged, with every mistake that is in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestsError(pub Vec<ManifestMistake>);

impl std::error::Error for ManifestsError {}

impl std::fmt::Display for ManifestsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_slice() {
            [one] => write!(f, "{one}"),
            several => {
                write!(f, "{} mistakes in the manifests", several.len())?;
                several.iter().try_for_each(|mistake| write!(f, "\n  {mistake}"))
            }
        }
    }
}

impl Explained for ManifestsError {
    fn code(&self) -> &'static str {
        "manifests-unusable"
    }

    fn hint(&self) -> Option<String> {
        Some("give what would be applied: helm template … > DIR/all.yaml, or kustomize build … > DIR/all.yaml".to_owned())
    }

    fn exit(&self) -> Exit {
        ExitCode::Usage
    }
}

/// Objects of manifests, by resource.
#[derive(Debug, Default)]
pub struct KubeFiles {
    objects: BTreeMap<&'static str, Vec<Value>>,
    count: usize,
    /// Where each object stands: plural, namespace, name.
    places: BTreeMap<(&'static str, String, String), String>,
}

impl KubeFiles {
    /// Reads files and folders, to the end, and answers every mistake at once.
    pub fn open(paths: &[PathBuf]) -> Result<Self, ManifestsError> {
        let (mut found, mut mistakes) = (Self::default(), Vec::new());
        for path in paths {
            match files(path) {
                Ok(files) => files.iter().for_each(|file| found.take_file(file, &mut mistakes)),
                Err(mistake) => mistakes.push(mistake),
            }
        }
        if mistakes.is_empty() && found.count == 0 {
            // No object must not read as "nothing is wrong".
            let at = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
            mistakes.push(ManifestMistake {
                at,
                what: "holds no Cluster, ScheduledBackup or ObjectStore of CloudNativePG".to_owned(),
            });
        }
        if mistakes.is_empty() { Ok(found) } else { Err(ManifestsError(mistakes)) }
    }

    fn take_file(&mut self, file: &Path, mistakes: &mut Vec<ManifestMistake>) {
        let text = match read(file) {
            Ok(text) => text,
            Err(mistake) => return mistakes.push(mistake),
        };
        for document in documents(&text) {
            if document.is_definition() || document.is_empty() {
                continue;
            }
            match yaml::parse(document.text) {
                Ok(node) => self.take(&node.json(), &format!("{}:{}", file.display(), document.first_line), mistakes),
                Err(broken) => mistakes.push(malformed(file, &document, &broken)),
            }
        }
    }

    /// An object, or the objects of a list.
    fn take(&mut self, object: &Value, at: &str, mistakes: &mut Vec<ManifestMistake>) {
        let word = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let (api, kind) = (word("apiVersion"), word("kind"));
        if let Some(items) = object.get("items").and_then(Value::as_array).filter(|_| kind.ends_with("List")) {
            for item in items {
                self.take(item, at, mistakes);
            }
            return;
        }
        let Some((group, version)) = api.split_once('/') else { return };
        let Some((_, _, plural)) = KINDS.iter().find(|known| known.0 == group && known.1 == kind) else { return };
        let mut say = |what: String| mistakes.push(ManifestMistake { at: at.to_owned(), what });
        if version != VERSION {
            return say(format!("{kind} is of {api}, and {group}/{VERSION} is read"));
        }
        let meta = |key: &str| object.pointer(&format!("/metadata/{key}")).and_then(Value::as_str).unwrap_or_default();
        let (name, written) = (meta("name").to_owned(), meta("namespace"));
        let namespace = if written.is_empty() { DEFAULT_NAMESPACE } else { written }.to_owned();
        if name.is_empty() {
            return say(format!("{kind} has no metadata.name"));
        }
        if self.count >= MOST_OBJECTS {
            return say(format!("more than {MOST_OBJECTS} objects"));
        }
        if let Some(first) = self.places.insert((*plural, namespace.clone(), name.clone()), at.to_owned()) {
            return say(format!("{kind} {namespace}/{name} stands here a second time, first at {first}"));
        }
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("namespace".to_owned(), Value::String(namespace));
        }
        self.count += 1;
        self.objects.entry(plural).or_default().push(object);
    }
}

fn malformed(file: &Path, document: &Document<'_>, broken: &yaml::Broken) -> ManifestMistake {
    let line = document.first_line + broken.at.line.saturating_sub(1);
    let column = if broken.at.column == 0 { String::new() } else { format!(":{}", broken.at.column) };
    ManifestMistake { at: format!("{}:{line}{column}", file.display()), what: broken.what.clone() }
}

fn not_asked(what: &str) -> CallError {
    CallError::new(FailureKind::NotSent, format!("manifests do not tell {what}"))
}

#[async_trait]
impl KubeCalls for KubeFiles {
    async fn about(&self) -> Result<KubeAbout, CallError> {
        // Both groups: what a manifest refers to and none of them defines is not there, which is a finding and no gap.
        let groups = KINDS.iter().map(|(group, ..)| ((*group).to_owned(), vec![VERSION.to_owned()])).collect();
        Ok(KubeAbout { version: String::new(), groups })
    }

    async fn list(&self, of: &Resource, ask: &KubeAsk) -> Result<KubePage, CallError> {
        let known = KINDS.iter().any(|(group, _, plural)| *group == of.group && *plural == of.plural);
        if !known || ask.fields.is_some() {
            return Err(not_asked(&of.to_string()));
        }
        let all = self.objects.get(of.plural.as_str()).into_iter().flatten();
        let lies_in = |object: &Value| object.pointer("/metadata/namespace").and_then(Value::as_str).map(str::to_owned);
        let wanted = |object: &&Value| {
            (ask.namespace.is_none() || lies_in(object) == ask.namespace)
                && ask.labels.as_deref().is_none_or(|labels| super::kube_replay::has_labels(object, labels))
        };
        Ok(KubePage { items: all.filter(wanted).cloned().collect(), next: None })
    }

    async fn get(&self, of: &Resource, namespace: Option<&str>, name: &str) -> Result<Value, CallError> {
        let ask = KubeAsk { namespace: namespace.map(str::to_owned), ..KubeAsk::default() };
        let page = self.list(of, &ask).await?;
        let named = |object: &Value| object.pointer("/metadata/name").and_then(Value::as_str) == Some(name);
        page.items.into_iter().find(named).ok_or_else(|| not_asked(&format!("{of} {name}")))
    }

    async fn log(&self, _: &str, pod: &str, _: &str, _: u32) -> Result<String, CallError> {
        Err(not_asked(&format!("the log of {pod}")))
    }

    async fn pod_proxy(&self, _: &str, pod: &str, _: &str, _: &str) -> Result<Bytes, CallError> {
        Err(not_asked(&format!("what {pod} answers")))
    }

    async fn node_proxy(&self, node: &str, _: &str) -> Result<Bytes, CallError> {
        Err(not_asked(&format!("what {node} answers")))
    }
}
