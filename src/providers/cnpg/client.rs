//! What is asked of the API server: lists, a page at a time and all of them at once; logs and metrics of few pods.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use futures::StreamExt;
use serde::de::DeserializeOwned;

use super::wire::{Cluster, Meta};
use super::wire_owned::{Backup, Bare, Claim, Event, Job, ObjectStore, Pod, PrometheusRule, ScheduledBackup, StorageClass};
use crate::domain::Cx;
use crate::tap::{CallError, FailureKind, KubeAsk, KubeCalls, Resource, list_whole};

/// Objects a page: what kubectl asks for, too.
const PAGE: u32 = 500;
/// More objects of one kind than this are not read: it is a flood, and the gap says so.
const MOST: usize = 20_000;
/// What is left of the deadline for making facts of what was seen.
const KEPT_BACK: Duration = Duration::from_secs(2);
/// Calls to pods on their way at once.
const AT_ONCE: usize = 16;

/// CNPG's group.
pub(super) const CNPG: &str = "postgresql.cnpg.io";
/// The barman plugin's group.
pub(super) const BARMAN: &str = "barmancloud.cnpg.io";
/// The group of alert rules.
pub(super) const MONITORING: &str = "monitoring.coreos.com";
/// The group of volume snapshots.
pub(super) const SNAPSHOT: &str = "snapshot.storage.k8s.io";
/// The version that is read of each of them.
pub(super) const VERSION: &str = "v1";
/// The label that ties everything to its Cluster.
pub(super) const CLUSTER_LABEL: &str = "cnpg.io/cluster";

/// What a list came to, with what could not be read.
pub(super) struct Listed<T> {
    /// What was listed.
    pub(super) of: Resource,
    /// Objects.
    pub(super) items: Vec<T>,
    /// Namespaces that could not be read (`None` = the one list of all), and why.
    pub(super) missed: Vec<(Option<String>, CallError)>,
    /// Objects without a name: nobody could tell them apart.
    pub(super) malformed: usize,
    /// Whether it was asked at all.
    pub(super) asked: bool,
}

impl<T> Listed<T> {
    pub(super) fn not_asked(of: Resource) -> Self {
        Self { of, items: Vec::new(), missed: Vec::new(), malformed: 0, asked: false }
    }

    /// Whether a namespace's objects were read, to the end.
    pub(super) fn covers(&self, namespace: &str) -> bool {
        self.asked && !self.missed.iter().any(|(missed, _)| missed.as_deref().is_none_or(|missed| missed == namespace))
    }
}

/// Everything that is listed.
pub(super) struct Lists {
    pub(super) clusters: Listed<Cluster>,
    pub(super) backups: Listed<Backup>,
    pub(super) schedules: Listed<ScheduledBackup>,
    pub(super) stores: Listed<ObjectStore>,
    pub(super) pods: Listed<Pod>,
    pub(super) claims: Listed<Claim>,
    pub(super) jobs: Listed<Job>,
    pub(super) events: Listed<Event>,
    pub(super) classes: Listed<StorageClass>,
    pub(super) rules: Listed<PrometheusRule>,
    pub(super) snapshots: Listed<Bare>,
    /// The Cluster that a Backup or a ScheduledBackup is of, by namespace, kind and name: events say only those.
    pub(super) owners: HashMap<(String, &'static str, String), String>,
}

/// Asks inside the deadline of a look.
pub(super) struct Client<'a> {
    pub(super) kube: &'a dyn KubeCalls,
    pub(super) cx: &'a Cx,
    pub(super) namespaces: &'a [String],
}

impl Client<'_> {
    /// The answer of a call, or a time-out of its own: one call that hangs must not cost the others.
    pub(super) async fn in_time<T>(&self, call: impl Future<Output = Result<T, CallError>>) -> Result<T, CallError> {
        let left = self.cx.deadline.saturating_duration_since(Instant::now());
        let left = left.saturating_sub(KEPT_BACK.min(left / 5));
        let late = || CallError::new(FailureKind::Timeout, "no answer within the deadline of the look");
        tokio::select! {
            done = tokio::time::timeout(left, call) => done.map_err(|_| late())?,
            () = self.cx.cancel.cancelled() => Err(CallError::new(FailureKind::NotSent, "the pass was cancelled")),
        }
    }

    /// One list of everything, or one for each namespace that is watched.
    async fn list<T: DeserializeOwned + HasName>(&self, of: Resource, ask: KubeAsk) -> Listed<T> {
        let namespaces: Vec<Option<String>> =
            if self.namespaces.is_empty() { vec![None] } else { self.namespaces.iter().cloned().map(Some).collect() };
        self.list_in(of, ask, namespaces).await
    }

    async fn list_in<T: DeserializeOwned + HasName>(
        &self,
        of: Resource,
        ask: KubeAsk,
        namespaces: Vec<Option<String>>,
    ) -> Listed<T> {
        let one = |namespace: Option<String>| {
            let ask = KubeAsk { namespace: namespace.clone(), limit: Some(PAGE), ..ask.clone() };
            let of = &of;
            async move { (namespace, self.in_time(list_whole(self.kube, of, &ask, MOST)).await) }
        };
        let answers: Vec<_> = futures::stream::iter(namespaces.into_iter().map(one)).buffered(AT_ONCE).collect().await;
        let mut listed = Listed { asked: true, ..Listed::not_asked(of.clone()) };
        for (namespace, answer) in answers {
            match answer {
                Ok(objects) => {
                    for object in objects {
                        match T::deserialize(object) {
                            Ok(object) if object.has_name() => listed.items.push(object),
                            _ => listed.malformed += 1,
                        }
                    }
                }
                Err(error) => listed.missed.push((namespace, error)),
            }
        }
        listed
    }

    /// All lists at once. `served` says whether a group is there at all.
    pub(super) async fn lists(&self, served: &(dyn Fn(&str) -> bool + Sync)) -> Lists {
        let cnpg = |plural: &str| Resource::new(CNPG, VERSION, plural);
        let core = |plural: &str| Resource::new("", VERSION, plural);
        let of_clusters = || KubeAsk { labels: Some(CLUSTER_LABEL.to_owned()), ..KubeAsk::default() };
        let of_cnpg = KubeAsk { fields: Some(format!("involvedObject.apiVersion={CNPG}/{VERSION}")), ..KubeAsk::default() };
        let everywhere = || vec![None];
        let (clusters, backups, schedules, stores, pods, claims, jobs, events, classes, rules) = tokio::join!(
            self.list(cnpg("clusters"), KubeAsk::default()),
            self.list(cnpg("backups"), KubeAsk::default()),
            self.list(cnpg("scheduledbackups"), KubeAsk::default()),
            self.list_if(served(BARMAN), Resource::new(BARMAN, VERSION, "objectstores")),
            self.list(core("pods"), of_clusters()),
            self.list(core("persistentvolumeclaims"), of_clusters()),
            self.list(Resource::new("batch", VERSION, "jobs"), of_clusters()),
            self.list(core("events"), of_cnpg),
            self.list_in(Resource::new("storage.k8s.io", VERSION, "storageclasses"), KubeAsk::default(), everywhere()),
            self.list_if(served(MONITORING), Resource::new(MONITORING, VERSION, "prometheusrules")),
        );
        let of_snapshots = Resource::new(SNAPSHOT, VERSION, "volumesnapshots");
        let named = clusters.items.iter().any(|cluster: &Cluster| {
            let recovery = cluster.spec.bootstrap.as_ref().and_then(|bootstrap| bootstrap.recovery.as_ref());
            recovery.is_some_and(|recovery| recovery.volume_snapshots.is_some())
        });
        let snapshots = self.list_if(named && served(SNAPSHOT), of_snapshots).await;
        let of_backups = backups.items.iter().map(|of: &Backup| ("Backup", &of.metadata, &of.spec.cluster.name));
        let of_schedules =
            schedules.items.iter().map(|of: &ScheduledBackup| ("ScheduledBackup", &of.metadata, &of.spec.cluster.name));
        let owner = |(kind, meta, cluster): (&'static str, &Meta, &String)| {
            ((meta.namespace.clone(), kind, meta.name.clone()), cluster.clone())
        };
        let owners = of_backups.chain(of_schedules).map(owner).collect();
        Lists { clusters, backups, schedules, stores, pods, claims, jobs, events, classes, rules, snapshots, owners }
    }

    async fn list_if<T: DeserializeOwned + HasName>(&self, asked: bool, of: Resource) -> Listed<T> {
        if asked { self.list(of, KubeAsk::default()).await } else { Listed::not_asked(of) }
    }

    /// Asks each of `whom`, a few at once.
    pub(super) async fn each<K: Ord, T, F>(&self, whom: Vec<K>, ask: impl Fn(&K) -> F) -> BTreeMap<K, Result<T, CallError>>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        let ask = &ask;
        let one = |who: K| async move {
            let answer = self.in_time(ask(&who)).await;
            (who, answer)
        };
        futures::stream::iter(whom.into_iter().map(one)).buffer_unordered(AT_ONCE).collect().await
    }
}

/// What has a name can be told from others.
pub(super) trait HasName {
    fn has_name(&self) -> bool;
}

macro_rules! has_name {
    ($($of:ty),*) => {
        $(impl HasName for $of {
            fn has_name(&self) -> bool {
                !self.metadata.name.is_empty()
            }
        })*
    };
}

has_name!(Cluster, Backup, ScheduledBackup, ObjectStore, Pod, Claim, Job, Event, StorageClass, PrometheusRule, Bare);
