//! Two Clusters that write to one place.

use std::collections::BTreeMap;

use super::super::ground::{Ground, say, some_of};
use super::place::{host_of, inside_the_cluster, words};
use super::stand;
use crate::domain::{CnpgFact, Finding, LiveLocation, Severity};

/// A place as any spelling of it gives. A name that only one cluster resolves is another one in each cluster (and, without a
/// namespace in it, in each namespace).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    host: String,
    within: Option<(String, String)>,
    bucket: String,
    path: String,
    pub(super) server: String,
}

impl Spot {
    /// `None` when the destination cannot be read, or holds a placeholder.
    pub(super) fn of(ground: &Ground, cluster: &CnpgFact, location: &LiveLocation) -> Option<Self> {
        let endpoint = location.endpoint.as_deref();
        // Where the configuration knows such a name as another one of a store outside, it is that store wherever it is said.
        let store = ground.stores.iter().find(|store| Some(&store.store) == location.store.as_ref());
        let known_outside = store.is_some_and(|store| !inside_the_cluster(Some(&store.endpoint)));
        let inside = inside_the_cluster(endpoint) && !known_outside;
        let short = inside && !host_of(endpoint).contains('.');
        let namespace = if short { cluster.cluster.namespace.clone() } else { String::new() };
        let host = match &location.store {
            Some(store) if !inside => format!("store {store}"),
            _ => host_of(endpoint),
        };
        Some(Self {
            host,
            within: inside.then(|| (cluster.kube.0.clone(), namespace)),
            bucket: location.bucket.clone()?,
            path: location.path.clone()?.trim_matches('/').to_owned(),
            server: location.server.clone(),
        })
    }

    /// The same but for the server's name.
    pub(super) fn beside(&self, other: &Self) -> bool {
        self.server != other.server
            && Self { server: String::new(), ..self.clone() } == Self { server: String::new(), ..other.clone() }
    }
}

/// Places that a Cluster writes to. One whose archiving is switched off by annotation has a finding of its own for that.
pub(super) fn spots<'a>(ground: &Ground, cluster: &'a CnpgFact) -> Vec<(Spot, &'a LiveLocation)> {
    let written = stand::written(cluster).into_iter();
    let mut spots: Vec<_> = written.filter_map(|location| Some((Spot::of(ground, cluster, location)?, location))).collect();
    spots.dedup_by(|a, b| a.0 == b.0);
    spots
}

pub(super) fn judge(ground: &Ground) -> Vec<Finding> {
    let mut by_spot: BTreeMap<Spot, Vec<(&CnpgFact, &LiveLocation)>> = BTreeMap::new();
    for cluster in ground.cnpg.iter().filter(|cluster| writes(cluster)) {
        for (spot, location) in spots(ground, cluster) {
            by_spot.entry(spot).or_default().push((cluster, location));
        }
    }
    by_spot.into_values().filter_map(shared).collect()
}

fn writes(cluster: &CnpgFact) -> bool {
    cluster.deleting.is_none() && cluster.skip_wal_archiving.as_deref() != Some("enabled")
}

/// Told of the oldest Cluster: it is its archive that is spoilt, and the younger ones are to be changed.
fn shared(mut writers: Vec<(&CnpgFact, &LiveLocation)>) -> Option<Finding> {
    let age = |cluster: &CnpgFact| (cluster.created.is_none(), cluster.created, cluster.subject.clone());
    writers.sort_by_key(|(cluster, _)| age(cluster));
    // One Kubernetes cluster under two names shows every object twice.
    writers.dedup_by(|(a, _), (b, _)| a.subject == b.subject || (a.uid.is_some() && a.uid == b.uid));
    let [(oldest, location), .., (youngest, _)] = writers.as_slice() else { return None };
    let name = |cluster: &CnpgFact| format!("{} ({})", cluster.cluster, cluster.kube);
    let all: Vec<String> = writers.iter().map(|(cluster, _)| name(cluster)).collect();
    let evidence = writers
        .iter()
        .map(|(cluster, location)| {
            let system = cluster.system_id.map_or_else(String::new, |system| format!(", system {system}"));
            let created = cluster.created.map_or_else(String::new, |at| format!(", made {at}"));
            let check = if cluster.skip_empty_archive_check { ", cnpg.io/skipEmptyWalArchiveCheck is enabled" } else { "" };
            format!("{}: {}{system}{created}{check}", name(cluster), words(location))
        })
        .collect();
    let twins = oldest.system_id.is_some() && oldest.system_id == youngest.system_id;
    Some(Finding {
        evidence,
        cause: if twins {
            format!("{} is a copy of {} and archives into its parent's place", name(youngest), name(oldest))
        } else {
            format!("{} resolve to the same endpoint, bucket, path and server name", some_of(&all))
        },
        remedy: format!(
            "kubectl -n {ns} annotate cluster {younger} cnpg.io/skipWalArchiving=enabled (in {kube}); give it another serverName, take a base \
             backup of both, and drill the older one: dalsegno drill pg-restore --db {older}",
            ns = youngest.cluster.namespace,
            younger = youngest.cluster.name,
            kube = youngest.kube,
            older = oldest.subject.name()
        ),
        ..say(
            "wal-prefix-shared-by-two-writers",
            Severity::Critical,
            &oldest.subject,
            format!(
                "{} Clusters archive to {}, server {}: {}",
                writers.len(),
                location.destination,
                location.server,
                some_of(&all)
            ),
        )
    })
}
