//! What the manifest of a recovery says, and what it leaves out.

use super::super::super::ground::{Ground, done, position, say, some_of};
use super::super::restored::source;
use super::source::{archive, base, has_an_end, original};
use super::{fresh, look_at, moment, recovering};
use crate::domain::{ArchiveRef, Bootstrap, CnpgBackup, CnpgFact, Finding, Severity};

/// The database and owner that CNPG makes when nothing is said.
const DEFAULT_NAME: &str = "app";
/// From PostgreSQL 10 on a version number is the major version times this, plus the minor one.
const PER_MAJOR: u32 = 10_000;

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    [
        implicit_latest(ground, cluster),
        ignores_wal(ground, cluster),
        app_credentials(ground, cluster),
        version_mismatch(ground, cluster),
        source_missing(ground, cluster),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A base backup is named and no end: recovery replays everything behind it.
fn implicit_latest(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let Bootstrap::Recovery { backup, target, .. } = &cluster.bootstrap else { return None };
    let by_id = target.get("backupID").map(|id| format!("recoveryTarget.backupID {id}"));
    let chosen = by_id.or_else(|| backup.as_ref().map(|name| format!("bootstrap.recovery.backup {name}")))?;
    if has_an_end(target) || !fresh(ground, cluster) {
        return None;
    }
    let end = archive(ground, cluster).and_then(|archive| archive.newest_segment.as_ref());
    let end = end.map(|segment| format!("the archive goes on up to {}, written {}", segment.name, moment(segment.written)));
    Some(Finding {
        evidence: std::iter::once(format!("{chosen}, and none of targetTime, targetLSN, targetXID, targetName, targetImmediate"))
            .chain(end)
            .collect(),
        cause: "the base backup is only where recovery begins; without a target it runs to the end of the archive".to_owned(),
        remedy: format!(
            "add targetImmediate: true (the state at the end of the base backup) or a targetTime to bootstrap.recovery.recoveryTarget; {}",
            look_at(cluster)
        ),
        ..say(
            "restore-target-implicit-latest",
            Severity::Warning,
            &cluster.subject,
            format!(
                "{} names a base backup and no target: it ends at the newest state, not at that of the backup",
                cluster.cluster
            ),
        )
    })
}

/// From a snapshot, without a source of WAL: recovery ends where the snapshot does.
fn ignores_wal(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let Bootstrap::Recovery { source: None, backup: None, snapshots, .. } = &cluster.bootstrap else { return None };
    let first = snapshots.values().next()?;
    let of = original(ground, cluster);
    let taken = of.and_then(|of| of.backups.iter().flatten().find(|backup| snapshots.values().any(|name| *name == backup.name)));
    let newest = archive(ground, cluster).and_then(|archive| archive.newest_segment.as_ref());
    let reaches = |backup: &CnpgBackup| {
        newest.is_some_and(|newest| {
            let by_wal = backup.end_wal.as_ref().is_some_and(|end| position(end) >= position(&newest.name));
            by_wal || newest.written.is_some_and(|written| backup.stopped.is_some_and(|stopped| stopped >= written))
        })
    };
    if !fresh(ground, cluster) || taken.is_some_and(reaches) {
        return None;
    }
    let names: Vec<String> = snapshots.iter().map(|(role, name)| format!("{role} {name}")).collect();
    let taken = taken.map(|backup| format!("snapshot {} was taken {}", backup.name, moment(backup.stopped)));
    let newest =
        newest.map(|newest| format!("newest segment in the archive: {}, written {}", newest.name, moment(newest.written)));
    Some(Finding {
        evidence: std::iter::once(format!("bootstrap.recovery.volumeSnapshots {}, no source", some_of(&names)))
            .chain(taken)
            .chain(newest)
            .collect(),
        cause: "the recovery section has no source, so recovery ends with the snapshot".to_owned(),
        remedy: format!("add bootstrap.recovery.source and its externalClusters entry, then apply anew; {}", look_at(cluster)),
        ..say(
            "restore-ignores-wal-archive",
            Severity::Warning,
            &cluster.subject,
            format!("{} comes from snapshot {first} alone: what was archived after it is not replayed", cluster.cluster),
        )
    })
}

/// No database, owner and secret: the application's role keeps the password of the source, and no Secret here holds it.
fn app_credentials(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let Bootstrap::Recovery { database, owner, secret, .. } = &cluster.bootstrap else { return None };
    if secret.is_some() || (database.is_some() && owner.is_some()) || cluster.app_secret == Some(true) || !fresh(ground, cluster)
    {
        return None;
    }
    let (its_database, its_owner, told_by) = match original(ground, cluster) {
        Some(of) => {
            let (Bootstrap::Initdb { database, owner, .. } | Bootstrap::Recovery { database, owner, .. }) = &of.bootstrap else {
                return None;
            };
            let name = |name: &Option<String>| name.clone().unwrap_or_else(|| DEFAULT_NAME.to_owned());
            (name(database), owner.clone().unwrap_or_else(|| name(database)), format!("{} made database", of.cluster))
        }
        // The source is not there to be asked: what counts is that no Secret of an application is here.
        None if cluster.app_secret == Some(false) && cluster.managed_roles.is_empty() => {
            (String::new(), String::new(), String::new())
        }
        None => return None,
    };
    let default = its_database == DEFAULT_NAME && its_owner == DEFAULT_NAME;
    if default || cluster.managed_roles.contains(&its_owner) {
        return None;
    }
    let known = !its_owner.is_empty();
    let there = known.then(|| format!("{told_by} {its_database} with owner {its_owner}"));
    let role = if known { its_owner.as_str() } else { "NAME" };
    let database = if known { its_database.as_str() } else { "NAME" };
    let missing = (cluster.app_secret == Some(false))
        .then(|| format!("no Secret {}-app in {}", cluster.cluster.name, cluster.cluster.namespace));
    Some(Finding {
        evidence: std::iter::once("bootstrap.recovery has no database, owner and secret".to_owned())
            .chain(there)
            .chain(missing)
            .collect(),
        cause: "the roles come back with the passwords of the source, and no Secret of this Cluster holds one".to_owned(),
        remedy: format!(
            "in bootstrap.recovery: {{database: {database}, owner: {role}, secret: {{name: {}-app}}}}; then log in as that role",
            cluster.cluster.name
        ),
        ..say(
            "restore-app-credentials-missing",
            Severity::Warning,
            &cluster.subject,
            format!("{} comes back, and its application cannot log in", cluster.cluster),
        )
    })
}

/// Data files of one major version under the server of another.
pub(super) fn version_mismatch(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let Bootstrap::Recovery { backup, .. } = &cluster.bootstrap else { return None };
    let (here, recovering) = (cluster.major?, recovering(cluster));
    let by_bucket = archive(ground, cluster).and_then(|archive| {
        let base = base(cluster, archive)?;
        let version = base.server_version.filter(|version| *version >= 10 * PER_MAJOR)?;
        Some((version / PER_MAJOR, format!("base backup {} in {}: version {version}", base.id, archive.place)))
    });
    let by_object = || {
        let name = backup.as_ref()?;
        let mut all = original(ground, cluster)?.backups.iter().flatten();
        let found = all.find(|backup| &backup.name == name)?;
        Some((found.major?, format!("Backup {name}: majorVersion {}", found.major?)))
    };
    let (there, told_by) = by_bucket.or_else(by_object)?;
    if !recovering || there == here {
        return None;
    }
    let image = cluster.image.as_deref().unwrap_or("the operator's default image");
    Some(Finding {
        evidence: vec![told_by, format!("Cluster {}: PostgreSQL {here} ({image})", cluster.cluster)],
        cause: format!("the backup is from PostgreSQL {there}, the manifest starts {here}"),
        remedy: format!(
            "set spec.imageName to an image of PostgreSQL {there} in the manifest of {} and apply it anew",
            cluster.cluster
        ),
        ..say(
            "restore-version-mismatch",
            Severity::Critical,
            &cluster.subject,
            format!("a backup of PostgreSQL {there} cannot be restored by PostgreSQL {here}"),
        )
    })
}

/// What the Cluster was made from is gone: it cannot be made again, and a replica from a snapshot neither.
fn source_missing(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let Bootstrap::Recovery { source: named, backup, backup_exists, snapshots_missing, .. } = &cluster.bootstrap else {
        return None;
    };
    let mut gone = Vec::new();
    if *backup_exists == Some(false) {
        gone.extend(backup.iter().map(|name| format!("Backup {}/{name} is not there", cluster.cluster.namespace)));
    }
    let snapshots = snapshots_missing.iter().flatten();
    gone.extend(snapshots.map(|name| format!("VolumeSnapshot {}/{name} is not there", cluster.cluster.namespace)));
    if let Some(name) = named
        && !cluster.externals.iter().any(|external| &external.name == name)
    {
        gone.push(format!("externalClusters has no entry {name}"));
    }
    // A dangling ObjectStore has a finding of its own.
    let read = source(cluster).filter(|(_, archive)| !matches!(archive, ArchiveRef::Plugin { dangling: true, .. }));
    if read.is_some()
        && let Some(archive) = archive(ground, cluster)
        && done(archive).is_empty()
    {
        gone.push(format!("{} holds no finished base backup ({} objects)", archive.place, archive.objects));
    }
    let first = gone.first()?.clone();
    Some(Finding {
        evidence: gone,
        cause: format!("{first}; retention or somebody deleted it after the recovery"),
        remedy: format!(
            "let the manifest of {} point at its present archive (bootstrap.recovery.source), and drill from it: dalsegno drill pg-restore --db {}",
            cluster.cluster,
            cluster.subject.name()
        ),
        ..say(
            "bootstrap-source-missing",
            Severity::Warning,
            &cluster.subject,
            format!("{} cannot be made again from its manifest: {first}", cluster.cluster),
        )
    })
}
