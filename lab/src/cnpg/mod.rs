//! What CloudNativePG is to the outside: its exporter, and an actor that does its operator's work.
//!
//! The actor was written from the contract (CRDs, documentation), not from any client. What it does is real where it can be: a
//! PostgreSQL server, barman-cloud's own programs for archive, base backup and recovery, and the numbers it reports are the
//! server's. What it does not have: replicas, failover, rolling updates, retention, schedules (a test writes a
//! ScheduledBackup's status), volume snapshots, TLS to PostgreSQL.
//!
//! It works only in namespaces that it was told to serve.

mod backup;
pub mod exporter;
mod instance;
mod numbers;
mod objects;
mod recovery;
mod spec;
mod status;

pub use instance::Instance;
pub use numbers::measure;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use serde_json::Value;

use crate::kube::Cluster;
use crate::kube::apply::api;
use crate::{LabError, background};

/// The kinds' group and version.
pub(crate) const CNPG: &str = "postgresql.cnpg.io/v1";
/// How often the actor looks.
const LOOK: Duration = Duration::from_millis(300);

/// What goes wrong on demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behaviour {
    /// The conditions of the Cluster keep what they say, whatever happens.
    ConditionStuck,
    /// The archiver's secret is wrong.
    ArchiverBroken,
    /// The archiver never ends: nothing is archived and nothing fails.
    ArchiverHangs,
    /// Backups fail with this text.
    BackupsFail(String),
    /// Backups start and never end.
    BackupsHang,
    /// The pods of a recovery fail with this text.
    RecoveryFails(String),
    /// The server runs, and the Cluster is never Ready.
    NeverReady,
    /// Each step takes so much longer.
    Slow(Duration),
}

#[derive(Default)]
struct Told {
    /// Patterns of namespaces.
    serves: Vec<String>,
    /// Pattern of a namespace, pattern of a name.
    behaviours: Vec<(String, String, Behaviour)>,
    instances: HashMap<(String, String), Arc<Instance>>,
    /// What an operator writes to its log when it cannot carry on.
    errors: Vec<String>,
}

/// What the actor's tasks share.
pub(crate) struct Shared {
    cluster: &'static Cluster,
    told: Mutex<Told>,
}

impl Shared {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serves(&self, namespace: &str) -> bool {
        self.told().serves.iter().any(|pattern| fits(pattern, namespace))
    }

    /// The behaviours of a Cluster now.
    fn behaviours(&self, namespace: &str, name: &str) -> Vec<Behaviour> {
        let told = self.told();
        let own = told.behaviours.iter().filter(|(ns, n, _)| fits(ns, namespace) && fits(n, name));
        own.map(|(_, _, behaviour)| behaviour.clone()).collect()
    }

    fn behaves(&self, namespace: &str, name: &str, behaviour: &Behaviour) -> bool {
        self.behaviours(namespace, name).contains(behaviour)
    }

    /// Waits as long as a slow Cluster's step takes.
    async fn drag(&self, namespace: &str, name: &str) {
        for behaviour in self.behaviours(namespace, name) {
            if let Behaviour::Slow(time) = behaviour {
                tokio::time::sleep(time).await;
            }
        }
    }

    fn complain(&self, about: &str, error: &LabError) {
        self.told().errors.push(format!("{about}: {error}"));
    }
}

/// A running actor; gone when dropped, its servers with it.
pub struct Actor {
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

impl std::fmt::Debug for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Actor").field("serves", &self.shared.told().serves).finish_non_exhaustive()
    }
}

impl Actor {
    /// Starts one that serves no namespace yet.
    pub async fn start(cluster: &'static Cluster) -> Result<Actor, LabError> {
        let shared = Arc::new(Shared { cluster, told: Mutex::default() });
        let working = Arc::clone(&shared);
        // The client belongs to the runtime on which the actor lives.
        let (sender, ready) = tokio::sync::oneshot::channel();
        let task = background()?.spawn(async move {
            match cluster.client().await {
                Ok(client) => {
                    let _ = sender.send(Ok(()));
                    work(&working, &client).await;
                }
                Err(e) => {
                    let _ = sender.send(Err(e));
                }
            }
        });
        ready.await.map_err(|_| LabError::Other("the actor ended before it began".into()))??;
        Ok(Actor { shared, task })
    }

    /// Works in namespaces of this name from now on; a `*` stands for any text.
    pub fn serve(&self, namespace: &str) {
        self.shared.told().serves.push(namespace.to_owned());
    }

    /// From now on Clusters of this name in that namespace behave so, too; a `*` stands for any text.
    pub fn behave(&self, namespace: &str, name: &str, behaviour: Behaviour) {
        self.shared.told().behaviours.push((namespace.to_owned(), name.to_owned(), behaviour));
    }

    /// Takes back what was told with the same words.
    pub fn mend(&self, namespace: &str, name: &str) {
        self.shared.told().behaviours.retain(|(ns, n, _)| ns != namespace || n != name);
    }

    /// The running instance of a Cluster, when its server takes statements.
    pub fn instance(&self, namespace: &str, name: &str) -> Option<Arc<Instance>> {
        self.shared.told().instances.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    /// Waits until the Cluster's server takes statements, and gives it.
    pub async fn wait_instance(&self, namespace: &str, name: &str, limit: Duration) -> Result<Arc<Instance>, LabError> {
        let until = Instant::now() + limit;
        loop {
            if let Some(instance) = self.instance(namespace, name) {
                return Ok(instance);
            }
            if Instant::now() > until {
                let server = format!("the instance of Cluster {namespace}/{name}");
                return Err(LabError::NotReady { server, seconds: limit.as_secs(), log: self.errors().join("\n") });
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What the operator's log would say of what it could not do.
    pub fn errors(&self) -> Vec<String> {
        self.shared.told().errors.clone()
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.told().instances.clear();
    }
}

/// One actor on the [`crate::kube::shared`] cluster for all tests of this process.
pub async fn shared() -> Result<&'static Actor, LabError> {
    static SHARED: tokio::sync::OnceCell<Actor> = tokio::sync::OnceCell::const_new();
    SHARED.get_or_try_init(async || Actor::start(crate::kube::shared().await?).await).await
}

fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        Some((begin, end)) => text.strip_prefix(begin).is_some_and(|rest| rest.ends_with(end)),
        None => pattern == text,
    }
}

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Looks, and gives each Cluster and each Backup a task of its own.
async fn work(shared: &Arc<Shared>, client: &Client) {
    let mut clusters: HashMap<String, (String, String, tokio::task::AbortHandle)> = HashMap::new();
    let mut backups: HashSet<String> = HashSet::new();
    let mut tasks = tokio::task::JoinSet::new();
    loop {
        tokio::time::sleep(LOOK).await;
        while tasks.try_join_next().is_some() {}
        let Ok(found) = list(client, "Cluster").await else { continue };
        let served = |object: &&Value| shared.serves(text(object, "/metadata/namespace"));
        let alive: Vec<&Value> = found.iter().filter(|c| c.pointer("/metadata/deletionTimestamp").is_none()).collect();
        let uids: HashSet<&str> = alive.iter().map(|c| text(c, "/metadata/uid")).collect();
        let gone: Vec<String> = clusters.keys().filter(|uid| !uids.contains(uid.as_str())).cloned().collect();
        for uid in gone {
            let Some((namespace, name, task)) = clusters.remove(&uid) else { continue };
            task.abort();
            let instance = shared.told().instances.remove(&(namespace.clone(), name.clone()));
            let client = client.clone();
            if let Some(instance) = &instance {
                shared.cluster.kubelet().forget_pod(&namespace, &instance.pod());
            }
            tasks.spawn(async move {
                drop(instance);
                instance::clean(&client, &namespace, &name, &uid).await;
            });
        }
        for object in alive.iter().copied().filter(|object| served(object)) {
            let uid = text(object, "/metadata/uid").to_owned();
            if clusters.contains_key(&uid) {
                continue;
            }
            let (namespace, name) = (text(object, "/metadata/namespace").to_owned(), text(object, "/metadata/name").to_owned());
            let (shared, client, object) = (Arc::clone(shared), client.clone(), object.clone());
            let task = tasks.spawn(async move { instance::run(&shared, &client, &object).await });
            clusters.insert(uid, (namespace, name, task));
        }
        let Ok(found) = list(client, "Backup").await else { continue };
        for object in found.iter().filter(served) {
            let uid = text(object, "/metadata/uid").to_owned();
            let fresh = text(object, "/status/phase").is_empty();
            if !fresh || backups.contains(&uid) {
                continue;
            }
            let owner = (text(object, "/metadata/namespace").to_owned(), text(object, "/spec/cluster/name").to_owned());
            // Without a running target a Backup stays as it is, and is looked at again.
            let Some(instance) = shared.told().instances.get(&owner).cloned() else { continue };
            backups.insert(uid);
            let (shared, client, object) = (Arc::clone(shared), client.clone(), object.clone());
            tasks.spawn(async move { backup::run(&shared, &client, &instance, &object).await });
        }
    }
}

async fn list(client: &Client, kind: &str) -> Result<Vec<Value>, LabError> {
    let api = api(client, CNPG, kind, "").await?;
    let all = api.list(&kube::api::ListParams::default()).await?;
    all.items.iter().map(|one| serde_json::to_value(one).map_err(|e| LabError::Other(e.to_string()))).collect()
}
