//! How a Cluster stands: who is its primary, whether it should run, whether it archives at all.

use super::super::ground::{DAY, Ground, MINUTE};
use crate::domain::{ArchiveRef, Bootstrap, CnpgFact, ContainerSeen, LiveLocation, PodSeen};

/// The phase of a Cluster that is well. Every other text is an open set.
const HEALTHY: &str = "Cluster in healthy state";
/// The name that the barman plugin gives its sidecar.
pub(super) const SIDECAR: &str = "plugin-barman-cloud";
/// A Cluster that was restored for a look, a drill or a test is gone again within a day; what lives longer is in use.
pub(super) const SANDBOX_LIFE: f64 = DAY;
/// A switchover ends within seconds, or within minutes where the last segments have to be archived first.
pub(super) const SWITCHOVER: f64 = 15.0 * MINUTE;

/// The entries of the spec that write: the in-tree store, and plugins that are not switched off. A plugin archives also when
/// `isWALArchiver` is not said (plugin-barman-cloud 606), and base backups go there in any case.
pub(super) fn writers(cluster: &CnpgFact) -> Vec<&ArchiveRef> {
    let writes = |archiver: &&ArchiveRef| !matches!(archiver, ArchiveRef::Plugin { enabled: false, .. });
    cluster.archivers.iter().filter(writes).collect()
}

/// Where they write, as far as that is known.
pub(super) fn written(cluster: &CnpgFact) -> Vec<&LiveLocation> {
    writers(cluster).into_iter().filter_map(ArchiveRef::location).collect()
}

pub(super) fn has_archiver(cluster: &CnpgFact) -> bool {
    !writers(cluster).is_empty()
}

/// Whether it writes through the plugin.
pub(super) fn uses_plugin(cluster: &CnpgFact) -> bool {
    writers(cluster).iter().any(|writer| matches!(writer, ArchiveRef::Plugin { .. }))
}

/// Restored, without an archiver, and young: made to be looked at. It archives nothing on purpose.
pub(super) fn is_sandbox(ground: &Ground, cluster: &CnpgFact) -> bool {
    let restored = matches!(cluster.bootstrap, Bootstrap::Recovery { .. });
    restored && !has_archiver(cluster) && cluster.created.is_some_and(|at| ground.age(at) <= SANDBOX_LIFE)
}

/// Hibernated, being deleted, or its primary is fenced: PostgreSQL is down on purpose, so its silence says nothing.
pub(super) fn is_asleep(cluster: &CnpgFact) -> bool {
    let fenced = |name: &str| cluster.fenced.iter().any(|fenced| fenced == "*" || fenced == name);
    is_stopped(cluster) || cluster.instances == 0 || fenced(cluster.current_primary.as_deref().unwrap_or("*"))
}

/// Hibernated or being deleted.
pub(super) fn is_stopped(cluster: &CnpgFact) -> bool {
    cluster.hibernated || cluster.deleting.is_some()
}

pub(super) fn is_healthy(cluster: &CnpgFact) -> bool {
    cluster.phase.as_deref() == Some(HEALTHY)
}

/// A switchover or failover is under way, and for no longer than one may take.
pub(super) fn is_switching(ground: &Ground, cluster: &CnpgFact) -> bool {
    wants_another_primary(cluster) && !ground.older(cluster.target_primary_since, SWITCHOVER)
}

pub(super) fn wants_another_primary(cluster: &CnpgFact) -> bool {
    match (&cluster.current_primary, &cluster.target_primary) {
        (Some(current), Some(target)) => current != target,
        _ => false,
    }
}

/// The primary's pod, when pods were looked at and it is there.
pub(super) fn primary(cluster: &CnpgFact) -> Option<&PodSeen> {
    let pods = cluster.pods.as_deref()?;
    let named = pods.iter().find(|pod| Some(&pod.name) == cluster.current_primary.as_ref());
    named.or_else(|| pods.iter().find(|pod| pod.role.as_deref() == Some("primary")))
}

pub(super) fn sidecar(pod: &PodSeen) -> Option<&ContainerSeen> {
    pod.containers.iter().find(|container| container.name == SIDECAR)
}

/// The primary's name for a command; its usual one when it is not known.
pub(super) fn primary_name(cluster: &CnpgFact) -> String {
    cluster.current_primary.clone().unwrap_or_else(|| format!("{}-1", cluster.cluster.name))
}

/// The command that shows why an upload failed.
pub(super) fn read_the_log(cluster: &CnpgFact) -> String {
    let container = if uses_plugin(cluster) { SIDECAR } else { "postgres" };
    let (namespace, pod) = (&cluster.cluster.namespace, primary_name(cluster));
    format!("kubectl -n {namespace} logs {pod} -c {container} --tail 200 | grep -i error")
}

/// Lines of the primary's log, and of jobs' pods, newest last; empty when none was read.
pub(super) fn log_lines(cluster: &CnpgFact) -> impl Iterator<Item = &str> {
    cluster.pods.iter().flatten().flat_map(|pod| pod.log.iter().flatten()).map(String::as_str)
}

/// The newest line of any log that contains one of these texts.
pub(super) fn line_with<'a>(cluster: &'a CnpgFact, texts: &[&str]) -> Option<&'a str> {
    log_lines(cluster).filter(|line| texts.iter().any(|text| line.contains(text))).last()
}
