//! Clusters that were restored: from the right place, not into it, and protected again.

use super::super::ground::{Ground, MINUTE, plus, say, some_of};
use super::place::{is_at, words};
use super::stand;
use super::writers::{Spot, spots};
use crate::domain::{ArchiveFact, ArchiveRef, Bootstrap, CnpgFact, Finding, LiveLocation, Severity, age};

/// Clocks of a store and of an API server differ by seconds, and uploads overtake each other by less than a minute (maxParallel).
const CLOCKS: f64 = 5.0 * MINUTE;
/// What the plugin and the operator say when a recovery's source holds no base backup for its server name.
const NO_BACKUP_THERE: &[&str] = &["no target backup found"];

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    [
        unprotected(ground, cluster),
        overwrites_source(ground, cluster).or_else(|| reused_after_snapshot(ground, cluster)),
        source_server(ground, cluster),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The archive that the Cluster is or was restored from, with the name of the entry that says so.
pub(super) fn source(cluster: &CnpgFact) -> Option<(&str, &ArchiveRef)> {
    let Bootstrap::Recovery { source: Some(source), .. } = &cluster.bootstrap else { return None };
    let external = cluster.externals.iter().find(|external| &external.name == source)?;
    Some((source, external.archive.as_ref()?))
}

/// In use since its restore, and nothing of it is archived: the condition is True all the same, since there is nothing to do.
fn unprotected(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let created = cluster.created.filter(|at| ground.age(*at) > stand::SANDBOX_LIFE)?;
    let restored = matches!(cluster.bootstrap, Bootstrap::Recovery { .. });
    let snapshots = cluster.volume_snapshots && cluster.schedules.as_ref().is_some_and(|schedules| !schedules.is_empty());
    // Written down as not archived on purpose, or following another one: told elsewhere, or no fault.
    let other = snapshots || cluster.replica_of.is_some() || stand::is_stopped(cluster) || cluster.instances == 0;
    if !restored || stand::has_archiver(cluster) || other {
        return None;
    }
    let (namespace, name) = (&cluster.cluster.namespace, &cluster.cluster.name);
    let schedules = match cluster.schedules.as_deref() {
        None => "schedules were not looked at".to_owned(),
        Some([]) => "no ScheduledBackup names it".to_owned(),
        Some(schedules) => format!("{} ScheduledBackup(s) name it, and there is nowhere to write", schedules.len()),
    };
    let said = super::archiver::continuous(cluster).map(|condition| {
        format!("condition ContinuousArchiving is {}, which says nothing where nothing is to be archived", condition.status)
    });
    let from =
        source(cluster).and_then(|(_, archive)| archive.location()).map(|location| format!("restored from {}", words(location)));
    Some(Finding {
        evidence: std::iter::once(format!("made {created} by recovery; no plugin and no barmanObjectStore archives"))
            .chain([schedules])
            .chain(from)
            .chain(said)
            .collect(),
        cause: "the restore was made without an archiver (rightly), and none was added when the Cluster went into use".to_owned(),
        remedy: format!(
            "kubectl -n {namespace} edit cluster {name}: add spec.plugins with isWALArchiver: true and a serverName that nobody has used \
             ({name}); add a ScheduledBackup; and take a backup now: kubectl cnpg -n {namespace} backup {name} --method plugin \
             --plugin-name barman-cloud.cloudnative-pg.io"
        ),
        ..say(
            "restored-cluster-unprotected",
            Severity::Critical,
            &cluster.subject,
            format!("restored {} and still without an archiver: nothing since is backed up", age(created, ground.now)),
        )
    })
}

/// It writes where it restores from.
fn overwrites_source(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    if cluster.deleting.is_some() {
        return None;
    }
    let (entry, from) = source(cluster).and_then(|(entry, archive)| Some((entry, archive.location()?)))?;
    let spot = Spot::of(ground, cluster, from)?;
    let (_, to) = spots(ground, cluster).into_iter().find(|(written, _)| *written == spot)?;
    let check = if cluster.skip_empty_archive_check {
        "cnpg.io/skipEmptyWalArchiveCheck is enabled: nothing stops it from writing into the source"
    } else {
        "the empty-archive check will refuse, and the restore does not start"
    };
    let mut evidence =
        vec![format!("externalClusters[{entry}] reads {}", words(from)), format!("it writes to {}", words(to)), check.to_owned()];
    evidence.extend(stand::line_with(cluster, &["Expected empty archive"]).map(str::to_owned));
    Some(Finding {
        evidence,
        cause: format!("{} restores from and archives to the same place", cluster.cluster),
        remedy: format!(
            "kubectl -n {ns} edit cluster {name}: give the writer a serverName that nobody has used, keep {server} for the source with \
             read-only keys; then: kubectl -n {ns} annotate cluster {name} cnpg.io/skipEmptyWalArchiveCheck-",
            ns = cluster.cluster.namespace,
            name = cluster.cluster.name,
            server = from.server
        ),
        ..say(
            "restore-overwrites-source-archive",
            Severity::Critical,
            &cluster.subject,
            format!("{} writes to the place it is restored from ({}, server {})", cluster.cluster, to.destination, to.server),
        )
    })
}

/// Restored from volume snapshots, and its place holds what was written before it was made: no check stood in the way.
fn reused_after_snapshot(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let Bootstrap::Recovery { snapshots, .. } = &cluster.bootstrap else { return None };
    let created = cluster.created.filter(|_| !snapshots.is_empty())?;
    let (archive, location) = stand::written(cluster).into_iter().find_map(|location| Some((at(ground, location)?, location)))?;
    let before = |moment: Option<jiff::Timestamp>| moment.filter(|moment| plus(*moment, CLOCKS) < created);
    let segment = archive.oldest_segment.as_ref().and_then(|segment| Some((segment, before(segment.written)?)));
    let backups: Vec<String> =
        archive.backups.iter().filter(|backup| before(backup.begin_time).is_some()).map(|backup| backup.id.clone()).collect();
    if segment.is_none() && backups.is_empty() {
        return None;
    }
    let mut evidence = vec![
        format!("made {created} from the volume snapshot(s) {}", some_of(&snapshots.values().cloned().collect::<Vec<_>>())),
        format!("it writes to {}", words(location)),
    ];
    evidence.extend(segment.map(|(segment, at)| format!("{} was written there {at}, before the Cluster was made", segment.key)));
    if !backups.is_empty() {
        evidence.push(format!("base backups from before: {}", some_of(&backups)));
    }
    Some(Finding {
        evidence,
        cause: format!("{} was restored from a snapshot and archives into the place of its origin", cluster.cluster),
        remedy: format!(
            "kubectl -n {ns} annotate cluster {name} cnpg.io/skipWalArchiving=enabled; bring overwritten objects back from the bucket's \
             versions, give {name} a serverName of its own, remove the annotation, and take a base backup",
            ns = cluster.cluster.namespace,
            name = cluster.cluster.name
        ),
        ..say(
            "wal-prefix-reused-after-snapshot-restore",
            Severity::Critical,
            &cluster.subject,
            format!(
                "{} was restored from a volume snapshot and writes over the WAL of its origin in {}",
                cluster.cluster, archive.place
            ),
        )
    })
}

fn at<'a>(ground: &Ground<'a>, location: &LiveLocation) -> Option<&'a ArchiveFact> {
    ground.archives.iter().find(|archive| is_at(location, &archive.place)).copied()
}

/// The server name of the source leads nowhere, while the path holds others: the default is the new Cluster's own name (plugin), or
/// the name of the entry (in-tree).
pub(super) fn source_server(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let (entry, archive_ref) = source(cluster)?;
    let location = archive_ref.location()?;
    let spot = Spot::of(ground, cluster, location)?;
    let restored = cluster.condition("Initialized").is_some_and(|condition| condition.is_true()) || stand::is_healthy(cluster);
    if restored || cluster.deleting.is_some() {
        return None;
    }
    let line = stand::line_with(cluster, NO_BACKUP_THERE);
    let listed_empty = at(ground, location).is_some_and(|archive| archive.segments == 0 && archive.backups.is_empty());
    let beside = beside(ground, location);
    if (line.is_none() && !listed_empty) || beside.is_empty() || (line.is_some() && beside.contains(&spot.server)) {
        return None;
    }
    let default = match archive_ref {
        ArchiveRef::Plugin { .. } if spot.server == cluster.cluster.name => {
            "no serverName is given, and the default is the new Cluster's own name"
        }
        ArchiveRef::InTree { .. } if spot.server == entry => "no serverName is given, and the default is the name of the entry",
        _ => "the serverName is not the one that was written",
    };
    let field = match archive_ref {
        ArchiveRef::Plugin { .. } => "plugin.parameters.serverName",
        ArchiveRef::InTree { .. } => "barmanObjectStore.serverName",
    };
    let mut evidence = vec![
        format!("externalClusters[{entry}] reads {}", words(location)),
        format!("under that path lie: {}", some_of(&beside)),
    ];
    evidence.extend(line.map(str::to_owned));
    Some(Finding {
        evidence,
        cause: default.to_owned(),
        remedy: format!(
            "kubectl -n {} edit cluster {}: set {field}: {} in externalClusters[{entry}]",
            cluster.cluster.namespace,
            cluster.cluster.name,
            beside.first().map_or("SERVER", String::as_str)
        ),
        ..say(
            "restore-source-server-mismatch",
            Severity::Critical,
            &cluster.subject,
            format!("the recovery source resolves to server {}, and the archive has {}", spot.server, some_of(&beside)),
        )
    })
}

/// Servers with something in them, beside each other under the path of a location.
fn beside(ground: &Ground, location: &LiveLocation) -> Vec<String> {
    let same_path = |archive: &&&ArchiveFact| {
        let as_here = LiveLocation { server: archive.place.server.clone(), ..location.clone() };
        is_at(&as_here, &archive.place) && (archive.segments > 0 || !archive.backups.is_empty())
    };
    let mut servers: Vec<String> = ground.archives.iter().filter(same_path).map(|archive| archive.place.server.clone()).collect();
    servers.sort();
    servers.dedup();
    servers
}
