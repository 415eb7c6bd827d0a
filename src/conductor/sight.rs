//! What was seen in a pass: a finding that is not found again is cleared only when everything its rule reads was.

use std::collections::{BTreeMap, BTreeSet};

use super::pass::channel_of;
use crate::domain::{
    CnpgFact, Expected, Fact, FactKind, FindingKey, Glance, Observation, ProviderId, StoreFact, Subject, SubjectKind, metric,
};
use crate::policy::{archive_clears, clock_clears, cluster_clears, life, reads_archives, store_clears};

pub(super) struct Sight<'a> {
    pub(super) seen: BTreeSet<Subject>,
    stores: BTreeMap<&'a Subject, &'a StoreFact>,
    clusters: BTreeMap<&'a Subject, &'a CnpgFact>,
    /// Each Kubernetes cluster told of all its Clusters: one that is not among them is gone.
    every_cluster: bool,
    /// Subjects of which the fact is missing.
    gaps: BTreeSet<&'a Subject>,
    /// Stores of which a part is missing.
    parts: BTreeSet<&'a Subject>,
    expected: BTreeSet<&'a Subject>,
    rests_on: &'a BTreeMap<Subject, Subject>,
    /// Databases of which numbers came.
    measured: BTreeSet<&'a Subject>,
    channels: Channels,
}

/// What is known of channels.
pub(super) struct Channels {
    /// Those that are configured and can be used.
    pub(super) known: BTreeSet<String>,
    /// Those that took a message since they were last found undeliverable.
    pub(super) working: BTreeSet<String>,
}

impl<'a> Sight<'a> {
    pub(super) fn new(expected: &'a Expected, observations: &'a [(ProviderId, Observation)], channels: Channels) -> Self {
        let facts = || observations.iter().flat_map(|(_, observation)| &observation.facts);
        let gaps = || observations.iter().flat_map(|(_, observation)| &observation.gaps);
        let is_part = |what: FactKind| matches!(what, FactKind::StorePart(_));
        let store = |fact: &'a Fact| if let Fact::Store(store) = fact { Some((&store.subject, store.as_ref())) } else { None };
        let cluster =
            |fact: &'a Fact| if let Fact::Cnpg(cluster) = fact { Some((&cluster.subject, cluster.as_ref())) } else { None };
        let of_the_api = |what: FactKind| matches!(what, FactKind::Cnpg | FactKind::CnpgSite);
        let whole = |what: FactKind| !matches!(what, FactKind::Sample | FactKind::Series) && !is_part(what);
        let of_the_clock = |fact: &Fact| match fact {
            Fact::Sample(sample) => metric::OF_THE_CLOCK.contains(&sample.metric.as_str()),
            Fact::Series(series) => metric::OF_THE_CLOCK.contains(&series.metric.as_str()),
            _ => false,
        };
        Self {
            seen: facts().filter(|fact| !fact.is_number()).map(|fact| fact.subject().clone()).collect(),
            measured: facts().filter(|fact| of_the_clock(fact)).map(Fact::subject).collect(),
            stores: facts().filter_map(store).collect(),
            clusters: facts().filter_map(cluster).collect(),
            every_cluster: facts().any(|fact| of_the_api(fact.kind())) && !gaps().any(|gap| of_the_api(gap.what)),
            gaps: gaps().filter(|gap| whole(gap.what)).map(|gap| &gap.subject).collect(),
            parts: gaps().filter(|gap| is_part(gap.what)).map(|gap| &gap.subject).collect(),
            expected: expected
                .covers
                .iter()
                .map(|(subject, _)| subject)
                .chain(expected.placeholders.iter().map(|placeholder| &placeholder.subject))
                .collect(),
            rests_on: &expected.rests_on,
            channels,
        }
    }

    /// What this pass says of a finding that it did not find.
    pub(super) fn glance(&self, key: &FindingKey) -> Glance {
        life::glance(self.looked_at(key), self.is_configured(key))
    }

    /// Databases, stores and clusters are looked at because the configuration, or what was discovered from it, names them.
    fn is_configured(&self, key: &FindingKey) -> bool {
        match key.subject.kind() {
            SubjectKind::Pg | SubjectKind::Store | SubjectKind::Cluster => {
                self.expected.contains(&key.subject) || self.gaps.contains(&key.subject)
            }
            SubjectKind::Dalsegno => channel_of(&key.subject).is_none_or(|channel| self.channels.known.contains(channel)),
            SubjectKind::Prefix => true,
        }
    }

    fn looked_at(&self, key: &FindingKey) -> bool {
        let subject = &key.subject;
        if subject.kind() == SubjectKind::Dalsegno {
            return channel_of(subject).is_none_or(|channel| self.channels.working.contains(channel));
        }
        // What is not adopted any more is silent; so is a placeholder that was filled in and now has facts or gaps of its own. What was
        // discovered is expected by nobody when its discoverer is blind: its gap speaks then.
        let unknown = !self.expected.contains(subject) && !self.gaps.contains(subject);
        if unknown || key.code == "config-placeholder-unresolved" {
            return true;
        }
        let cluster = self.clusters.get(subject).copied();
        let measured = clock_clears(&key.code, self.measured.contains(subject), cluster);
        let shown = cluster_clears(&key.code, cluster) || (cluster.is_none() && self.every_cluster);
        self.whole(subject) && measured && shown && self.of_store(key) && self.of_archive(key)
    }

    fn whole(&self, subject: &Subject) -> bool {
        self.seen.contains(subject) && !self.gaps.contains(subject)
    }

    /// About a store: the parts and settings that the rule reads were answered, and so were the archives on it.
    fn of_store(&self, key: &FindingKey) -> bool {
        let Some(store) = self.stores.get(&key.subject) else { return true };
        let on_it = || self.rests_on.iter().filter(|(_, below)| **below == key.subject).map(|(above, _)| above);
        store_clears(&key.code, store, self.parts.contains(&key.subject))
            && (!reads_archives(&key.code)
                || on_it().filter(|above| self.expected.contains(above)).all(|above| self.whole(above)))
    }

    /// About an archive: where the rule reads its store, the store was seen too, in all its parts.
    fn of_archive(&self, key: &FindingKey) -> bool {
        self.rests_on.get(&key.subject).is_none_or(|store| {
            let seen = self.stores.get(store).copied().filter(|_| !self.gaps.contains(store));
            archive_clears(&key.code, seen, self.parts.contains(store))
        })
    }
}
