//! [`CnpgRestorer`]: the verbs of this room behind the contract [`Act`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::api::Api;
use super::check::ClusterCheck;
use super::namespace;
use super::objects::{self, clusters, namespaces, text};
use super::recover::{ClusterServer, RecoverWork};
use super::settings::{DrillCluster, DrillSource, Shape};
use super::verbs::VERBS;
use crate::domain::verb_names::{ARCHIVE_CHOOSE, CNPG_CHECK, CNPG_RECOVER, KUBE_NAMESPACE};
use crate::domain::{
    Act, ActError, Call, Cx, Handle, Intent, KubeId, Refused, RunId, State, Stray, Subject, Touch, Undone, VerbSpec,
};
use crate::restore::held::{Bounds, Chosen, Memory};
use crate::restore::{Trouble, check};
use crate::store::endpoint_host;

/// How long a start-up looks for left-overs: a pass must not wait for an API server that is gone.
const STRAYS: Duration = Duration::from_secs(20);

type Servers = Arc<Mutex<HashMap<(RunId, String), Arc<ClusterServer>>>>;

/// Restores archives into Clusters of CNPG and asks what came back.
pub struct CnpgRestorer {
    clusters: Vec<DrillCluster>,
    memory: Arc<Memory>,
    servers: Servers,
}

impl CnpgRestorer {
    /// In these clusters; `memory` is the one of the actor that chooses.
    pub fn new(clusters: Vec<DrillCluster>, memory: Arc<Memory>) -> Self {
        Self { clusters, memory, servers: Servers::default() }
    }

    /// The cluster that a call names, else the first one that knows the database.
    fn target(&self, call: &Call) -> Result<(&DrillCluster, &DrillSource), Refused> {
        let subject = call.text("subject").unwrap_or_default();
        let named = given(call, "kubernetes");
        let fits = |cluster: &&DrillCluster| named.is_none_or(|named| cluster.id.0 == named);
        let source = |cluster: &'_ DrillCluster| -> Option<Subject> {
            cluster.sources.keys().find(|of| of.to_string() == subject || of.answers_to(subject)).cloned()
        };
        let mut found = self.clusters.iter().filter(fits).filter_map(|cluster| {
            let key = source(cluster)?;
            Some((cluster, cluster.sources.get(&key)?))
        });
        found.next().ok_or_else(|| {
            if self.clusters.is_empty() {
                return refuse(
                    "no Kubernetes cluster is configured to be restored into: this drill needs its API",
                    "write  cnpg.NAME.drill: {}  in the configuration, or drill on this machine:  dalsegno drill pg-restore",
                );
            }
            let known: Vec<&str> = self.clusters.iter().map(|cluster| cluster.id.0.as_str()).collect();
            refuse(
                &format!(
                    "no Kubernetes cluster can restore {subject}{}",
                    named.map(|of| format!(" as {of}")).unwrap_or_default()
                ),
                &format!("clusters with `drill:` are {}; the database's store must be usable", known.join(", ")),
            )
        })
    }

    /// The cluster of an intent that was written down.
    fn marked(&self, intent: &Intent) -> Option<(&DrillCluster, String)> {
        let id = intent.mark.get("kubernetes")?.as_str()?;
        let namespace = intent.mark.get("namespace")?.as_str()?;
        // A mark that is not of this run's form is not believed.
        let ours = namespace.starts_with(&objects::namespace_start(intent.call.run));
        Some((self.clusters.iter().find(|cluster| cluster.id.0 == id)?, namespace.to_owned())).filter(|_| ours)
    }

    fn chosen(&self, call: &Call) -> Result<Arc<Chosen>, ActError> {
        self.memory.chosen(call.run, given(call, "backup"), call.text("subject")).ok_or_else(|| ActError::NotStarted {
            why: "nothing was chosen in this run".to_owned(),
            hint: format!("begin the runbook with {ARCHIVE_CHOOSE}"),
        })
    }

    fn start_namespace(&self, cx: &Cx, call: &Call) -> Result<(), ActError> {
        let (target, source) = self.target(call).map_err(refused)?;
        let (target, port) = (target.clone(), endpoint_host(&source.endpoint).map_or(443, |(_, port)| port));
        let (cancel, cx, call) = (cx.cancel.child_token(), cx.clone(), call.clone());
        let token = cancel.clone();
        self.memory.start(key(&call), bounds(&cx, cancel), |telling| async move {
            telling.progress(format!("makes a namespace in {}", target.id));
            let api = Api { kube: &*target.kube, cancel: &token, until: cx.deadline };
            namespace::make(&api, &target.id, (call.run, &call.step), port, cx.now).await
        });
        Ok(())
    }

    fn start_recover(&self, cx: &Cx, call: &Call) -> Result<(), ActError> {
        let (target, source) = self.target(call).map_err(refused)?;
        let cancel = cx.cancel.child_token();
        let (chosen, servers, call) = (self.chosen(call)?, Arc::clone(&self.servers), call.clone());
        let (cx, target, source, token) = (cx.clone(), target.clone(), source.clone(), cancel.clone());
        self.memory.start(key(&call), bounds(&cx, cancel), |telling| async move {
            let owned = |name: &str| given(&call, name).map(str::to_owned);
            let asked =
                Shape { image: owned("image"), storage: owned("storage"), wal_storage: owned("wal_storage"), ..Shape::default() };
            let namespace = owned("namespace").unwrap_or_default();
            let key = (call.run, namespace.clone());
            let step = call.step.clone();
            let work = RecoverWork { cx, target, source, chosen, namespace, step, asked, cancel: token, telling };
            let (server, receipt) = work.run().await?;
            lock(&servers).insert(key, Arc::new(server));
            Ok(receipt)
        });
        Ok(())
    }

    fn start_check(&self, cx: &Cx, call: &Call) -> Result<(), ActError> {
        let server = lock(&self.servers).get(&(call.run, call.text("namespace").unwrap_or_default().to_owned())).cloned();
        let server = server.ok_or_else(|| ActError::NotStarted {
            why: "no Cluster of this run answers".to_owned(),
            hint: format!("{CNPG_CHECK} comes after {CNPG_RECOVER}"),
        })?;
        let chosen = self.chosen(call)?;
        let checks = check::with_added(&chosen.of.checks, call.args.get("checks")).map_err(refused)?;
        let cancel = cx.cancel.child_token();
        let work = ClusterCheck { cx: cx.clone(), server, chosen, checks, cancel: cancel.clone() };
        self.memory.start(key(call), bounds(cx, cancel), |telling| work.run(telling));
        Ok(())
    }

    /// What is there, by name and label.
    async fn seen(&self, cx: &Cx, intent: &Intent) -> Result<State, Trouble> {
        let call = &intent.call;
        let Some((target, namespace)) = self.marked(intent) else { return Ok(State::Absent) };
        let api = Api { kube: &*target.kube, cancel: &cx.cancel, until: cx.deadline };
        match call.verb.as_str() {
            KUBE_NAMESPACE => namespace::found(&api, &namespaces(), None, &namespace, call.run, &call.step).await,
            CNPG_RECOVER => {
                let name = objects::cluster_name(call.run, &call.step);
                namespace::found(&api, &clusters(), Some(&namespace), &name, call.run, &call.step).await
            }
            _ => Ok(State::Absent),
        }
    }
}

#[async_trait]
impl Act for CnpgRestorer {
    fn verbs(&self) -> &'static [VerbSpec] {
        &VERBS
    }

    fn intend(&self, call: &Call) -> Result<Intent, Refused> {
        let spec = VERBS.iter().find(|spec| spec.name == call.verb);
        let spec = spec.ok_or_else(|| refuse(&format!("no verb {}", call.verb), "see `dalsegno runbook verbs`"))?;
        if let Some(missing) = spec.required.iter().find(|name| call.args.get(**name).is_none_or(Value::is_null)) {
            let hint = format!("give it under `with:` of step {}", call.step);
            return Err(refuse(&format!("{} needs the argument {missing}", call.verb), &hint));
        }
        let (target, _) = self.target(call)?;
        let passed = call.text("namespace").unwrap_or_default();
        let namespace =
            if call.verb == KUBE_NAMESPACE { objects::namespace_name(call.run, &call.step) } else { passed.to_owned() };
        // On paper (`--plan`) the namespace is a reference to an earlier output, and stays one.
        if !namespace.starts_with("$(") && !namespace.starts_with(&objects::namespace_start(call.run)) {
            return Err(refuse(
                &format!("{namespace} is no namespace of this run"),
                &format!("namespace must be the output of {KUBE_NAMESPACE}"),
            ));
        }
        let at = |kind: &str, name: &str| Touch::make(format!("{kind} {namespace}/{name} in {}", target.id));
        let touches = match call.verb.as_str() {
            KUBE_NAMESPACE => {
                vec![Touch::make(format!("Namespace {namespace} in {}", target.id)), at("NetworkPolicy", objects::POLICY)]
            }
            CNPG_RECOVER => vec![
                at("Secret", objects::KEYS),
                at("Secret", objects::SUPERUSER),
                at("ObjectStore", objects::OBJECT_STORE),
                at("Cluster", &objects::cluster_name(call.run, &call.step)),
            ],
            _ => Vec::new(),
        };
        let mark = json!({"kubernetes": target.id, "namespace": namespace, "run": call.run, "step": call.step});
        Ok(Intent { call: call.clone(), touches, mark })
    }

    async fn start(&self, cx: &Cx, intent: &Intent) -> Result<Handle, ActError> {
        let call = &intent.call;
        if self.memory.look(&key(call)).is_none() {
            match call.verb.as_str() {
                KUBE_NAMESPACE => self.start_namespace(cx, call)?,
                CNPG_RECOVER => self.start_recover(cx, call)?,
                _ => self.start_check(cx, call)?,
            }
        }
        Ok(Handle(intent.mark.clone()))
    }

    async fn look(&self, cx: &Cx, intent: &Intent, _handle: Option<&Handle>) -> Result<State, ActError> {
        if let Some(state) = self.memory.look(&key(&intent.call)) {
            return Ok(state);
        }
        // Another process's work, or none: only what bears our label can tell.
        self.seen(cx, intent).await.map_err(Trouble::into_not_started)
    }

    async fn undo(&self, cx: &Cx, intent: &Intent, _state: &State) -> Result<Undone, ActError> {
        let call = &intent.call;
        self.memory.end(&key(call)).await;
        let Some((target, namespace)) = self.marked(intent) else {
            let id = intent.mark.get("kubernetes").and_then(Value::as_str).unwrap_or_default();
            let known = self.clusters.iter().any(|cluster| cluster.id.0 == id);
            return Ok(if known { Undone::NothingToDo } else { Undone::Stuck { why: not_configured(id) } });
        };
        let api = Api { kube: &*target.kube, cancel: &cx.cancel, until: cx.deadline };
        let undone = match call.verb.as_str() {
            KUBE_NAMESPACE => namespace::remove(&api, &namespaces(), None, &namespace, call.run, &call.step).await,
            CNPG_RECOVER => {
                lock(&self.servers).remove(&(call.run, namespace.clone()));
                let name = objects::cluster_name(call.run, &call.step);
                namespace::remove(&api, &clusters(), Some(&namespace), &name, call.run, &call.step).await
            }
            _ => Ok(Undone::NothingToDo),
        };
        undone.map_err(Trouble::into_not_started)
    }

    async fn strays(&self, cx: &Cx, known: &[RunId], living: &[RunId]) -> Vec<Stray> {
        let mut found = Vec::new();
        for target in &self.clusters {
            let until = cx.deadline.min(Instant::now() + STRAYS);
            let api = Api { kube: &*target.kube, cancel: &cx.cancel, until };
            let listed = match api.list(&namespaces(), None, &format!("{}={}", objects::MADE_BY.0, objects::MADE_BY.1)).await {
                Ok(listed) => listed,
                Err(trouble) => {
                    tracing::warn!(cluster = %target.id, %trouble, "left-overs could not be looked for");
                    continue;
                }
            };
            for object in &listed {
                if let Some(stray) = self.stray(&api, &target.id, object, known, living, cx.now).await {
                    found.push(stray);
                }
            }
        }
        found
    }
}

impl CnpgRestorer {
    /// A namespace of a drill that nobody here runs: of a run whose journal is closed, or of one that is long over wherever its
    /// journal is. One that another machine may still need stays.
    async fn stray(
        &self,
        api: &Api<'_>,
        id: &KubeId,
        object: &Value,
        known: &[RunId],
        living: &[RunId],
        now: Timestamp,
    ) -> Option<Stray> {
        let name = text(object, "/metadata/name")?;
        let run = objects::label(object, objects::RUN).and_then(RunId::parse)?;
        let step = objects::label(object, objects::STEP)?;
        let until = object.pointer("/metadata/annotations")?.get(objects::UNTIL)?.as_str()?.parse::<Timestamp>().ok()?;
        let over = known.contains(&run) || until < now;
        if living.contains(&run) || !over || !name.starts_with(&objects::namespace_start(run)) {
            return None;
        }
        let what = format!("Namespace {name} in {id}");
        let left_over = match namespace::remove(api, &namespaces(), None, name, run, step).await {
            Ok(Undone::Stuck { why }) => Some(format!("{what}: {why}")),
            Ok(Undone::Removed | Undone::NothingToDo) => None,
            Err(trouble) => Some(format!("{what}: {trouble}")),
        };
        Some(Stray { run, left_over })
    }
}

fn not_configured(id: &str) -> String {
    format!("the Kubernetes cluster \"{id}\" it was made in is not configured for drills any more: write  cnpg.{id}.drill: {{}}")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A text argument that says something: neither empty nor a reference that is still to be filled.
fn given<'a>(call: &'a Call, name: &str) -> Option<&'a str> {
    call.text(name).filter(|text| !text.is_empty() && !text.starts_with("$("))
}

fn key(call: &Call) -> (RunId, String) {
    (call.run, call.step.clone())
}

fn bounds(cx: &Cx, cancel: CancellationToken) -> Bounds {
    Bounds { folder: None, cancel, deadline: cx.deadline }
}

fn refuse(why: &str, hint: &str) -> Refused {
    Refused { why: why.to_owned(), hint: hint.to_owned() }
}

fn refused(refused: Refused) -> ActError {
    ActError::Refused { why: refused.why, hint: refused.hint }
}
