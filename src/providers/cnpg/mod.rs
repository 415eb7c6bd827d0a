//! CloudNativePG in a Kubernetes cluster: Clusters, their archivers, schedules and backups, as the API server shows them. Only read.
//!
//! Each list is a look of its own: one that is refused is a gap with the missing verb, and the rest stands. Where CNPG's CRDs are not
//! there it is *not adopted*, which is silence, unless an earlier look saw them.

pub mod archives;
mod client;
pub mod config;
mod facts;
mod gaps;
pub mod keep;
mod lax;
pub mod locate;
mod logs;
mod memory;
mod numbers;
mod owned;
mod quantity;
pub mod rbac;
mod scrape;
mod wire;
mod wire_owned;

use std::sync::Arc;

use async_trait::async_trait;

use client::{BARMAN, CNPG, Client, Lists, MONITORING, VERSION};
use config::CnpgSettings;
use facts::name_of;
use locate::Atlas;
use memory::Remembered;

use crate::domain::{
    AlertRulesFact, ArchiveRef, CnpgFact, CnpgSiteFact, Cx, Denied, Fact, FactKind, Gap, Known, KubeName, LiveLocation,
    Observation, Observe, ProviderId, Subject, SubjectKind,
};
use crate::tap::{KubeAbout, KubeCalls};

/// CNPG in one Kubernetes cluster.
pub struct CnpgClusters {
    settings: CnpgSettings,
    atlas: Atlas,
    kube: Arc<dyn KubeCalls>,
    /// Manifests answer, and no API server: what only a running cluster shows is not missed.
    from_text: bool,
}

impl CnpgClusters {
    /// `atlas` is what the configuration knows of stores and databases.
    pub fn new(settings: CnpgSettings, atlas: Atlas, kube: Arc<dyn KubeCalls>) -> Self {
        Self { settings, atlas, kube, from_text: false }
    }

    /// Of rendered manifests: facts say that they are from text, so that only what a text can show is judged.
    pub fn of_text(settings: CnpgSettings, kube: Arc<dyn KubeCalls>) -> Self {
        Self { settings, atlas: Atlas::default(), kube, from_text: true }
    }

    fn subject(&self) -> &Subject {
        &self.settings.kubernetes.subject
    }

    fn subject_of(&self, parts: &[&str]) -> Subject {
        let kubernetes = &self.settings.kubernetes;
        let mut all = vec![kubernetes.site.as_str(), kubernetes.environment.as_str()];
        all.extend(parts);
        Subject::new(SubjectKind::Pg, &all)
    }

    async fn look(&self, cx: &Cx, known: &Known) -> Observation {
        let mut remembered = Remembered::of(known.memory.as_ref());
        let client = Client { kube: self.kube.as_ref(), cx, namespaces: &self.settings.namespaces };
        let about = match client.in_time(self.kube.about()).await {
            Ok(about) => about,
            Err(error) => {
                let right = rbac::Right { verb: "get", group: "", resource: "/apis", namespace: None };
                return dark(gaps::of_call(self.subject(), FactKind::CnpgSite, &right, &error), &remembered);
            }
        };
        let Some(versions) = about.groups.get(CNPG) else {
            if remembered.served.contains(CNPG) {
                return dark(gaps::vanished(self.subject(), FactKind::CnpgSite, CNPG), &remembered);
            }
            // Not adopted: that is no fault.
            let fact = Fact::CnpgSite(Box::new(self.site(&about, None, &remembered)));
            return Observation { facts: vec![fact], ..Observation::default() };
        };
        let mut seen = Observation::default();
        if !versions.iter().any(|version| version == VERSION) {
            let gap = gaps::other_version(self.subject(), CNPG, versions);
            return dark(Gap { what: FactKind::CnpgSite, ..gap }, &remembered);
        }
        if remembered.served.contains(BARMAN) && !about.groups.contains_key(BARMAN) {
            seen.gaps.push(gaps::vanished(self.subject(), FactKind::Cnpg, BARMAN));
        }
        if let Some(versions) = about.groups.get(BARMAN).filter(|versions| !versions.iter().any(|of| of == VERSION)) {
            seen.gaps.push(gaps::other_version(self.subject(), BARMAN, versions));
        }
        let served = |group: &str| about.groups.get(group).is_some_and(|versions| versions.iter().any(|of| of == VERSION));
        let lists = client.lists(&served).await;
        // Of a text nothing was asked but what it can answer: that it has no pods is no gap.
        let missed = |gap: &Gap| !self.from_text || gap.why != Denied::NotAsked;
        seen.gaps.extend(gaps::of_lists(self.subject(), &lists).into_iter().filter(missed));
        let mut clusters = self.clusters(&lists);
        if !self.from_text {
            scrape::add(&client, &self.settings, &lists, &mut clusters, &mut seen).await;
        }
        for fact in &mut clusters {
            remembered.complete(fact);
        }
        if let Some((namespace, error)) = lists.clusters.missed.first() {
            // Those of namespaces that were not read are neither gone nor fine.
            let right = rbac::Right::list(&lists.clusters.of, namespace.as_deref());
            let gap = |subject: &Subject| gaps::of_call(subject, FactKind::Cnpg, &right, error);
            seen.gaps.extend(remembered.unread(&lists).iter().map(gap));
        }
        remembered.take(&clusters, |namespace| lists.clusters.covers(namespace), cx.now);
        remembered.served.extend(about.groups.keys().filter(|group| [CNPG, BARMAN].contains(&group.as_str())).cloned());
        let site = self.site(&about, Some(&lists), &remembered);
        if let Some(rules) = served(MONITORING).then(|| alert_rules(self.subject(), &lists)).flatten() {
            seen.facts.push(Fact::AlertRules(Box::new(rules)));
        }
        seen.facts.push(Fact::CnpgSite(Box::new(site)));
        seen.facts.extend(clusters.into_iter().map(|fact| Fact::Cnpg(Box::new(fact))));
        seen.memory = remembered.memory();
        seen
    }

    fn clusters(&self, lists: &Lists) -> Vec<CnpgFact> {
        let places: Vec<(KubeName, Vec<ArchiveRef>)> = lists
            .clusters
            .items
            .iter()
            .map(|cluster| {
                let name = name_of(&cluster.metadata);
                let stores = facts::stores_of(lists, &name.namespace);
                let archivers = self.atlas.archivers(cluster, stores.as_deref());
                (name, archivers)
            })
            .collect();
        let mut subjects = locate::subjects(&places, &self.atlas, &|parts| self.subject_of(parts));
        let mut found = Vec::new();
        for cluster in &lists.clusters.items {
            let Some((subject, configured)) = subjects.remove(&name_of(&cluster.metadata)) else { continue };
            let fact = facts::cluster(cluster, lists, &self.atlas, subject, self.settings.kubernetes.id.clone());
            found.push(CnpgFact { configured, from_text: self.from_text, ..fact });
        }
        found
    }

    fn site(&self, about: &KubeAbout, lists: Option<&Lists>, remembered: &Remembered) -> CnpgSiteFact {
        let mut fact = CnpgSiteFact {
            subject: self.subject().clone(),
            kube: self.settings.kubernetes.id.clone(),
            version: Some(about.version.clone()).filter(|version| !version.is_empty()),
            adopted: lists.is_some(),
            gone: remembered.gone(),
            orphan_schedules: Vec::new(),
            orphan_backups: Vec::new(),
            unused_stores: Vec::new(),
        };
        let Some(lists) = lists else { return fact };
        let clusters = &lists.clusters.items;
        let orphan = |namespace: &String, cluster: &String| {
            lists.clusters.covers(namespace) && !memory::is_there(clusters, &KubeName::new(namespace.clone(), cluster.clone()))
        };
        for of in lists.schedules.items.iter().filter(|of| orphan(&of.metadata.namespace, &of.spec.cluster.name)) {
            fact.orphan_schedules.push((of.metadata.namespace.clone(), facts::schedule(of)));
        }
        let open = |phase: Option<&str>| !matches!(phase, Some("completed" | "failed"));
        for of in lists.backups.items.iter().filter(|of| open(of.status.phase.as_deref())) {
            if orphan(&of.metadata.namespace, &of.spec.cluster.name) {
                fact.orphan_backups.push((of.metadata.namespace.clone(), facts::backup(of)));
            }
        }
        fact.unused_stores = self.unused_stores(lists);
        fact
    }

    fn unused_stores(&self, lists: &Lists) -> Vec<(KubeName, LiveLocation)> {
        let plugins = |cluster: &wire::Cluster| {
            let others = cluster.spec.external_clusters.iter().filter_map(|external| external.plugin.clone());
            let all: Vec<wire::Plugin> = cluster.spec.plugins.iter().cloned().chain(others).collect();
            let namespace = cluster.metadata.namespace.clone();
            all.into_iter()
                .filter_map(move |plugin| Some(KubeName::new(namespace.clone(), plugin.parameters.barman_object_name?)))
        };
        let used: std::collections::BTreeSet<KubeName> = lists.clusters.items.iter().flat_map(plugins).collect();
        let unused = lists
            .stores
            .items
            .iter()
            .filter(|store| lists.clusters.covers(&store.metadata.namespace) && !used.contains(&name_of(&store.metadata)));
        unused.map(|store| (name_of(&store.metadata), self.atlas.of_object_store(store, String::new()))).collect()
    }
}

/// Nothing could be asked: the cluster, and every Cluster that was there at the last look.
fn dark(gap: Gap, remembered: &Remembered) -> Observation {
    let of_clusters = remembered.subjects().map(|subject| Gap { subject: subject.clone(), what: FactKind::Cnpg, ..gap.clone() });
    let mut gaps: Vec<Gap> = of_clusters.collect();
    gaps.insert(0, gap);
    Observation { gaps, ..Observation::default() }
}

/// `None` when the list of them could not be read: the gap speaks.
fn alert_rules(subject: &Subject, lists: &Lists) -> Option<AlertRulesFact> {
    if !lists.rules.missed.is_empty() {
        return None;
    }
    let mut rules = Vec::new();
    for object in &lists.rules.items {
        let name = name_of(&object.metadata).to_string();
        for rule in object.spec.groups.iter().flat_map(|group| &group.rules) {
            let (Some(alert), Some(expression)) = (&rule.alert, &rule.expr) else { continue };
            if expression.contains("cnpg_") || expression.contains("barman_cloud_") {
                rules.push((name.clone(), alert.clone(), expression.clone()));
            }
        }
    }
    Some(AlertRulesFact { subject: subject.clone(), rules })
}

#[async_trait]
impl Observe for CnpgClusters {
    fn name(&self) -> ProviderId {
        ProviderId(format!("cnpg/{}", self.settings.kubernetes.id))
    }

    fn covers(&self, _known: &Known) -> Vec<(Subject, FactKind)> {
        vec![(self.subject().clone(), FactKind::CnpgSite)]
    }

    fn reads(&self) -> &[FactKind] {
        &[]
    }

    fn discovers(&self) -> bool {
        true
    }

    async fn observe(&self, cx: &Cx, known: &Known) -> Observation {
        self.look(cx, known).await
    }
}
