//! Replica clusters: whether the archive that one follows is still written.

use jiff::Timestamp;

use super::super::ground::{Ground, HOUR, say};
use super::place::words;
use super::stand;
use super::writers::{Spot, spots};
use crate::domain::{ArchiveFact, ArchiveRef, CnpgFact, Finding, LiveLocation, Severity, age};

/// Two archives of which one is this much behind the other are not two views of one idle database.
const BEHIND: f64 = 6.0 * HOUR;

pub(super) fn judge(ground: &Ground) -> Vec<Finding> {
    ground.cnpg.iter().filter(|cluster| !stand::is_asleep(cluster)).filter_map(|cluster| stale(ground, cluster)).collect()
}

/// Nobody writes to the place that is followed, and the database it should follow writes somewhere beside it.
fn stale(ground: &Ground, replica: &CnpgFact) -> Option<Finding> {
    let source = replica.replica_of.as_ref()?;
    let external = replica.externals.iter().find(|external| &external.name == source)?;
    let location = external.archive.as_ref().and_then(ArchiveRef::location)?;
    let followed = Spot::of(ground, replica, location)?;
    let others = || ground.cnpg.iter().filter(|other| other.subject != replica.subject && other.replica_of.is_none());
    if others().any(|other| spots(ground, other).iter().any(|(spot, _)| *spot == followed)) {
        return None;
    }
    let archive = archive_at(ground, location);
    let (primary, now_at) = others().filter(|other| is_the_database(replica, &followed, archive, other)).find_map(|other| {
        spots(ground, other).into_iter().find(|(spot, _)| spot.beside(&followed)).map(|(_, at)| (*other, at))
    })?;
    let newest = |archive: Option<&ArchiveFact>| archive.and_then(|archive| archive.newest_segment.as_ref()?.written);
    let (old, new) = (newest(archive), newest(archive_at(ground, now_at)));
    // Where both were listed, the times decide: equal ones are an idle database, and a young one that somebody unseen writes.
    if let (Some(old), Some(new)) = (old, new)
        && new.duration_since(old).as_secs_f64() <= BEHIND
    {
        return None;
    }
    if old.is_some_and(|old| ground.age(old) <= BEHIND) {
        return None;
    }
    let written = |at: Option<Timestamp>| {
        at.map_or_else(|| "not listed".to_owned(), |at| format!("newest segment {at} ({})", age(at, ground.now)))
    };
    let back = old.map_or_else(String::new, |at| format!(": it would come up with the state of {at}"));
    Some(Finding {
        evidence: vec![
            format!("{} in {} follows {}; {}", replica.cluster, replica.kube, words(location), written(old)),
            format!("{} in {} writes {}; {}", primary.cluster, primary.kube, words(now_at), written(new)),
        ],
        cause: format!(
            "{} follows server {}, and {} writes {}",
            replica.cluster, location.server, primary.cluster, now_at.server
        ),
        remedy: if differ(replica, primary) {
            format!(
                "the databases differ (system identifiers), so it cannot be repointed: delete Cluster {} in {} and make it anew from server {}",
                replica.cluster, replica.kube, now_at.server
            )
        } else {
            format!(
                "kubectl -n {} edit cluster {}: set serverName {} in externalClusters[{source}]; if it does not follow, make it anew from there",
                replica.cluster.namespace, replica.cluster.name, now_at.server
            )
        },
        ..say(
            "replica-source-stale",
            Severity::Critical,
            &replica.subject,
            format!("the replica cluster follows server {}, which nobody writes any more{back}", location.server),
        )
    })
}

fn differ(replica: &CnpgFact, primary: &CnpgFact) -> bool {
    matches!((replica.system_id, primary.system_id), (Some(ours), Some(theirs)) if ours != theirs)
}

fn archive_at<'a>(ground: &Ground<'a>, location: &LiveLocation) -> Option<&'a ArchiveFact> {
    ground.archives.iter().find(|archive| super::place::is_at(location, &archive.place)).copied()
}

/// Whether another Cluster is the one that this replica should follow: by the database's identifier, else by its name, which barman
/// uses as the server's name and which is kept when a site is rebuilt.
fn is_the_database(replica: &CnpgFact, followed: &Spot, archive: Option<&ArchiveFact>, other: &CnpgFact) -> bool {
    let system = other.system_id.filter(|_| stand::has_archiver(other));
    let same = system.is_some_and(|system| {
        replica.system_id == Some(system)
            || archive.is_some_and(|archive| archive.systems.iter().any(|seen| seen.system_id == system))
    });
    same || other.cluster.name == followed.server || other.cluster.name == replica.cluster.name
}
