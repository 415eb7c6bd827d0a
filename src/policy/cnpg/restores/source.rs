//! What a recovery reads from: the archive behind its source, and the base backup that it will take.

use super::super::super::ground::{Ground, done};
use super::super::place::is_at;
use super::super::restored::source;
use super::super::writers::{Spot, spots};
use crate::domain::{ArchiveFact, BaseBackup, Bootstrap, CnpgFact, RecoveryTarget};

/// Fields of `recoveryTarget` that say where recovery ends. `backupID`, `targetTLI` and `exclusive` do not.
pub(super) const ENDS: &[&str] = &["targetTime", "targetLSN", "targetXID", "targetName", "targetImmediate"];

/// Whether a target names an end.
pub(super) fn has_an_end(target: &RecoveryTarget) -> bool {
    target.iter().any(|(field, value)| ENDS.contains(&field.as_str()) && value != "false")
}

/// The Cluster of which a Backup object or a snapshot, named in the same namespace, is.
fn owner<'a>(ground: &Ground<'a>, cluster: &CnpgFact, name: &str) -> Option<&'a CnpgFact> {
    let mut here =
        ground.cnpg.iter().filter(|other| other.kube == cluster.kube && other.cluster.namespace == cluster.cluster.namespace);
    here.find(|other| other.backups.iter().flatten().any(|backup| backup.name == name)).copied()
}

/// The Cluster that a recovery copies, when it is still looked at: the one that writes to the place that is read.
pub(super) fn original<'a>(ground: &Ground<'a>, cluster: &CnpgFact) -> Option<&'a CnpgFact> {
    let Bootstrap::Recovery { backup, snapshots, .. } = &cluster.bootstrap else { return None };
    let other = |other: &&&CnpgFact| other.subject != cluster.subject;
    if let Some((_, archive)) = source(cluster)
        && let Some(location) = archive.location()
    {
        let read = Spot::of(ground, cluster, location)?;
        let writes = |other: &&&CnpgFact| spots(ground, other).iter().any(|(spot, _)| *spot == read);
        return ground.cnpg.iter().filter(other).find(writes).copied();
    }
    let named = backup.iter().chain(snapshots.values());
    named.filter_map(|name| owner(ground, cluster, name)).find(|found| found.subject != cluster.subject)
}

/// The archive that is read, when it was looked at: by the location, else that of the Cluster it is of.
pub(super) fn archive<'a>(ground: &Ground<'a>, cluster: &CnpgFact) -> Option<&'a ArchiveFact> {
    if let Some(location) = source(cluster).and_then(|(_, archive)| archive.location()) {
        return ground.archives.iter().find(|archive| is_at(location, &archive.place)).copied();
    }
    ground.archive_of(&original(ground, cluster)?.subject)
}

/// The base backup that the recovery will begin with: the named one, else the newest that ended before the target, else the newest.
pub(super) fn base<'a>(cluster: &CnpgFact, archive: &'a ArchiveFact) -> Option<&'a BaseBackup> {
    let Bootstrap::Recovery { target, .. } = &cluster.bootstrap else { return None };
    let all = done(archive);
    if let Some(id) = target.get("backupID") {
        return all.into_iter().find(|backup| &backup.id == id);
    }
    let until: Option<jiff::Timestamp> = target.get("targetTime").and_then(|time| time.parse().ok());
    let fits = |backup: &&BaseBackup| until.is_none_or(|until| backup.end_time.is_some_and(|end| end <= until));
    all.into_iter().rfind(fits)
}
