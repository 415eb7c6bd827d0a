//! Clusters and archives joined by the database's own identifier: whose archive is it that a Cluster writes into?

use super::super::ground::{Ground, say, some_of};
use super::{place, stand};
use crate::domain::{ArchiveFact, CnpgFact, Finding, Severity, SystemId};

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    let Some(archive) = written_to(ground, cluster) else { return Vec::new() };
    [other_database(ground, cluster, archive), branched(ground, cluster, archive)].into_iter().flatten().collect()
}

/// Whether the Cluster whose identifier is expected in an archive is seen to write there: then it is told with both sides, or as two
/// writers.
pub(in crate::policy) fn tells_whose(ground: &Ground, archive: &ArchiveFact, expected: SystemId) -> bool {
    let writer = ground.cluster_of(&archive.subject).filter(|cluster| cluster.system_id == Some(expected));
    writer.is_some_and(|cluster| stand::written(cluster).iter().any(|location| place::is_at(location, &archive.place)))
}

/// The archive that this Cluster writes into, when it was looked at.
fn written_to<'a>(ground: &Ground<'a>, cluster: &CnpgFact) -> Option<&'a ArchiveFact> {
    let written = stand::written(cluster);
    ground.archives.iter().find(|archive| written.iter().any(|location| place::is_at(location, &archive.place))).copied()
}

/// Everything in the place is of another database: a wrong prefix, or one that was never emptied after the database was made anew.
fn other_database(ground: &Ground, cluster: &CnpgFact, archive: &ArchiveFact) -> Option<Finding> {
    let system = cluster.system_id?;
    let [seen] = archive.systems.as_slice() else { return None };
    // Where that other database is seen to write there as well, two writers are told of.
    let writes_there = |other: &&&CnpgFact| {
        other.system_id == Some(seen.system_id)
            && stand::written(other).iter().any(|location| place::is_at(location, &archive.place))
    };
    if seen.system_id == system || cluster.deleting.is_some() || ground.cnpg.iter().any(|other| writes_there(&other)) {
        return None;
    }
    Some(Finding {
        evidence: vec![
            format!("Cluster {}: system {system}", cluster.cluster),
            format!("{}: system {} in {}", archive.place, seen.system_id, some_of(&seen.seen_in)),
        ],
        cause: format!("{} was made anew, or names the prefix of another database", cluster.cluster),
        remedy: format!(
            "give {} a server name of its own that nobody has used, and take a base backup there; leave {} as it is until it is known whose it is",
            cluster.cluster, archive.place
        ),
        ..say(
            "archive-system-unexpected",
            Severity::Critical,
            &cluster.subject,
            format!(
                "{} writes to {}, which holds another database (system {}, the Cluster's is {system})",
                cluster.cluster, archive.place, seen.system_id
            ),
        )
    })
}

/// The same database, and the archive is on a later timeline than the Cluster: a restored twin archives into its parent.
fn branched(ground: &Ground, cluster: &CnpgFact, archive: &ArchiveFact) -> Option<Finding> {
    let timeline = cluster.timeline?;
    let ours = cluster.system_id?;
    let same = archive.systems.iter().any(|seen| seen.system_id == ours);
    let newest = archive.newest_segment.as_ref()?;
    let reached = u32::from_str_radix(newest.name.get(..8)?, 16).ok()?;
    // A failover shows in the bucket before it shows in the status; a Cluster that is well and long settled has none under way.
    let settled = stand::is_healthy(cluster)
        && !stand::wants_another_primary(cluster)
        && cluster.target_primary_since.is_none_or(|at| ground.age(at) > stand::SWITCHOVER);
    if !same || reached <= timeline || !settled || stand::is_asleep(cluster) {
        return None;
    }
    let others: Vec<String> = ground
        .cnpg
        .iter()
        .filter(|other| other.subject != cluster.subject && other.system_id == Some(ours))
        .map(|other| {
            format!(
                "{} in {} is on timeline {}",
                other.cluster,
                other.kube,
                other.timeline.map_or_else(|| "?".to_owned(), |t| t.to_string())
            )
        })
        .collect();
    let written = newest.written.map_or_else(String::new, |at| format!(", written {at}"));
    let mut evidence = vec![
        format!("Cluster {}: system {ours}, timeline {timeline}, phase healthy", cluster.cluster),
        format!("{}: newest segment {} on timeline {reached}{written}", archive.place, newest.name),
    ];
    evidence.extend(others.iter().cloned());
    let who = others.first().map_or_else(|| "a copy of this database that was restored somewhere".to_owned(), Clone::clone);
    Some(Finding {
        evidence,
        cause: format!("the same database was promoted elsewhere and archives into its parent's place: {who}"),
        remedy: format!(
            "find the restored copy (kubectl get clusters -A, and other sites), stop its archiving and give it a server name of its own; then \
             take a base backup of {} and drill it: dalsegno drill pg-restore --db {}",
            cluster.cluster,
            cluster.subject.name()
        ),
        ..say(
            "wal-prefix-shared-by-two-writers",
            Severity::Critical,
            &cluster.subject,
            format!(
                "{} is on timeline {timeline}, and its archive goes on on timeline {reached}: somebody else writes there",
                cluster.cluster
            ),
        )
    })
}
