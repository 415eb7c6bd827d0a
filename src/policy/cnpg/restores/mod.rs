//! Good or bad about Clusters that were made by a recovery: what their manifest asks for, and how the recovery goes.

mod job;
mod manifest;
mod room;
mod source;

use jiff::Timestamp;

use super::super::ground::{DAY, Ground};
use crate::domain::{Bootstrap, CnpgFact, Condition, Finding};

/// What a recovery asked for matters while somebody still looks at what came of it. A database that has been in use for two weeks has
/// moved on, and its manifest with it or not at all.
const FRESH: f64 = 14.0 * DAY;

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    let Bootstrap::Recovery { .. } = &cluster.bootstrap else { return Vec::new() };
    let mut findings = manifest::judge(ground, cluster);
    findings.extend(room::judge(ground, cluster));
    findings.extend(job::judge(ground, cluster));
    findings
}

/// Young, or only a manifest yet.
fn fresh(ground: &Ground, cluster: &CnpgFact) -> bool {
    cluster.created.is_none_or(|created| ground.age(created) < FRESH)
}

/// The recovery is not over: nothing of a running database was ever seen.
fn recovering(cluster: &CnpgFact) -> bool {
    let initialized = cluster.condition("Initialized").is_some_and(Condition::is_true);
    cluster.system_id.is_none() && cluster.ready_instances.unwrap_or_default() == 0 && !initialized && cluster.deleting.is_none()
}

/// `kubectl get cluster …` for a look at the manifest.
fn look_at(cluster: &CnpgFact) -> String {
    format!("kubectl get cluster -n {} {} -o yaml", cluster.cluster.namespace, cluster.cluster.name)
}

fn moment(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "at an unknown time".to_owned(), |at| at.to_string())
}
