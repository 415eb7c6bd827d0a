//! A healthy Cluster that archives by plugin, with its numbers, its store and its archive: to be damaged one fact at a time.
//! Every rule of the house judges it, so that one cause is seen to give one finding.

use std::collections::BTreeMap;

use dalsegno::domain::{
    AlertRulesFact, ArchiveFact, ArchiveRef, CnpgFact, CnpgSiteFact, Condition, ContainerSeen, Expected, Fact, FactKind, Finding,
    KubeId, LiveLocation, Observation, PodSeen, ProviderId, Sample, Series, Severity, StoreFact, StoreId, Subject, SubjectKind,
    metric,
};
use dalsegno::policy::{Judgement, judge};
use jiff::Timestamp;

use super::super::cnpg_runs::scene::{cluster as bare_cluster, location};
pub(crate) use super::super::cnpg_runs::scene::{condition, pod, recover, schedule};
use super::super::scene::{DAY, archive, store, store_subject, the_only};
pub(crate) use super::super::scene::{HOUR, ago, backup, db, now, seen, segment};

pub(crate) const MINUTE: f64 = 60.0;

/// The sidecar of the plugin, running since its pod was made.
pub(crate) fn sidecar() -> ContainerSeen {
    ContainerSeen { name: "plugin-barman-cloud".into(), init: true, running: Some(true), ..ContainerSeen::default() }
}

/// A pod of an instance with the sidecar.
pub(crate) fn instance(name: &str, role: &str) -> PodSeen {
    let mut seen = pod(name, role);
    seen.containers.push(sidecar());
    seen
}

/// A healthy Cluster of this name that archives by plugin to `cnpg/<name>`, with both its instances.
pub(crate) fn cluster(name: &str) -> CnpgFact {
    let mut fact = bare_cluster(name);
    fact.pods = Some(vec![instance(&format!("{name}-1"), "primary"), instance(&format!("{name}-2"), "replica")]);
    fact.wal_storage = Some(10 << 30);
    fact
}

pub(crate) fn plugin_at(location: LiveLocation) -> ArchiveRef {
    ArchiveRef::Plugin {
        object_store: "store".into(),
        location: Some(location),
        dangling: false,
        declared_archiver: Some(true),
        enabled: true,
    }
}

pub(crate) fn place(server: &str) -> LiveLocation {
    location(server)
}

/// The first archiver of a Cluster, to be changed.
pub(crate) fn archiver(cluster: &mut CnpgFact) -> &mut LiveLocation {
    match &mut cluster.archivers[0] {
        ArchiveRef::Plugin { location, .. } => location.as_mut().unwrap(),
        ArchiveRef::InTree { location } => location,
    }
}

/// The in-tree method instead of the plugin.
pub(crate) fn in_tree(cluster: &mut CnpgFact) {
    let here = archiver(cluster).clone();
    cluster.archivers = vec![ArchiveRef::InTree { location: here }];
    cluster.object_stores.clear();
    for pod in cluster.pods.as_mut().unwrap() {
        pod.containers.retain(|container| container.name == "postgres");
    }
}

pub(crate) fn failing(message: &str, age: f64) -> Condition {
    Condition { message: message.into(), ..condition("ContinuousArchiving", "False", age) }
}

/// Replaces the condition of that type.
pub(crate) fn says(cluster: &mut CnpgFact, said: Condition) {
    cluster.conditions.retain(|known| known.kind != said.kind);
    cluster.conditions.push(said);
}

/// What a pass saw.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) expected: Expected,
    pub(crate) facts: Vec<Fact>,
}

impl Scene {
    /// The Cluster `app`, well in every respect.
    pub(crate) fn healthy() -> Self {
        Self::of(vec![cluster("app")]).archives(vec![archive("app")]).numbers("app")
    }

    pub(crate) fn of(clusters: Vec<CnpgFact>) -> Self {
        let mut facts: Vec<Fact> = vec![Fact::Store(Box::new(store()))];
        facts.extend(clusters.into_iter().map(|cluster| Fact::Cnpg(Box::new(cluster))));
        Self { expected: Expected::default(), facts }
    }

    pub(crate) fn archives(mut self, archives: Vec<ArchiveFact>) -> Self {
        for archive in archives {
            self.expected.covers.push((archive.subject.clone(), FactKind::Archive));
            self.expected.rests_on.insert(archive.subject.clone(), store_subject());
            self.facts.push(Fact::Archive(Box::new(archive)));
        }
        self
    }

    /// The numbers of a healthy archiver: a segment every four minutes, none waits.
    pub(crate) fn numbers(self, name: &str) -> Self {
        let unix = |age: f64| ago(age).as_second() as f64;
        self.number(name, metric::EXPORTER_UP, 1.0, 1.0)
            .number(name, metric::WAL_READY, 0.0, 0.0)
            .number(name, metric::WAL_ARCHIVED, 1_843.0, 1_846.0)
            .number(name, metric::WAL_FAILED, 0.0, 0.0)
            .number(name, metric::WAL_LAST_ARCHIVED, unix(720.0), unix(120.0))
            .number(name, metric::WAL_SINCE_ARCHIVAL, 120.0, 120.0)
            .number(name, metric::WAL_BYTES, 0.6e9, 0.6e9)
            .number(name, metric::WAL_VOLUME_AVAILABLE, 10.1e9, 10.1e9)
            .number(name, metric::WAL_VOLUME_CAPACITY, 10.7e9, 10.7e9)
    }

    /// What a number was ten minutes ago, and what it is now.
    pub(crate) fn number(mut self, name: &str, metric: &str, before: f64, value: f64) -> Self {
        let subject = db(name);
        self.facts.retain(|fact| match fact {
            Fact::Sample(sample) => sample.subject != subject || sample.metric != metric,
            Fact::Series(series) => series.subject != subject || series.metric != metric,
            _ => true,
        });
        self.facts.push(Fact::Sample(Sample { subject: subject.clone(), metric: metric.into(), value, at: now() }));
        let points = vec![(ago(10.0 * MINUTE), before)];
        self.facts.push(Fact::Series(Series { subject, metric: metric.into(), source: "ledger".into(), points }));
        self
    }

    /// The exporter, or whoever tells numbers, was not read.
    pub(crate) fn no_numbers(mut self) -> Self {
        self.facts.retain(|fact| !matches!(fact, Fact::Sample(_) | Fact::Series(_)));
        self
    }

    pub(crate) fn no_number(mut self, metric: &str) -> Self {
        self.facts.retain(|fact| match fact {
            Fact::Sample(sample) => sample.metric != metric,
            Fact::Series(series) => series.metric != metric,
            _ => true,
        });
        self
    }

    /// Changes the first Cluster.
    pub(crate) fn cluster(mut self, change: impl FnOnce(&mut CnpgFact)) -> Self {
        let mut facts = self.facts.iter_mut();
        change(facts.find_map(|fact| if let Fact::Cnpg(cluster) = fact { Some(cluster) } else { None }).unwrap());
        self
    }

    /// Changes the first archive.
    pub(crate) fn archive(mut self, change: impl FnOnce(&mut ArchiveFact)) -> Self {
        let mut facts = self.facts.iter_mut();
        change(facts.find_map(|fact| if let Fact::Archive(archive) = fact { Some(archive) } else { None }).unwrap());
        self
    }

    /// The bucket was not read.
    pub(crate) fn no_archive(mut self) -> Self {
        self.facts.retain(|fact| !matches!(fact, Fact::Archive(_)));
        self.expected.covers.clear();
        self
    }

    pub(crate) fn and(mut self, fact: Fact) -> Self {
        self.facts.push(fact);
        self
    }

    /// Everything that was written reached the bucket so long ago.
    pub(crate) fn newest(self, age: f64) -> Self {
        self.archive(|archive| {
            archive.newest_segment.as_mut().unwrap().written = Some(ago(age));
            for window in &mut archive.windows {
                window.covered_until = Some(ago(age));
            }
        })
    }

    pub(crate) fn judge(&self) -> Judgement {
        let observation = Observation { facts: self.facts.clone(), ..Observation::default() };
        judge(now(), &self.expected, &[(ProviderId("test".into()), observation)], &[])
    }

    pub(crate) fn findings(&self) -> Vec<Finding> {
        self.judge().findings
    }

    /// The one finding of this scene, with everything that a person needs.
    #[track_caller]
    pub(crate) fn only(&self, code: &str, severity: Severity) -> Finding {
        the_only(self.findings(), code, severity)
    }

    #[track_caller]
    pub(crate) fn silent(&self) {
        let codes: Vec<String> = self.findings().iter().map(|f| format!("{} {}: {}", f.code, f.subject, f.summary)).collect();
        assert_eq!(codes, Vec::<String>::new(), "a healthy twin must stay silent");
    }
}

/// A copy of the archive in another store, somewhere else.
pub(crate) fn elsewhere(scene: Scene, behind: f64) -> Scene {
    let away: StoreFact = StoreFact {
        subject: Subject::new(SubjectKind::Store, &["home", "away"]),
        store: StoreId("away".into()),
        endpoint: "https://acct.r2.example.net".into(),
        ..store()
    };
    let mut copy = archive("app-copy");
    copy.place.store = StoreId("away".into());
    copy.place.server = "app".into();
    copy.newest_segment.as_mut().unwrap().written = Some(ago(120.0 + behind));
    let scene = scene.archives(vec![copy]);
    let mut scene = scene.and(Fact::Store(Box::new(away)));
    scene.expected.rests_on.insert(db("app-copy"), Subject::new(SubjectKind::Store, &["home", "away"]));
    scene
}

pub(crate) fn alert_rules(rules: &[(&str, &str)]) -> Scene {
    let rules = rules.iter().map(|(name, text)| ("monitoring/cnpg".to_owned(), (*name).to_owned(), (*text).to_owned()));
    let subject = Subject::new(SubjectKind::Cluster, &["home", "home"]);
    Scene::healthy().and(Fact::AlertRules(Box::new(AlertRulesFact { subject, rules: rules.collect() })))
}

pub(crate) fn site(change: impl FnOnce(&mut CnpgSiteFact)) -> Fact {
    let mut site = CnpgSiteFact {
        subject: Subject::new(SubjectKind::Cluster, &["home", "home"]),
        kube: KubeId("home".into()),
        version: None,
        adopted: true,
        gone: Vec::new(),
        orphan_schedules: Vec::new(),
        orphan_backups: Vec::new(),
        unused_stores: Vec::new(),
    };
    change(&mut site);
    Fact::CnpgSite(Box::new(site))
}

/// Environment as it is written: plain values.
pub(crate) fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, Option<String>> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned()))).collect()
}

pub(crate) fn days(count: f64) -> Timestamp {
    ago(count * DAY)
}
