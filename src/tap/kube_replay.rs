//! Replay of Kubernetes from `NNN/kube/<context>/`. A list that has no file was not asked: "not recorded", never empty.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::format::{DeniedRow, RecordingError, read_json, read_lines, safe_name};
use super::kube_record::{identity, stem, stem_of_one};
use super::{CallError, FailureKind, KubeAbout, KubeAsk, KubeCalls, KubePage, Resource};

pub(super) struct ReplayingKube {
    source: String,
    folder: PathBuf,
    denied: Vec<DeniedRow>,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    items: Vec<Value>,
}

#[derive(Deserialize)]
struct Version {
    #[serde(default, rename = "gitVersion")]
    git_version: String,
}

impl ReplayingKube {
    pub(super) fn open(pass: &Path, context: &str) -> Result<Self, RecordingError> {
        let source = format!("kube/{}", safe_name(context));
        let denied = read_lines(pass, "denied.jsonl")?.unwrap_or_default();
        Ok(Self { folder: pass.join(&source), source, denied })
    }

    /// The failure that a row of `denied.jsonl` says, in the words of an API server.
    fn check(&self, verb: &str, what: &[&str]) -> Result<(), CallError> {
        let row = self.denied.iter().find(|row| what.iter().any(|what| row.covers(&self.source, verb, what)));
        let Some(row) = row else { return Ok(()) };
        let error = match (row.kind.as_str(), row.status) {
            ("absent_api", None) => CallError::answered(404, Some("NotFound".to_owned()), row.detail.clone()),
            _ => row.error(),
        };
        let forbidden = row.kind == "denied" && row.code.is_none();
        Err(error.with(|broken| {
            if forbidden {
                broken.code = Some("Forbidden".to_owned());
            }
        }))
    }

    fn read<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>, CallError> {
        read_json(&self.folder, name).map_err(|error| CallError::new(FailureKind::Malformed, error.to_string()))
    }

    /// `apis.json`: per group `served`, `absent` or `denied`.
    fn words(&self) -> Result<BTreeMap<String, String>, CallError> {
        Ok(self.read("apis.json")?.unwrap_or_default())
    }

    fn not_recorded(&self, what: &str) -> CallError {
        CallError::new(FailureKind::NotRecorded, format!("{}: {what}: not recorded", self.source))
    }

    fn text(&self, name: &str) -> Result<String, CallError> {
        match std::fs::read_to_string(self.folder.join(name)) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(self.not_recorded(name)),
            Err(error) => Err(CallError::new(FailureKind::Malformed, format!("{name}: {error}"))),
        }
    }

    /// Groups that some list of the folder is of: what a recording made by hand shows without `apis.json`.
    fn groups_of_files(&self) -> BTreeMap<String, Vec<String>> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let mut parts = name.splitn(3, '_');
            if let (Some(group), Some(version), Some(_)) = (parts.next(), parts.next(), parts.next())
                && group.contains('.')
            {
                let versions = groups.entry(group.to_owned()).or_default();
                if !versions.iter().any(|known| known == version) {
                    versions.push(version.to_owned());
                }
            }
        }
        groups
    }

    /// A list's objects; of one namespace also from the list of all.
    fn objects(&self, of: &Resource, namespace: Option<&str>) -> Result<Option<Vec<Value>>, CallError> {
        if let Some(list) = self.read::<List>(&format!("{}.json", stem(of, namespace)))? {
            return Ok(Some(list.items));
        }
        let Some(namespace) = namespace else { return Ok(None) };
        let whole = self.read::<List>(&format!("{}.json", stem(of, None)))?;
        Ok(whole.map(|list| list.items.into_iter().filter(|object| identity(object).0 == namespace).collect()))
    }
}

#[async_trait]
impl KubeCalls for ReplayingKube {
    async fn about(&self) -> Result<KubeAbout, CallError> {
        self.check("get", &["apis"])?;
        if !self.folder.is_dir() {
            return Err(self.not_recorded("apis"));
        }
        let version = self.read::<Version>("version.json")?.map(|version| version.git_version).unwrap_or_default();
        let mut groups = self.groups_of_files();
        groups.extend(self.read::<BTreeMap<String, Vec<String>>>("versions.json")?.unwrap_or_default());
        for (group, word) in self.words()? {
            if word == "absent" {
                groups.remove(&group);
            } else {
                // A group that may not be seen is there, and its lists are denied.
                groups.entry(group).or_insert_with(|| vec!["v1".to_owned()]);
            }
        }
        Ok(KubeAbout { version, groups })
    }

    async fn list(&self, of: &Resource, ask: &KubeAsk) -> Result<KubePage, CallError> {
        let (exact, whole) = (stem(of, ask.namespace.as_deref()), stem(of, None));
        self.check("list", &[&exact, &whole])?;
        if self.words()?.get(&of.group).is_some_and(|word| word == "denied") {
            let detail = format!("{of} is forbidden: cannot list resource \"{}\" in API group \"{}\"", of.plural, of.group);
            return Err(CallError::answered(403, Some("Forbidden".to_owned()), detail));
        }
        let objects = self.objects(of, ask.namespace.as_deref())?.ok_or_else(|| self.not_recorded(&exact))?;
        let wanted = |object: &Value| {
            ask.labels.as_deref().is_none_or(|labels| has_labels(object, labels))
                && ask.fields.as_deref().is_none_or(|fields| has_fields(object, fields))
        };
        Ok(KubePage { items: objects.into_iter().filter(wanted).collect(), next: None })
    }

    async fn get(&self, of: &Resource, namespace: Option<&str>, name: &str) -> Result<Value, CallError> {
        let one = stem_of_one(of, namespace, name);
        self.check("get", &[&one, &stem(of, namespace)])?;
        if let Some(object) = self.read::<Value>(&format!("one/{one}.json"))? {
            return Ok(object);
        }
        let objects = self.objects(of, namespace)?.ok_or_else(|| self.not_recorded(&one))?;
        let found = objects.into_iter().find(|object| {
            let (lies_in, called) = identity(object);
            called == name && namespace.is_none_or(|namespace| lies_in == namespace)
        });
        found.ok_or_else(|| CallError::answered(404, Some("NotFound".to_owned()), format!("{of} \"{name}\" not found")))
    }

    async fn log(&self, namespace: &str, pod: &str, container: &str, _lines: u32) -> Result<String, CallError> {
        let name = [namespace, pod, container].map(safe_name).join("_");
        self.check("log", &[&name])?;
        self.text(&format!("logs/{name}.txt"))
    }

    async fn pod_proxy(&self, namespace: &str, pod: &str, _port: &str, _path: &str) -> Result<Bytes, CallError> {
        let name = [namespace, pod].map(safe_name).join("_");
        self.check("proxy", &[&name])?;
        self.text(&format!("metrics/{name}.prom")).map(Bytes::from)
    }

    async fn node_proxy(&self, node: &str, _path: &str) -> Result<Bytes, CallError> {
        let name = safe_name(node);
        self.check("proxy", &[&format!("node/{name}")])?;
        self.text(&format!("kubelet/{name}.json")).map(Bytes::from)
    }
}

/// Equality-based selectors as we write them: `cnpg.io/cluster`, `app=x`, joined by commas.
pub(super) fn has_labels(object: &Value, selector: &str) -> bool {
    selector.split(',').all(|one| {
        let (key, value) = one.split_once('=').map_or((one, None), |(key, value)| (key, Some(value.trim_start_matches('='))));
        let label = object.pointer("/metadata/labels").and_then(|labels| labels.get(key)).and_then(Value::as_str);
        label.is_some_and(|label| value.is_none_or(|value| label == value))
    })
}

/// `involvedObject.apiVersion=postgresql.cnpg.io/v1`, joined by commas. An object that does not show the field is let through: what is
/// kept of it may be less than it was asked by.
fn has_fields(object: &Value, selector: &str) -> bool {
    selector.split(',').all(|one| {
        let Some((path, wanted)) = one.split_once('=') else { return true };
        let value = object.pointer(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_str);
        value.is_none_or(|value| value == wanted.trim_start_matches('='))
    })
}
