//! What a Cluster asks for, read from its JSON as the operator reads it.

use std::collections::BTreeMap;

use kube::Client;
use serde_json::Value;

use crate::LabError;
use crate::barman::{BaseCompression, WalCompression};
use crate::kube::apply::api;
use crate::s3::Keys;

/// The plugin's name.
pub(super) const PLUGIN: &str = "barman-cloud.cloudnative-pg.io";
const CNPG: &str = "postgresql.cnpg.io/v1";

/// Where an archive is, and how it is written.
#[derive(Debug, Clone)]
pub(super) struct Location {
    pub(super) destination: String,
    pub(super) endpoint: String,
    pub(super) server: String,
    /// The ObjectStore, when the plugin writes it.
    pub(super) object_store: Option<String>,
    /// Name and key of a Secret: the id, then the secret.
    pub(super) secrets: [(String, String); 2],
    pub(super) wal: WalCompression,
    pub(super) base: BaseCompression,
}

impl Location {
    /// Bucket and path of `s3://bucket/path`.
    pub(super) fn place(&self) -> Result<(&str, &str), LabError> {
        let below = self.destination.strip_prefix("s3://");
        let below = below.ok_or_else(|| LabError::Other(format!("{} is no S3 URL", self.destination)))?;
        Ok(below.split_once('/').unwrap_or((below, "")))
    }

    /// The keys in the Secrets now.
    pub(super) async fn keys(&self, client: &Client, namespace: &str) -> Result<Keys, LabError> {
        let mut found = Vec::new();
        for (name, key) in &self.secrets {
            found.push(secret_value(client, namespace, name, key).await?);
        }
        match found.as_slice() {
            [id, secret] => Ok(Keys::new(id.clone(), secret.clone())),
            _ => Err(LabError::Other("two keys were asked for".into())),
        }
    }
}

/// Where a new server's data comes from.
#[derive(Debug, Clone)]
pub(super) struct Recovery {
    pub(super) from: Location,
    /// `recoveryTarget`: field and value.
    pub(super) target: BTreeMap<String, String>,
}

/// What a Cluster asks for.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) image: String,
    pub(super) major: u32,
    pub(super) storage: u64,
    pub(super) wal_storage: Option<u64>,
    pub(super) segment_mib: u32,
    pub(super) parameters: BTreeMap<String, String>,
    pub(super) superuser: bool,
    /// `superuserSecret.name`: where its password is given, instead of made.
    pub(super) superuser_secret: Option<String>,
    pub(super) archive: Option<Location>,
    pub(super) recovery: Option<Recovery>,
    /// The guard against an archive that is not empty is switched off.
    pub(super) any_archive: bool,
    /// Archiving is switched off.
    pub(super) no_archive: bool,
    /// Database and owner of the application.
    pub(super) application: (String, String),
    pub(super) default_queries: bool,
}

impl Spec {
    /// Reads a Cluster; objects that it names are looked up.
    pub(super) async fn read(client: &Client, object: &Value) -> Result<Spec, LabError> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let namespace = text("/metadata/namespace").unwrap_or_default();
        let name = text("/metadata/name").unwrap_or_default();
        let image = text("/spec/imageName").unwrap_or_else(|| "ghcr.io/cloudnative-pg/postgresql:16.4".to_owned());
        let bootstrap = if object.pointer("/spec/bootstrap/recovery").is_some() { "recovery" } else { "initdb" };
        let of_bootstrap = |field: &str| text(&format!("/spec/bootstrap/{bootstrap}/{field}"));
        let annotation = |name: &str| text(&format!("/metadata/annotations/{}", name.replace('/', "~1")));
        let parameters = object.pointer("/spec/postgresql/parameters").and_then(Value::as_object);
        let parameters =
            parameters.into_iter().flatten().filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect();
        let segment = object.pointer("/spec/bootstrap/initdb/walSegmentSize").and_then(Value::as_u64);
        Ok(Spec {
            major: major(&image),
            storage: text("/spec/storage/size").and_then(|size| bytes(&size)).unwrap_or(1 << 30),
            wal_storage: text("/spec/walStorage/size").and_then(|size| bytes(&size)),
            segment_mib: segment.and_then(|n| u32::try_from(n).ok()).unwrap_or(16),
            superuser: object.pointer("/spec/enableSuperuserAccess").and_then(Value::as_bool).unwrap_or(false),
            superuser_secret: text("/spec/superuserSecret/name"),
            archive: archive(client, object, &namespace, &name).await?,
            recovery: recovery(client, object, &namespace).await?,
            any_archive: annotation("cnpg.io/skipEmptyWalArchiveCheck").as_deref() == Some("enabled"),
            no_archive: annotation("cnpg.io/skipWalArchiving").as_deref() == Some("enabled"),
            application: (
                of_bootstrap("database").unwrap_or_else(|| "app".to_owned()),
                of_bootstrap("owner").unwrap_or_else(|| "app".to_owned()),
            ),
            default_queries: object.pointer("/spec/monitoring/disableDefaultQueries") != Some(&Value::Bool(true)),
            uid: text("/metadata/uid").unwrap_or_default(),
            parameters,
            namespace,
            name,
            image,
        })
    }

    /// The name of its one instance: pod and claim are called so too.
    pub(super) fn instance(&self) -> String {
        format!("{}-1", self.name)
    }
}

/// Where a Cluster archives: by the plugin, else by the field in the tree.
async fn archive(client: &Client, object: &Value, namespace: &str, name: &str) -> Result<Option<Location>, LabError> {
    let plugins = object.pointer("/spec/plugins").and_then(Value::as_array);
    for plugin in plugins.into_iter().flatten() {
        let is = |field: &str| plugin.get(field).and_then(Value::as_bool);
        let ours = plugin.get("name").and_then(Value::as_str) == Some(PLUGIN);
        if ours && is("enabled") != Some(false) && is("isWALArchiver") == Some(true) {
            return by_plugin(client, plugin, namespace, name).await.map(Some);
        }
    }
    object.pointer("/spec/backup/barmanObjectStore").map(|store| location(store, name, None)).transpose()
}

async fn recovery(client: &Client, object: &Value, namespace: &str) -> Result<Option<Recovery>, LabError> {
    let Some(recovery) = object.pointer("/spec/bootstrap/recovery") else { return Ok(None) };
    let target = recovery.get("recoveryTarget").and_then(Value::as_object);
    let target = target
        .into_iter()
        .flatten()
        .map(|(field, value)| (field.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    let from = match recovery.pointer("/source").and_then(Value::as_str) {
        Some(source) => {
            let all = object.pointer("/spec/externalClusters").and_then(Value::as_array);
            let found = all.into_iter().flatten().find(|one| one.get("name").and_then(Value::as_str) == Some(source));
            let found = found.ok_or_else(|| LabError::Other(format!("there is no external cluster {source}")))?;
            match (found.get("plugin"), found.get("barmanObjectStore")) {
                (Some(plugin), _) => by_plugin(client, plugin, namespace, source).await?,
                (None, Some(store)) => location(store, source, None)?,
                (None, None) => return Err(LabError::Other(format!("external cluster {source} has no archive"))),
            }
        }
        None => of_backup(client, recovery, namespace).await?,
    };
    Ok(Some(Recovery { from, target }))
}

/// `backup.name`: the object tells where it went, its Cluster how to get there.
async fn of_backup(client: &Client, recovery: &Value, namespace: &str) -> Result<Location, LabError> {
    let name = recovery.pointer("/backup/name").and_then(Value::as_str).unwrap_or_default();
    let backup = get(client, CNPG, "Backup", namespace, name).await?;
    let store = backup.get("status").cloned().unwrap_or_default();
    location(&store, name, None)
}

async fn by_plugin(client: &Client, plugin: &Value, namespace: &str, default: &str) -> Result<Location, LabError> {
    let parameter = |name: &str| plugin.pointer(&format!("/parameters/{name}")).and_then(Value::as_str);
    let store = parameter("barmanObjectName").ok_or_else(|| LabError::Other("the plugin has no barmanObjectName".into()))?;
    let object = get(client, "barmancloud.cnpg.io/v1", "ObjectStore", namespace, store).await?;
    let configuration = object.pointer("/spec/configuration").cloned().unwrap_or_default();
    location(&configuration, parameter("serverName").unwrap_or(default), Some(store))
}

/// The object, or an error that names it as the operator would.
pub(super) async fn get(client: &Client, version: &str, kind: &str, namespace: &str, name: &str) -> Result<Value, LabError> {
    let found = api(client, version, kind, namespace).await?.get_opt(name).await?;
    let found = found.ok_or_else(|| LabError::Other(format!("while getting {kind} {namespace}/{name}: not found")))?;
    serde_json::to_value(&found).map_err(|e| LabError::Other(e.to_string()))
}

/// Reads a `barmanObjectStore`.
fn location(store: &Value, server: &str, object_store: Option<&str>) -> Result<Location, LabError> {
    let text = |path: &str| store.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let secret = |field: &str| -> Result<(String, String), LabError> {
        let part = |key: &str| text(&format!("/s3Credentials/{field}/{key}"));
        part("name").zip(part("key")).ok_or_else(|| LabError::Other(format!("no s3Credentials.{field}")))
    };
    let wal = match text("/wal/compression").as_deref() {
        Some("gzip") => WalCompression::Gzip,
        Some("bzip2") => WalCompression::Bzip2,
        Some("lz4") => WalCompression::Lz4,
        Some("snappy") => WalCompression::Snappy,
        Some("xz") => WalCompression::Xz,
        Some("zstd") => WalCompression::Zstd,
        _ => WalCompression::None,
    };
    let base = match text("/data/compression").as_deref() {
        Some("gzip") => BaseCompression::Gzip,
        Some("bzip2") => BaseCompression::Bzip2,
        Some("lz4") => BaseCompression::Lz4,
        Some("snappy") => BaseCompression::Snappy,
        _ => BaseCompression::None,
    };
    Ok(Location {
        destination: text("/destinationPath").ok_or_else(|| LabError::Other("no destinationPath".into()))?,
        endpoint: text("/endpointURL").ok_or_else(|| LabError::Other("no endpointURL: the lab has no AWS".into()))?,
        server: text("/serverName").unwrap_or_else(|| server.to_owned()),
        object_store: object_store.map(str::to_owned),
        secrets: [secret("accessKeyId")?, secret("secretAccessKey")?],
        wal,
        base,
    })
}

pub(super) async fn secret_value(client: &Client, namespace: &str, name: &str, key: &str) -> Result<String, LabError> {
    use k8s_openapi::api::core::v1::Secret;
    let secrets: kube::Api<Secret> = kube::Api::namespaced(client.clone(), namespace);
    let missing = || LabError::Other(format!("while getting secret {name}: key {key} not found"));
    let secret = secrets.get(name).await?;
    let value = secret.data.and_then(|mut data| data.remove(key)).ok_or_else(missing)?;
    String::from_utf8(value.0).map_err(|_| missing())
}

/// The major in an image's tag: `…/postgresql:16.4-bookworm`.
fn major(image: &str) -> u32 {
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    let digits: String = tag.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(16)
}

/// A quantity of Kubernetes in bytes.
fn bytes(quantity: &str) -> Option<u64> {
    let at = quantity.find(|c: char| !c.is_ascii_digit()).unwrap_or(quantity.len());
    let (number, unit) = quantity.split_at(at);
    let number: u64 = number.parse().ok()?;
    let factor: u64 = match unit {
        "" => 1,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        _ => return None,
    };
    number.checked_mul(factor)
}
