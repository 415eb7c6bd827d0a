//! Where archives lie, as live objects spell it: URL, endpoint, server name; and which configured store that is.

use std::collections::BTreeMap;

use super::wire;
use super::wire_owned::ObjectStore;
use crate::domain::{
    ArchiveRef, ConfiguredLocation, ExternalCluster, KubeName, LiveLocation, SecretKey, StoreId, Subject, ValueKind,
    is_placeholder, normal_endpoint,
};

/// The barman plugin, as `plugins[].name` calls it.
pub(super) const BARMAN_PLUGIN: &str = "barman-cloud.cloudnative-pg.io";

/// A store of the configuration, as far as a live location can be compared with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownStore {
    /// Its name.
    pub id: StoreId,
    /// `store/<site>/<name>`.
    pub subject: Subject,
    /// Its endpoint, normalised.
    pub endpoint: String,
    /// Its bucket.
    pub bucket: String,
}

/// A database of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownDatabase {
    /// Its name.
    pub name: String,
    /// Its subject.
    pub subject: Subject,
    /// Where its archive lies.
    pub location: ConfiguredLocation,
    /// The Cluster that it is, when the configuration says so.
    pub cluster: Option<KubeName>,
}

/// What the configuration knows, and how live objects spell it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Atlas {
    /// Stores.
    pub stores: Vec<KnownStore>,
    /// Databases of the environment that is looked at.
    pub databases: Vec<KnownDatabase>,
    /// Endpoints (normalised) that are another name of a store's.
    pub same: Vec<(String, StoreId)>,
}

impl Atlas {
    /// The configured store that an endpoint and a bucket are. Without an endpoint it is AWS's own.
    pub fn store(&self, endpoint: Option<&str>, bucket: &str) -> Option<&KnownStore> {
        let of_bucket = |store: &&KnownStore| store.bucket == bucket;
        let Some(endpoint) = endpoint.map(normal_endpoint) else {
            return self.stores.iter().filter(of_bucket).find(|store| host(&store.endpoint).ends_with(".amazonaws.com"));
        };
        let alias = self.same.iter().find(|(other, _)| *other == endpoint).map(|(_, store)| store);
        self.stores.iter().filter(of_bucket).find(|store| store.endpoint == endpoint || Some(&store.id) == alias)
    }

    fn of_barman(&self, barman: &wire::Barman, spelt_in: String, server: String, retention: Option<String>) -> LiveLocation {
        let (bucket, path) = bucket_and_path(&barman.destination_path);
        let endpoint = barman.endpoint_url.clone().filter(|endpoint| !endpoint.is_empty());
        let mut placeholders = Vec::new();
        let mut look = |field: &str, value: &str, kind: ValueKind| {
            if is_placeholder(value, kind) {
                placeholders.push((field.to_owned(), value.to_owned()));
            }
        };
        look("destinationPath", &barman.destination_path, ValueKind::Plain);
        look("endpointURL", endpoint.as_deref().unwrap_or_default(), ValueKind::Url);
        look("serverName", &server, ValueKind::Plain);
        let bucket = bucket.filter(|bucket| !is_placeholder(bucket, ValueKind::Plain));
        let store = bucket.as_deref().and_then(|bucket| self.store(endpoint.as_deref(), bucket));
        let keys = barman.s3_credentials.clone().unwrap_or_default();
        let named = [
            ("accessKeyId", keys.access_key_id),
            ("secretAccessKey", keys.secret_access_key),
            ("sessionToken", keys.session_token),
            ("region", keys.region),
        ];
        for (role, key) in named.iter().filter_map(|(role, key)| Some((role, key.as_ref()?))) {
            look(&format!("s3Credentials.{role}.name"), &key.name, ValueKind::Plain);
            look(&format!("s3Credentials.{role}.key"), &key.key, ValueKind::Plain);
        }
        let key = |(role, key): (&str, Option<wire::KeyOfSecret>)| {
            let key = key.filter(|key| !key.name.is_empty())?;
            Some((role.to_owned(), SecretKey { name: key.name, key: key.key }))
        };
        let wal = barman.wal.clone().unwrap_or_default();
        LiveLocation {
            spelt_in,
            destination: barman.destination_path.clone(),
            store: store.map(|store| store.id.clone()),
            endpoint,
            bucket,
            path,
            server,
            credentials: named.into_iter().filter_map(key).collect(),
            from_role: keys.inherit_from_iam_role.unwrap_or(false),
            wal_compression: wal.compression,
            wal_parallel: wal.max_parallel,
            wal_encryption: wal.encryption,
            data_encryption: barman.data.clone().unwrap_or_default().encryption,
            retention,
            placeholders,
        }
    }

    /// Where an ObjectStore leads a server to.
    pub(super) fn of_object_store(&self, store: &ObjectStore, server: String) -> LiveLocation {
        let spelt_in = format!("ObjectStore {}/{}", store.metadata.namespace, store.metadata.name);
        self.of_barman(&store.spec.configuration, spelt_in, server, store.spec.retention_policy.clone())
    }

    /// `stores` are the ObjectStores of the Cluster's namespace; `None` = they were not looked at.
    fn of_plugin(&self, plugin: &wire::Plugin, cluster: &str, stores: Option<&[&ObjectStore]>) -> ArchiveRef {
        let name = plugin.parameters.barman_object_name.clone().unwrap_or_default();
        let written = plugin.parameters.server_name.clone().filter(|server| !server.is_empty());
        let found = stores.and_then(|stores| stores.iter().find(|store| store.metadata.name == name).copied());
        ArchiveRef::Plugin {
            location: found.map(|store| self.of_object_store(store, written.unwrap_or_else(|| cluster.to_owned()))),
            dangling: stores.is_some() && found.is_none(),
            object_store: name,
            declared_archiver: plugin.is_wal_archiver,
            enabled: plugin.enabled.unwrap_or(true),
        }
    }

    /// Who archives WAL, by the spec. A plugin's server is the Cluster's name unless its parameters say another; so is the in-tree
    /// field's.
    pub(super) fn archivers(&self, cluster: &wire::Cluster, stores: Option<&[&ObjectStore]>) -> Vec<ArchiveRef> {
        let name = &cluster.metadata.name;
        let mut found = Vec::new();
        if let Some(backup) = &cluster.spec.backup
            && let Some(barman) = &backup.barman_object_store
        {
            let spelt_in = format!("Cluster {}/{name} spec.backup.barmanObjectStore", cluster.metadata.namespace);
            let server = written_or(barman.server_name.as_ref(), name);
            let location = self.of_barman(barman, spelt_in, server, backup.retention_policy.clone());
            found.push(ArchiveRef::InTree { location });
        }
        let plugins = cluster.spec.plugins.iter().filter(|plugin| plugin.name == BARMAN_PLUGIN);
        found.extend(plugins.map(|plugin| self.of_plugin(plugin, name, stores)));
        found
    }

    /// Other clusters it may read. In-tree the server is the *entry's* name unless it says another; by plugin the Cluster's own.
    pub(super) fn externals(&self, cluster: &wire::Cluster, stores: Option<&[&ObjectStore]>) -> Vec<ExternalCluster> {
        let name = &cluster.metadata.name;
        let one = |external: &wire::External| {
            let plugin = external.plugin.as_ref().filter(|plugin| plugin.name == BARMAN_PLUGIN);
            let archive = match (&external.barman_object_store, plugin) {
                (_, Some(plugin)) => Some(self.of_plugin(plugin, name, stores)),
                (Some(barman), None) => {
                    let spelt_in =
                        format!("Cluster {}/{name} spec.externalClusters[{}]", cluster.metadata.namespace, external.name);
                    let server = written_or(barman.server_name.as_ref(), &external.name);
                    Some(ArchiveRef::InTree { location: self.of_barman(barman, spelt_in, server, None) })
                }
                (None, None) => None,
            };
            ExternalCluster { name: external.name.clone(), archive }
        };
        cluster.spec.external_clusters.iter().map(one).collect()
    }
}

fn written_or(written: Option<&String>, otherwise: &str) -> String {
    written.filter(|text| !text.is_empty()).map_or_else(|| otherwise.to_owned(), Clone::clone)
}

fn host(endpoint: &str) -> &str {
    let rest = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    rest.split(['/', ':']).next().unwrap_or_default()
}

/// `s3://bucket/path`: slashes at either end of the path mean nothing to barman.
fn bucket_and_path(destination: &str) -> (Option<String>, Option<String>) {
    let Some(rest) = destination.trim().strip_prefix("s3://") else { return (None, None) };
    let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() { (None, None) } else { (Some(bucket.to_owned()), Some(path.trim_matches('/').to_owned())) }
}

/// Which subject each Cluster is, and which configured database that is.
///
/// A configured database is a Cluster when the configuration names it, when it archives to the same place, or when it has the same name;
/// of several the first of these decides. A name that two Clusters have gets the namespace in front.
pub(super) fn subjects(
    clusters: &[(KubeName, Vec<ArchiveRef>)],
    atlas: &Atlas,
    subject: &dyn Fn(&[&str]) -> Subject,
) -> BTreeMap<KubeName, (Subject, Option<ConfiguredLocation>)> {
    let mut found: BTreeMap<KubeName, (Subject, Option<ConfiguredLocation>)> = BTreeMap::new();
    let leads_to = |archivers: &[ArchiveRef], place: &ConfiguredLocation| {
        archivers.iter().filter_map(ArchiveRef::location).any(|live| place.agrees(live))
    };
    for database in &atlas.databases {
        let named = |name: &KubeName| match &database.cluster {
            Some(cluster) => name == cluster,
            None => name.name == database.name,
        };
        let free = |name: &KubeName| !found.contains_key(name);
        let by_place = || {
            let mut same = clusters.iter().filter(|(name, archivers)| free(name) && leads_to(archivers, &database.location));
            let first = same.next();
            // Two that write to one place: the name must tell which of them is meant.
            if same.next().is_some() { None } else { first }
        };
        let by_name = || {
            let mut same = clusters.iter().filter(|(name, _)| free(name) && named(name));
            let first = same.next();
            let both =
                clusters.iter().find(|(name, archivers)| free(name) && named(name) && leads_to(archivers, &database.location));
            if same.next().is_some() { both } else { first }
        };
        let cluster = if database.cluster.is_some() { by_name() } else { by_place().or_else(by_name) };
        if let Some((name, _)) = cluster {
            found.insert(name.clone(), (database.subject.clone(), Some(database.location.clone())));
        }
    }
    let count = |name: &str| clusters.iter().filter(|(other, _)| other.name == name).count();
    for (name, _) in clusters {
        let taken = atlas.databases.iter().any(|database| database.name == name.name);
        let parts: &[&str] = &[&name.namespace, &name.name];
        let parts = if count(&name.name) > 1 || taken { parts } else { parts.get(1..).unwrap_or_default() };
        found.entry(name.clone()).or_insert_with(|| (subject(parts), None));
    }
    found
}
