//! Where a Cluster writes: what is spelt in live objects, held against our configuration, against what is there, and against the
//! cluster it stands in.

use super::super::ground::{Ground, say, some_of};
use super::stand;
use crate::domain::{
    ArchivePlace, ArchiveRef, CnpgFact, ConfiguredLocation, Finding, LiveLocation, Severity, StoreFact, Subject,
};

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    [placeholders(cluster), dangling(cluster), differs(ground, cluster), not_offsite(ground, cluster)]
        .into_iter()
        .flatten()
        .collect()
}

/// Whether a finding says why a Cluster's archive was not looked at: its place holds a placeholder, or its ObjectStore is not there.
pub(in crate::policy) fn tells_why_not_seen(ground: &Ground, subject: &Subject) -> bool {
    ground.cluster_of(subject).is_some_and(|cluster| {
        let dark = |writer: &&ArchiveRef| match writer.location() {
            Some(location) => !location.placeholders.is_empty(),
            None => matches!(writer, ArchiveRef::Plugin { dangling: true, .. }),
        };
        let writers = stand::writers(cluster);
        !writers.is_empty() && cluster.deleting.is_none() && writers.iter().all(dark)
    })
}

/// Whether a live location is this place.
pub(super) fn is_at(location: &LiveLocation, place: &ArchivePlace) -> bool {
    location.store.as_ref() == Some(&place.store)
        && location.bucket.as_deref() == Some(&place.bucket)
        && location.path.as_deref() == Some(place.prefix.as_str().trim_end_matches('/'))
        && location.server == place.server
}

/// A location as people compare it.
pub(super) fn words(location: &LiveLocation) -> String {
    let endpoint = location.endpoint.as_deref().unwrap_or("AWS");
    format!("{} on {endpoint}, server {} ({})", location.destination, location.server, location.spelt_in)
}

/// Host and port of an endpoint: lower case, no scheme, no path, no port that the scheme implies.
pub(super) fn host_of(endpoint: Option<&str>) -> String {
    let Some(endpoint) = endpoint else { return "aws".to_owned() };
    let endpoint = endpoint.trim().to_ascii_lowercase();
    let (scheme, rest) = endpoint.split_once("://").unwrap_or(("https", &endpoint));
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let implied = if scheme == "http" { ":80" } else { ":443" };
    authority.strip_suffix(implied).unwrap_or(authority).to_owned()
}

/// A name that only the cluster itself can resolve: of a Service (`minio.storage.svc`), or of one in the same namespace (`minio`).
pub(super) fn inside_the_cluster(endpoint: Option<&str>) -> bool {
    let authority = host_of(endpoint);
    if endpoint.is_none() || authority.starts_with('[') {
        return false;
    }
    let host = authority.split(':').next().unwrap_or_default().trim_end_matches('.');
    host.rsplit('.').next() == Some("svc") || host.ends_with(".svc.cluster.local") || (!host.is_empty() && !host.contains('.'))
}

/// Placeholders that stand in live objects as values: nobody ever wrote there.
pub(super) fn placeholders(cluster: &CnpgFact) -> Option<Finding> {
    let written = stand::written(cluster).into_iter();
    let read = cluster.externals.iter().filter_map(|external| external.archive.as_ref().and_then(ArchiveRef::location));
    let mut evidence: Vec<String> = written
        .chain(read)
        .flat_map(|location| {
            location
                .placeholders
                .iter()
                .map(move |(field, value)| format!("{}: {field} is the placeholder {value}", location.spelt_in))
        })
        .collect();
    evidence.sort();
    evidence.dedup();
    let first = evidence.first()?.clone();
    Some(Finding {
        summary: format!("a {} still holds a placeholder, nothing can be archived there: {}", if cluster.from_text { "manifest" } else { "live object" }, some_of(&evidence)),
        evidence,
        cause: "the manifest was rendered or delivered without this value".to_owned(),
        remedy: "fill the value in where the manifest is made (its values, its substitutions), deliver it anew, and take a base backup"
            .to_owned(),
        ..say("config-placeholder-unresolved", Severity::Critical, &cluster.subject, first)
    })
}

/// Names of ObjectStores that are not there. The operator waits for each of them, those of long finished restores too, before it does
/// anything else.
pub(super) fn dangling(cluster: &CnpgFact) -> Option<Finding> {
    if cluster.deleting.is_some() {
        return None;
    }
    let missing = |archive: &ArchiveRef| match archive {
        ArchiveRef::Plugin { object_store, dangling: true, enabled: true, .. } => Some(object_store.clone()),
        _ => None,
    };
    let of_writers = cluster.archivers.iter().filter_map(missing).map(|store| ("spec.plugins".to_owned(), store));
    let of_externals = cluster
        .externals
        .iter()
        .filter_map(|external| Some((format!("externalClusters[{}]", external.name), missing(external.archive.as_ref()?)?)));
    let all: Vec<(String, String)> = of_writers.chain(of_externals).collect();
    let (place, store) = all.first()?;
    let namespace = &cluster.cluster.namespace;
    let ready = cluster.ready_instances.map_or_else(|| "?".to_owned(), |ready| ready.to_string());
    let mut evidence: Vec<String> =
        all.iter().map(|(place, store)| format!("{place} names ObjectStore {store}, which is not in {namespace}")).collect();
    if cluster.from_text {
        evidence.push("no ObjectStore of that name is among the manifests of this environment".to_owned());
    } else {
        evidence.push(format!(
            "{ready} of {} instances are ready, phase \"{}\" (it stays as it was)",
            cluster.instances,
            cluster.phase.as_deref().unwrap_or("not said")
        ));
    }
    Some(Finding {
        evidence,
        cause: format!("{place} refers to ObjectStore {store}, which does not exist in {namespace}"),
        remedy: format!(
            "kubectl -n {namespace} get objectstores; make {store} again, or remove the entry: kubectl -n {namespace} edit cluster {}",
            cluster.cluster.name
        ),
        ..say(
            "objectstore-reference-dangling",
            Severity::Critical,
            &cluster.subject,
            format!("{place} names ObjectStore {store}, which does not exist: nothing of this Cluster is reconciled any more"),
        )
    })
}

/// The configuration says one place, the live object another.
fn differs(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let configured = cluster.configured.as_ref()?;
    let written = stand::written(cluster);
    // A placeholder has a finding of its own, and says nothing about the place.
    let live: Vec<&LiveLocation> = written.into_iter().filter(|location| location.bucket.is_some()).collect();
    let (first, names): (_, Vec<&str>) = (*live.first()?, live.iter().flat_map(|live| differences(configured, live)).collect());
    if live.iter().any(|live| differences(configured, live).is_empty()) {
        return None;
    }
    // One store may have two names, one inside the cluster and one outside: the same database in the archive shows that it is one.
    let endpoint_only = live.iter().any(|live| differences(configured, live) == ["endpoint"]);
    if endpoint_only && same_database(ground, cluster) {
        return None;
    }
    let here = format!(
        "{}: s3://{}/{} on {} (store {}), server {}",
        configured.spelt_in, configured.bucket, configured.path, configured.endpoint, configured.store, configured.server
    );
    Some(Finding {
        evidence: std::iter::once(format!("configured  {here}"))
            .chain(live.iter().map(|live| format!("live        {}", words(live))))
            .collect(),
        cause: format!("{} differ(s): one of the two was changed and the other was not", some_of(&deduplicated(&names))),
        remedy: format!(
            "believe the live object: correct {}, or remove its archive so that it is discovered; then: dalsegno check {}",
            configured.spelt_in, cluster.subject
        ),
        ..say(
            "archive-location-differs",
            if endpoint_only { Severity::Warning } else { Severity::Critical },
            &cluster.subject,
            format!(
                "we look at s3://{}/{}/{}, and {} writes to {}, server {}",
                configured.bucket, configured.path, configured.server, cluster.cluster, first.destination, first.server
            ),
        )
    })
}

fn deduplicated(names: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

fn differences(configured: &ConfiguredLocation, live: &LiveLocation) -> Vec<&'static str> {
    let store = live.store.as_ref() == Some(&configured.store)
        || host_of(Some(&configured.endpoint)) == host_of(live.endpoint.as_deref());
    [
        ("endpoint", store),
        ("bucket", live.bucket.as_deref() == Some(&configured.bucket)),
        ("path", live.path.as_deref() == Some(&configured.path)),
        ("server name", live.server == configured.server),
    ]
    .into_iter()
    .filter_map(|(name, same)| (!same).then_some(name))
    .collect()
}

/// The archive that we look at holds this Cluster's database and nothing else.
fn same_database(ground: &Ground, cluster: &CnpgFact) -> bool {
    let Some(system) = cluster.system_id else { return false };
    let archive = ground.archive_of(&cluster.subject);
    archive.is_some_and(|archive| !archive.systems.is_empty() && archive.systems.iter().all(|seen| seen.system_id == system))
}

/// The only archive lies in the cluster that it shall outlive.
fn not_offsite(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    if stand::is_stopped(cluster) {
        return None;
    }
    let written = stand::written(cluster);
    let inside = |location: &&LiveLocation| location.bucket.is_some() && inside_the_cluster(location.endpoint.as_deref());
    let location = *written.first()?;
    if !written.iter().all(inside) || copied_outside(ground, cluster) {
        return None;
    }
    let endpoint = location.endpoint.as_deref().unwrap_or_default();
    Some(Finding {
        evidence: vec![
            format!("{}: endpointURL {endpoint}, a name of {} itself", location.spelt_in, cluster.kube),
            "no other store that we know holds this database".to_owned(),
        ],
        cause: "the endpoint is a Service of the same cluster, and no copy elsewhere is known".to_owned(),
        remedy:
            "replicate the bucket to another site (mc replicate add, or a mirror job), name that copy under postgres: in the \
                 configuration, and its newest segment is watched too"
                .to_owned(),
        ..say(
            "archive-not-offsite",
            Severity::Warning,
            &cluster.subject,
            format!("the only archive known lies inside the cluster that it protects ({endpoint})"),
        )
    })
}

/// A store elsewhere holds the same database, and its newest segment is not behind by more than one round of archiving.
fn copied_outside(ground: &Ground, cluster: &CnpgFact) -> bool {
    let here = ground.archive_of(&cluster.subject);
    let systems: Vec<_> = cluster
        .system_id
        .into_iter()
        .chain(here.iter().flat_map(|archive| &archive.systems).map(|seen| seen.system_id))
        .collect();
    let newest_here = here.and_then(|archive| archive.newest_segment.as_ref()?.written);
    let outside = |store: &StoreFact| !inside_the_cluster(Some(&store.endpoint));
    ground.archives.iter().any(|copy| {
        let held = copy.systems.iter().any(|seen| systems.contains(&seen.system_id));
        let elsewhere = ground.store_of(copy).is_some_and(outside);
        let newest = copy.newest_segment.as_ref().and_then(|segment| segment.written);
        let grace = ground.archiving_grace(&cluster.subject);
        let behind = match (newest_here, newest) {
            (Some(here), Some(there)) => here.duration_since(there).as_secs_f64() > grace,
            (_, there) => there.is_none(),
        };
        held && elsewhere && !behind && !stand::written(cluster).iter().any(|location| is_at(location, &copy.place))
    })
}
