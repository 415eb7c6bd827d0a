//! Archives at places that live objects name and the configuration does not: the second wave.
//!
//! One that lies in a configured store is looked at with that store's reading key. One that does not needs keys: those of a Secret that
//! the configuration names, else it is a gap that says which Secret and which Role.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::config::CnpgSettings;
use super::gaps;
use super::locate::{Atlas, KnownStore};
use super::rbac::Right;
use crate::domain::{
    ArchivePlace, ArchiveRef, CnpgFact, Cx, Denied, Discovered, Expected, Fact, FactKind, Gap, Known, KubeName, LiveLocation,
    Observation, Observe, Prefix, ProviderId, Secret, SecretKey, StoreId, Subject,
};
use crate::providers::postgres::PostgresArchive;
use crate::providers::postgres::config::PostgresSettings;
use crate::store::{Store, StoreConfig, StoreError, default_region, dialect_of};
use crate::tap::{CallError, FailureKind, KubeCalls, Resource};

/// Opens stores: live, recording or replaying.
pub trait OpenStores: Send + Sync {
    /// A store of the configuration, with its reading key.
    fn configured(&self, id: &StoreId) -> Option<Result<Store, StoreError>>;
    /// Another one. `key_ref` is how a recording calls the key, never the key.
    fn other(&self, config: StoreConfig, key_ref: &str) -> Result<Store, StoreError>;
    /// Whether keys are needed to open one: a replay asks nobody.
    fn needs_keys(&self) -> bool;
}

/// Finds the archives that nobody configured, in the facts of [`super::CnpgClusters`].
pub struct CnpgArchives {
    settings: CnpgSettings,
    atlas: Atlas,
    kube: Arc<dyn KubeCalls>,
    stores: Arc<dyn OpenStores>,
}

/// How the archive of one Cluster can be looked at.
enum Way {
    /// With the reading key of a configured store.
    Store(KnownStore, LiveLocation),
    /// With keys of a Secret that may be used.
    TheirKeys(LiveLocation),
    /// Not at all, and why.
    No(Box<Gap>),
}

impl CnpgArchives {
    /// `stores` opens what is found.
    pub fn new(settings: CnpgSettings, atlas: Atlas, kube: Arc<dyn KubeCalls>, stores: Arc<dyn OpenStores>) -> Self {
        Self { settings, atlas, kube, stores }
    }

    /// Clusters of ours whose archive no `postgres:` entry covers, and how it can be looked at.
    fn ways<'a>(&'a self, known: &'a Known) -> impl Iterator<Item = (&'a CnpgFact, Way)> {
        known.facts.iter().filter_map(|fact| match fact {
            Fact::Cnpg(fact) if fact.kube == self.settings.kubernetes.id && fact.configured.is_none() => {
                Some((fact.as_ref(), self.way(fact)?))
            }
            _ => None,
        })
    }

    /// `None`: nothing archives, and there is nothing to look at.
    fn way(&self, fact: &CnpgFact) -> Option<Way> {
        let location = match fact.writer()? {
            ArchiveRef::InTree { location } | ArchiveRef::Plugin { location: Some(location), .. } => location,
            ArchiveRef::Plugin { object_store, dangling, .. } => {
                let detail = if *dangling {
                    format!("its ObjectStore {}/{object_store} is not there", fact.cluster.namespace)
                } else {
                    format!("its ObjectStore {}/{object_store} could not be read", fact.cluster.namespace)
                };
                let hint = format!("kubectl -n {} get objectstores.barmancloud.cnpg.io {object_store}", fact.cluster.namespace);
                return Some(Way::No(Box::new(gap(&fact.subject, "archive-place-unknown", detail, hint))));
            }
        };
        Some(self.way_to(fact, location))
    }

    fn way_to(&self, fact: &CnpgFact, location: &LiveLocation) -> Way {
        if let Some((field, value)) = location.placeholders.first() {
            let detail = format!("{}: {field} is the placeholder \"{value}\"", location.spelt_in);
            let hint = format!("fill it in: kubectl -n {} edit {}", fact.cluster.namespace, target(location));
            return Way::No(Box::new(gap(&fact.subject, "live-placeholder", detail, hint)));
        }
        let Some(bucket) = &location.bucket else {
            let detail = format!("{}: \"{}\" is not an S3 destination", location.spelt_in, location.destination);
            let hint = "only S3 destinations (s3://BUCKET/PATH) can be looked at".to_owned();
            return Way::No(Box::new(gap(&fact.subject, "archive-place-unknown", detail, hint)));
        };
        if let Some(store) = self.atlas.store(location.endpoint.as_deref(), bucket) {
            return Way::Store(store.clone(), location.clone());
        }
        let namespace = &fact.cluster.namespace;
        let secrets = || location.credentials.values().map(|key| KubeName::new(namespace.clone(), key.name.clone()));
        let keys = ["accessKeyId", "secretAccessKey"].iter().all(|role| location.credentials.contains_key(*role));
        if keys && secrets().all(|secret| self.settings.their_keys.contains(&secret)) {
            return Way::TheirKeys(location.clone());
        }
        Way::No(Box::new(without_key(fact, location, bucket, &self.settings)))
    }

    fn store_id(location: &LiveLocation) -> StoreId {
        let endpoint = location.endpoint.as_deref().unwrap_or("https://s3.amazonaws.com");
        let host = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
        StoreId(format!("{}@{}", location.bucket.as_deref().unwrap_or_default(), host.split('/').next().unwrap_or_default()))
    }

    fn place(store: StoreId, location: &LiveLocation) -> ArchivePlace {
        ArchivePlace {
            store,
            bucket: location.bucket.clone().unwrap_or_default(),
            prefix: Prefix::new(location.path.as_deref().unwrap_or_default()),
            server: location.server.clone(),
        }
    }

    fn archive_settings(&self, fact: &CnpgFact, place: ArchivePlace) -> PostgresSettings {
        PostgresSettings {
            // Behind the environment: two discovered databases never share a memory.
            name: format!("{}/{}", fact.kube, fact.cluster),
            subject: fact.subject.clone(),
            place,
            system_id: fact.system_id,
            policy: self.settings.policy,
            checks: Vec::new(),
            cluster: Some(fact.cluster.clone()),
        }
    }
}

/// What `kubectl edit` is given for the object that spells a location.
fn target(location: &LiveLocation) -> String {
    let mut words = location.spelt_in.split(' ');
    let kind = match words.next() {
        Some("ObjectStore") => "objectstore.barmancloud.cnpg.io",
        _ => "cluster.postgresql.cnpg.io",
    };
    let name = words.next().and_then(|name| name.rsplit('/').next()).unwrap_or_default();
    format!("{kind} {name}")
}

fn gap(subject: &Subject, code: &str, detail: String, hint: String) -> Gap {
    Gap { subject: subject.clone(), what: FactKind::Archive, why: Denied::NotAsked, code: Some(code.to_owned()), detail, hint }
}

/// No key: which store to configure, or which Secret and Role would do.
fn without_key(fact: &CnpgFact, location: &LiveLocation, bucket: &str, settings: &CnpgSettings) -> Gap {
    let namespace = &fact.cluster.namespace;
    let endpoint = location.endpoint.as_deref().unwrap_or("AWS's own endpoint");
    let detail = format!(
        "{} leads to bucket {bucket} at {endpoint} (path \"{}\", server \"{}\"), and no store of the configuration is that bucket",
        location.spelt_in,
        location.path.as_deref().unwrap_or_default(),
        location.server
    );
    let configure = format!("configure a store with endpoint {endpoint}, bucket {bucket} and a key that only reads");
    let wanted: Vec<&SecretKey> = location.credentials.values().collect();
    let hint = if wanted.is_empty() {
        let from = if location.from_role { "they come from the machine's role" } else { "it names no Secret" };
        format!("{configure}; its own keys cannot be used: {from}")
    } else {
        let keys: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        let mut names: Vec<&str> = wanted.iter().map(|key| key.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let listed: Vec<String> = names.iter().map(|name| format!("{{namespace: {namespace}, secret: {name}}}")).collect();
        format!(
            "{configure}; or use theirs ({} in namespace {namespace}): cnpg.{}.use-their-keys: [{}], with the Role {}",
            keys.join(", "),
            settings.kubernetes.id,
            listed.join(", "),
            role(namespace, &names)
        )
    };
    gap(&fact.subject, "archive-key-missing", detail, hint)
}

/// The Role that reading these Secrets needs, and nothing else; YAML in one line, so that it survives being wrapped.
pub fn role(namespace: &str, secrets: &[&str]) -> String {
    format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {{name: dalsegno-keys, namespace: {namespace}}}, rules: \
         [{{apiGroups: [\"\"], resources: [secrets], resourceNames: [{}], verbs: [get]}}]}}",
        secrets.join(", ")
    )
}

#[async_trait]
impl Observe for CnpgArchives {
    fn name(&self) -> ProviderId {
        ProviderId(format!("cnpg/{}/archives", self.settings.kubernetes.id))
    }

    fn covers(&self, known: &Known) -> Vec<(Subject, FactKind)> {
        self.ways(known).map(|(fact, _)| (fact.subject.clone(), FactKind::Archive)).collect()
    }

    fn reads(&self) -> &[FactKind] {
        &[FactKind::Cnpg]
    }

    fn discovers(&self) -> bool {
        true
    }

    async fn observe(&self, _cx: &Cx, known: &Known) -> Observation {
        let gaps = self.ways(known).filter_map(|(_, way)| match way {
            Way::No(gap) => Some(*gap),
            Way::Store(..) | Way::TheirKeys(_) => None,
        });
        Observation { gaps: gaps.collect(), ..Observation::default() }
    }

    fn more(&self, known: &Known) -> Vec<Discovered> {
        let one = |(fact, way): (&CnpgFact, Way)| {
            let (place, location, store) = match way {
                Way::Store(store, location) => (Self::place(store.id.clone(), &location), None, Some(store.id)),
                Way::TheirKeys(location) => (Self::place(Self::store_id(&location), &location), Some(location), None),
                Way::No(_) => return None,
            };
            let observer = DiscoveredArchive {
                settings: self.archive_settings(fact, place),
                namespace: fact.cluster.namespace.clone(),
                location,
                kube: Arc::clone(&self.kube),
                stores: Arc::clone(&self.stores),
            };
            Some(Discovered { observer: Arc::new(observer), store })
        };
        self.ways(known).filter_map(one).collect()
    }

    fn expects(&self, known: &Known) -> Expected {
        let mut expected = Expected::default();
        for (fact, way) in self.ways(known) {
            expected.policies.insert(fact.subject.clone(), self.settings.policy);
            if let Way::Store(store, _) = way {
                expected.rests_on.insert(fact.subject.clone(), store.subject);
            }
        }
        expected
    }
}

/// The archive of one Cluster, at the place that its live objects name.
struct DiscoveredArchive {
    settings: PostgresSettings,
    namespace: String,
    /// Set when it is looked at with keys of a Secret.
    location: Option<LiveLocation>,
    kube: Arc<dyn KubeCalls>,
    stores: Arc<dyn OpenStores>,
}

impl DiscoveredArchive {
    async fn store(&self) -> Result<Store, Box<Gap>> {
        let unopened = |error: &StoreError| {
            let (why, code) = error.denied();
            let hint = crate::domain::Explained::hint(error).unwrap_or_default();
            let detail = format!("{} was not opened: {error}", self.settings.place.store);
            Box::new(Gap { subject: self.settings.subject.clone(), what: FactKind::Archive, why, code, detail, hint })
        };
        let Some(location) = &self.location else {
            return match self.stores.configured(&self.settings.place.store) {
                Some(store) => store.map_err(|error| unopened(&error)),
                None => Err(Box::new(gap(
                    &self.settings.subject,
                    "archive-place-unknown",
                    format!("its store {} cannot be used", self.settings.place.store),
                    "dalsegno config check".to_owned(),
                ))),
            };
        };
        let config = self.config(location).await?;
        let key_ref = location.credentials.get("accessKeyId").map(|key| format!("secret:{}:{}", self.namespace, key.name));
        self.stores.other(config, &key_ref.unwrap_or_default()).map_err(|error| unopened(&error))
    }

    async fn config(&self, location: &LiveLocation) -> Result<StoreConfig, Box<Gap>> {
        let endpoint = location.endpoint.clone().unwrap_or_else(|| "https://s3.amazonaws.com".to_owned());
        let mut values = std::collections::BTreeMap::new();
        if self.stores.needs_keys() {
            for (role, key) in &location.credentials {
                values.insert(role.as_str(), self.value(key).await?);
            }
        }
        let nothing = || Secret::new(String::new());
        let mut take = |role: &str| values.remove(role);
        let place = &self.settings.place;
        let (id, secret) = (take("accessKeyId"), take("secretAccessKey"));
        let mut config = StoreConfig::new(
            place.store.clone(),
            endpoint.clone(),
            place.bucket.clone(),
            id.unwrap_or_else(nothing),
            secret.unwrap_or_else(nothing),
        );
        config.session_token = take("sessionToken");
        config.dialect = dialect_of(&endpoint);
        config.region = match take("region") {
            Some(region) => region.expose().to_owned(),
            None => default_region(config.dialect, &endpoint),
        };
        Ok(config)
    }

    /// The value of a key of a Secret: asked for by name, kept nowhere.
    async fn value(&self, key: &SecretKey) -> Result<Secret, Box<Gap>> {
        let of = Resource::new("", "v1", "secrets");
        let right = Right { verb: "get", group: "", resource: "secrets", namespace: Some(&self.namespace) };
        let failed = |error: &CallError| {
            let mut gap = gaps::of_call(&self.settings.subject, FactKind::Archive, &right, error);
            gap.detail = format!("Secret {}/{}: {}", self.namespace, key.name, gap.detail);
            if error.status == Some(403) {
                gap.hint = format!("allow it with the Role {}", role(&self.namespace, &[&key.name]));
            }
            Box::new(gap)
        };
        let object = self.kube.get(&of, Some(&self.namespace), &key.name).await.map_err(|error| failed(&error))?;
        let text = object.pointer("/data").and_then(|data| data.get(&key.key)).and_then(Value::as_str);
        let Some(text) = text else {
            let error = CallError::new(FailureKind::Malformed, format!("it has no key {}", key.key));
            return Err(failed(&error));
        };
        let bytes = base64(text).and_then(|bytes| String::from_utf8(bytes).ok());
        match bytes {
            Some(value) => Ok(Secret::new(value)),
            None => Err(failed(&CallError::new(FailureKind::Malformed, format!("its key {} is no text", key.key)))),
        }
    }
}

/// Standard alphabet, padded, as the API writes it.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for c in text.bytes().filter(|c| *c != b'=' && !c.is_ascii_whitespace()) {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(six)) & 0xFFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xFF).ok()?);
        }
    }
    Some(bytes)
}

#[async_trait]
impl Observe for DiscoveredArchive {
    fn name(&self) -> ProviderId {
        ProviderId(format!("postgres/{}", self.settings.name))
    }

    fn covers(&self, _known: &Known) -> Vec<(Subject, FactKind)> {
        vec![(self.settings.subject.clone(), FactKind::Archive)]
    }

    fn reads(&self) -> &[FactKind] {
        &[]
    }

    async fn observe(&self, cx: &Cx, known: &Known) -> Observation {
        match self.store().await {
            Ok(store) => PostgresArchive::new(self.settings.clone(), store).observe(cx, known).await,
            Err(gap) => Observation { gaps: vec![*gap], ..Observation::default() },
        }
    }
}
