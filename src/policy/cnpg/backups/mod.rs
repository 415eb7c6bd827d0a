//! Good or bad about base backups of a Cluster: who starts them, whether they start, and whether what they leave is worth anything.

mod age;
mod contents;
mod promises;
mod queue;
mod runs;
mod schedules;

use super::super::ground::{Ground, some_of};
use crate::domain::{BaseBackup, CnpgFact, Finding};

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    let mut findings = schedules::judge(ground, cluster);
    findings.extend(queue::judge(ground, cluster));
    findings.extend(age::too_old(ground, cluster));
    findings.extend(promises::judge(ground, cluster));
    findings.extend(contents::judge(ground, cluster));
    findings
}

/// What a manifest alone shows of them: no Backup was looked at, and nothing ever ran.
pub(super) fn of_text(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    let mut findings = schedules::judge(ground, cluster);
    findings.extend(promises::retention_conflict(ground, cluster));
    findings
}

/// What belongs to no Cluster, of every Kubernetes cluster that was looked at.
pub(super) fn orphans(ground: &Ground) -> Vec<Finding> {
    ground.cnpg_sites.iter().flat_map(|site| [queue::orphans(ground, site), schedules::orphans(ground, site)]).flatten().collect()
}

/// Why no base backup comes of this Cluster, where a finding names it more exactly than its age would.
pub(in crate::policy) fn why_old(ground: &Ground, cluster: &CnpgFact) -> bool {
    schedules::suspended(ground, cluster).is_some()
        || schedules::never_fired(ground, cluster).is_some()
        || queue::holds_all(ground, cluster)
}

/// WAL goes to the bucket and base backups nowhere but into volume snapshots: told once, and not as an archive without a base.
pub(in crate::policy) fn only_snapshots(ground: &Ground, cluster: &CnpgFact) -> bool {
    promises::not_offsite(ground, cluster).is_some()
}

/// Ids of base backups whose end never came because archiving stands still: told once, with that cause.
pub(in crate::policy) fn without_wal(ground: &Ground, cluster: &CnpgFact) -> Vec<String> {
    promises::without_wal(ground, cluster).map(|(_, ids)| ids).unwrap_or_default()
}

/// Whether what this base backup lacks is told as a tablespace of the Cluster, which is the more exact finding.
pub(in crate::policy) fn tells_incomplete(ground: &Ground, cluster: &CnpgFact, backup: &BaseBackup) -> bool {
    contents::only_tablespaces(backup)
        && contents::newest(ground, cluster).is_some_and(|newest| newest.id == backup.id)
        && contents::tablespace_missing(ground, cluster).is_some()
}

/// `-n NAMESPACE NAME …` for a command about objects of this Cluster's namespace.
fn in_namespace(cluster: &CnpgFact, names: &[String]) -> String {
    format!("-n {} {}", cluster.cluster.namespace, names.join(" "))
}

/// `kind NAME` or `kinds A, B and 3 more`.
fn named(word: &str, names: &[String]) -> String {
    format!("{word}{} {}", if names.len() == 1 { "" } else { "s" }, some_of(names))
}
