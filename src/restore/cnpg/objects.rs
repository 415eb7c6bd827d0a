//! The objects of a drill, as JSON. Pure: everything is derived from run id and step.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::settings::ArchiveKeys;
use crate::archive::RecoveryTarget;
use crate::domain::{ArchivePlace, RunId, Secret};
use crate::tap::Resource;

/// The label that bears the run's id.
pub const RUN: &str = "dalsegno.io/run";
/// The label that bears the step's name.
pub const STEP: &str = "dalsegno.io/step";
/// The label that says that it was made by us, and its value.
pub const MADE_BY: (&str, &str) = ("dalsegno.io/made-by", "dalsegno");
/// The annotation that says until when a drill may need it, wherever its journal is.
pub const UNTIL: &str = "dalsegno.io/until";

/// The Secret with our read-only keys.
pub const KEYS: &str = "drill-keys";
/// The Secret with the superuser's password.
pub const SUPERUSER: &str = "drill-superuser";
/// The ObjectStore.
pub const OBJECT_STORE: &str = "drill-src";
/// The NetworkPolicy.
pub const POLICY: &str = "drill-closed";
/// The external cluster in the Cluster's spec.
const SOURCE: &str = "src";

/// CNPG's group.
pub const CNPG: &str = "postgresql.cnpg.io";
/// The barman-cloud plugin's group, and its name.
pub const BARMAN: &str = "barmancloud.cnpg.io";
const PLUGIN: &str = "barman-cloud.cloudnative-pg.io";

/// Kinds.
pub fn namespaces() -> Resource {
    Resource::new("", "v1", "namespaces")
}
/// Secrets: made, never read.
pub fn secrets() -> Resource {
    Resource::new("", "v1", "secrets")
}
/// Pods.
pub fn pods() -> Resource {
    Resource::new("", "v1", "pods")
}
/// Jobs.
pub fn jobs() -> Resource {
    Resource::new("batch", "v1", "jobs")
}
/// NetworkPolicies.
pub fn policies() -> Resource {
    Resource::new("networking.k8s.io", "v1", "networkpolicies")
}
/// CNPG's Clusters.
pub fn clusters() -> Resource {
    Resource::new(CNPG, "v1", "clusters")
}
/// The plugin's ObjectStores.
pub fn object_stores() -> Resource {
    Resource::new(BARMAN, "v1", "objectstores")
}

/// The namespace of a step.
pub fn namespace_name(run: RunId, step: &str) -> String {
    format!("{}{}", namespace_start(run), dns(step))
}

/// How the names of all namespaces of a run begin.
pub fn namespace_start(run: RunId) -> String {
    format!("dalsegno-{}-", run.short())
}

/// The Cluster of a step. CNPG allows 50 characters, and appends.
pub fn cluster_name(run: RunId, step: &str) -> String {
    let step: String = dns(step).chars().take(20).collect();
    format!("drill-{}-{}", run.short(), step.trim_matches('-'))
}

/// A step's name as a part of a DNS label.
fn dns(step: &str) -> String {
    let mapped = step.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let text: String = mapped.take(40).collect();
    text.trim_matches('-').to_owned()
}

/// Labels of what a step makes.
fn labels(run: RunId, step: &str) -> Value {
    json!({RUN: run.to_string(), STEP: dns(step), MADE_BY.0: MADE_BY.1})
}

/// A text of an object.
pub fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A label of an object.
pub fn label<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.pointer("/metadata/labels")?.get(name)?.as_str()
}

/// Whether an object was made by this step of this run.
pub fn is_of(object: &Value, run: RunId, step: &str) -> bool {
    label(object, MADE_BY.0) == Some(MADE_BY.1)
        && label(object, RUN) == Some(run.to_string().as_str())
        && label(object, STEP) == Some(dns(step).as_str())
}

/// The namespace.
pub fn namespace(name: &str, run: RunId, step: &str, until: Timestamp) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "labels": labels(run, step), "annotations": {UNTIL: until.to_string()}},
    })
}

/// Nobody comes in but to the instance manager's port, which the operator asks; out go only names, HTTPS, the API server and the
/// store. Whether it is enforced is the network's business, and nothing is claimed of it.
pub fn policy(namespace: &str, run: RunId, step: &str, store_port: u16) -> Value {
    let tcp = |port: u16| json!({"protocol": "TCP", "port": port});
    let mut out = vec![json!({"protocol": "UDP", "port": 53}), tcp(53), tcp(443), tcp(6443)];
    if ![53, 443, 6443].contains(&store_port) {
        out.push(tcp(store_port));
    }
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": POLICY, "namespace": namespace, "labels": labels(run, step)},
        "spec": {
            "podSelector": {}, "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"ports": [tcp(8000)]}], "egress": [{"ports": out}],
        },
    })
}

/// The Secret with our keys.
pub fn keys(namespace: &str, run: RunId, step: &str, keys: &ArchiveKeys, ca_pem: Option<&str>) -> Value {
    let mut data = Map::new();
    let mut put = |name: &str, value: &str| data.insert(name.to_owned(), Value::from(value));
    put("id", keys.id.expose());
    put("secret", keys.secret.expose());
    put("region", &keys.region);
    if let Some(token) = &keys.token {
        put("token", token.expose());
    }
    if let Some(ca) = ca_pem {
        put("ca.crt", ca);
    }
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": KEYS, "namespace": namespace, "labels": labels(run, step)}, "stringData": data,
    })
}

/// The Secret from which the operator takes the superuser's password.
pub fn superuser(namespace: &str, run: RunId, step: &str, password: &Secret) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth",
        "metadata": {"name": SUPERUSER, "namespace": namespace, "labels": labels(run, step)},
        "stringData": {"username": "postgres", "password": password.expose()},
    })
}

/// An archive as CNPG spells it: a `barmanObjectStore`, without anything that writes or removes.
#[derive(Clone, Debug)]
pub struct Reached<'a> {
    /// Where it lies.
    pub place: &'a ArchivePlace,
    /// The endpoint as pods reach it.
    pub endpoint: &'a str,
    /// Whether the Secret holds a session token.
    pub token: bool,
    /// Whether the Secret holds an authority.
    pub ca: bool,
}

impl Reached<'_> {
    fn configuration(&self) -> Value {
        let key = |key: &str| json!({"name": KEYS, "key": key});
        let path = self.place.prefix.as_str().trim_matches('/');
        let destination =
            if path.is_empty() { format!("s3://{}", self.place.bucket) } else { format!("s3://{}/{path}", self.place.bucket) };
        let mut credentials = json!({"accessKeyId": key("id"), "secretAccessKey": key("secret"), "region": key("region")});
        if let (true, Some(map)) = (self.token, credentials.as_object_mut()) {
            map.insert("sessionToken".to_owned(), key("token"));
        }
        let mut all = json!({
            "destinationPath": destination, "endpointURL": self.endpoint, "s3Credentials": credentials, "wal": {"maxParallel": 4},
        });
        if let (true, Some(map)) = (self.ca, all.as_object_mut()) {
            map.insert("endpointCA".to_owned(), key("ca.crt"));
        }
        all
    }

    /// The ObjectStore: no retentionPolicy, so that nothing is ever removed through it.
    pub fn object_store(&self, namespace: &str, run: RunId, step: &str) -> Value {
        let variable = |name: &str| json!({"name": name, "value": "when_required"});
        json!({
            "apiVersion": format!("{BARMAN}/v1"), "kind": "ObjectStore",
            "metadata": {"name": OBJECT_STORE, "namespace": namespace, "labels": labels(run, step)},
            "spec": {
                "configuration": self.configuration(),
                "instanceSidecarConfiguration": {
                    "env": [variable("AWS_REQUEST_CHECKSUM_CALCULATION"), variable("AWS_RESPONSE_CHECKSUM_VALIDATION")],
                },
            },
        })
    }

    /// The external cluster: by the plugin, else in the tree.
    fn external(&self, by_plugin: bool) -> Value {
        if by_plugin {
            let parameters = json!({"barmanObjectName": OBJECT_STORE, "serverName": self.place.server});
            return json!({"name": SOURCE, "plugin": {"name": PLUGIN, "parameters": parameters}});
        }
        let mut store = self.configuration();
        if let Some(map) = store.as_object_mut() {
            map.insert("serverName".to_owned(), Value::from(self.place.server.as_str()));
        }
        json!({"name": SOURCE, "barmanObjectStore": store})
    }
}

/// What the recovered Cluster looks like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    /// Image.
    pub image: String,
    /// Size of the data volume.
    pub storage: String,
    /// Size of a WAL volume.
    pub wal_storage: Option<String>,
    /// Storage class.
    pub storage_class: Option<String>,
    /// `postgresql.parameters` of the source.
    pub parameters: BTreeMap<String, String>,
    /// `tablespaces` of the source.
    pub tablespaces: Option<Value>,
    /// From where, for people.
    pub whence: String,
}

/// Where it must be recovered from and to.
#[derive(Clone, Copy, Debug)]
pub struct Aim<'a> {
    /// The base backup that was chosen.
    pub backup: &'a str,
    /// The timeline that was chosen.
    pub timeline: u32,
    /// The target.
    pub target: RecoveryTarget,
}

/// The Cluster: one instance, no plugin and no backup of its own, so that it has nowhere to archive to. Backup and timeline are the
/// ones that were chosen, never "latest": what the catalogue said beforehand must be what is restored.
pub fn cluster(
    namespace: &str,
    name: &str,
    (run, step): (RunId, &str),
    form: &Form,
    from: &Reached<'_>,
    aim: Aim<'_>,
    by_plugin: bool,
) -> Value {
    let volume = |size: &str| {
        let mut volume = json!({"size": size});
        if let (Some(class), Some(map)) = (&form.storage_class, volume.as_object_mut()) {
            map.insert("storageClass".to_owned(), Value::from(class.as_str()));
        }
        volume
    };
    let mut target = json!({"backupID": aim.backup, "targetTLI": aim.timeline.to_string()});
    if let (RecoveryTarget::Time(moment), Some(map)) = (aim.target, target.as_object_mut()) {
        map.insert("targetTime".to_owned(), Value::from(moment.to_string()));
    }
    let mut spec = json!({
        "instances": 1, "imageName": form.image, "enableSuperuserAccess": true, "superuserSecret": {"name": SUPERUSER},
        "inheritedMetadata": {"labels": labels(run, step)},
        "storage": volume(&form.storage),
        "bootstrap": {"recovery": {"source": SOURCE, "recoveryTarget": target}},
        "externalClusters": [from.external(by_plugin)],
    });
    if let Some(map) = spec.as_object_mut() {
        if let Some(size) = &form.wal_storage {
            map.insert("walStorage".to_owned(), volume(size));
        }
        if !form.parameters.is_empty() {
            map.insert("postgresql".to_owned(), json!({"parameters": form.parameters}));
        }
        if let Some(tablespaces) = &form.tablespaces {
            map.insert("tablespaces".to_owned(), tablespaces.clone());
        }
    }
    json!({
        "apiVersion": format!("{CNPG}/v1"), "kind": "Cluster",
        "metadata": {"name": name, "namespace": namespace, "labels": labels(run, step)}, "spec": spec,
    })
}

/// What in a Cluster, as the server keeps it, could archive or lift the guard of its archive; empty = nothing.
pub fn could_archive(cluster: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if cluster.pointer("/spec/plugins").and_then(Value::as_array).is_some_and(|plugins| !plugins.is_empty()) {
        found.push("spec.plugins is not empty".to_owned());
    }
    if cluster.pointer("/spec/backup").is_some_and(|backup| !backup.is_null()) {
        found.push("spec.backup is there".to_owned());
    }
    let annotations = cluster.pointer("/metadata/annotations");
    if annotations.and_then(|all| all.get("cnpg.io/skipEmptyWalArchiveCheck")).is_some() {
        found.push("the annotation cnpg.io/skipEmptyWalArchiveCheck is there".to_owned());
    }
    found
}

/// Major version of an image's tag: `…/postgresql:16.4-bookworm`; `None` when the tag does not begin with it.
pub fn major_of(image: &str) -> Option<u32> {
    let image = image.split('@').next()?;
    let (_, tag) = image.rsplit_once(':')?;
    let digits: String = tag.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|major| (9..100).contains(major))
}
