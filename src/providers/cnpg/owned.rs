//! What belongs to a Cluster: pods, claims, jobs, events.

use std::collections::BTreeMap;

use super::client::{CLUSTER_LABEL, Lists};
use super::facts::{conditions, time, uid_of};
use super::quantity;
use super::wire::{ClaimSpec, Meta};
use super::wire_owned::{Claim, Container, ContainerStatus, Event, Job, Pod};
use crate::domain::{ClaimSeen, ContainerSeen, EventSeen, JobSeen, KubeName, PodSeen};

/// By label, else by owner: older operators label less.
pub(super) fn belongs(meta: &Meta, cluster: &KubeName) -> bool {
    if meta.namespace != cluster.namespace {
        return false;
    }
    match meta.label(CLUSTER_LABEL) {
        Some(label) => label == cluster.name,
        None => meta.owner_references.iter().any(|owner| owner.kind == "Cluster" && owner.name == cluster.name),
    }
}

pub(super) fn pods(lists: &Lists, cluster: &KubeName) -> Option<Vec<PodSeen>> {
    let mine = || lists.pods.items.iter().filter(|pod| belongs(&pod.metadata, cluster)).map(pod).collect();
    lists.pods.covers(&cluster.namespace).then(mine)
}

fn pod(of: &Pod) -> PodSeen {
    let label = |keys: [&str; 2]| keys.into_iter().find_map(|key| of.metadata.label(key)).map(str::to_owned);
    let ready = of.status.conditions.iter().find(|row| row.kind == "Ready").map(|row| row.status == "True");
    let init = of.spec.init_containers.iter().map(|one| container(one, true, &of.status.init_container_statuses));
    let main = of.spec.containers.iter().map(|one| container(one, false, &of.status.container_statuses));
    PodSeen {
        name: of.metadata.name.clone(),
        uid: uid_of(&of.metadata),
        role: label(["cnpg.io/instanceRole", "role"]),
        job: label(["batch.kubernetes.io/job-name", "job-name"]),
        phase: of.status.phase.clone(),
        reason: of.status.reason.clone(),
        message: of.status.message.clone(),
        ready,
        node: of.spec.node_name.clone().filter(|node| !node.is_empty()),
        created: time(of.metadata.creation_timestamp.as_ref()),
        containers: init.chain(main).collect(),
        log: None,
    }
}

fn container(of: &Container, init: bool, statuses: &[ContainerStatus]) -> ContainerSeen {
    let status = statuses.iter().find(|status| status.name == of.name);
    let ended = status.and_then(|status| status.last_state.terminated.clone().or_else(|| status.state.terminated.clone()));
    let ended = ended.unwrap_or_default();
    ContainerSeen {
        name: of.name.clone(),
        init,
        image: of.image.clone(),
        env: of.env.iter().map(|variable| (variable.name.clone(), variable.value.clone())).collect::<BTreeMap<_, _>>(),
        id: status.and_then(|status| status.container_id.clone()).filter(|id| !id.is_empty()),
        running: status.map(|status| status.state.running.is_some()),
        restarts: status.map_or(0, |status| status.restart_count),
        waiting: status.and_then(|status| status.state.waiting.as_ref()?.reason.clone()),
        last_exit: ended.exit_code,
        last_reason: ended.reason,
    }
}

pub(super) fn claims(lists: &Lists, cluster: &KubeName) -> Option<Vec<ClaimSeen>> {
    let classes = lists.classes.covers("");
    let expands = |class: &str| {
        let found = lists.classes.items.iter().find(|of| of.metadata.name == class).filter(|_| classes)?;
        // Kubernetes takes an absent field as no.
        Some(found.allow_volume_expansion.unwrap_or(false))
    };
    let one = |of: &Claim| ClaimSeen {
        name: of.metadata.name.clone(),
        role: of.metadata.label("cnpg.io/pvcRole").map(str::to_owned),
        instance: of.metadata.label("cnpg.io/instanceName").map(str::to_owned),
        phase: of.status.phase.clone(),
        requested: requested(&of.spec),
        capacity: of.status.capacity.get("storage").and_then(|text| quantity::bytes(text)),
        class_expands: of.spec.storage_class_name.as_deref().and_then(expands),
        class: of.spec.storage_class_name.clone(),
        conditions: conditions(&of.status.conditions),
    };
    let mine = || lists.claims.items.iter().filter(|claim| belongs(&claim.metadata, cluster)).map(one).collect();
    lists.claims.covers(&cluster.namespace).then(mine)
}

fn requested(of: &ClaimSpec) -> Option<u64> {
    of.resources.requests.get("storage").and_then(|text| quantity::bytes(text))
}

pub(super) fn jobs(lists: &Lists, cluster: &KubeName) -> Option<Vec<JobSeen>> {
    let one = |of: &Job| JobSeen {
        name: of.metadata.name.clone(),
        active: of.status.active,
        failed: of.status.failed,
        succeeded: of.status.succeeded,
        created: time(of.metadata.creation_timestamp.as_ref()),
        conditions: conditions(&of.status.conditions),
    };
    let mine = || lists.jobs.items.iter().filter(|job| belongs(&job.metadata, cluster)).map(one).collect();
    lists.jobs.covers(&cluster.namespace).then(mine)
}

/// Events on the Cluster itself, and on its Backups and ScheduledBackups.
pub(super) fn events(lists: &Lists, cluster: &KubeName) -> Option<Vec<EventSeen>> {
    let owner = |of: &Event, kind: &'static str| {
        lists.owners.get(&(of.metadata.namespace.clone(), kind, of.involved_object.name.clone()))
    };
    let about_mine = |of: &&Event| {
        let name = match of.involved_object.kind.as_str() {
            "Cluster" => Some(&of.involved_object.name),
            "Backup" => owner(of, "Backup"),
            "ScheduledBackup" => owner(of, "ScheduledBackup"),
            _ => None,
        };
        of.metadata.namespace == cluster.namespace && name == Some(&cluster.name)
    };
    let one = |of: &Event| {
        let series = of.series.clone().unwrap_or_default();
        let last = [series.last_observed_time, of.last_timestamp.clone(), of.at.clone()];
        EventSeen {
            about: format!("{} {}", of.involved_object.kind, of.involved_object.name),
            reason: of.reason.clone(),
            message: of.message.clone(),
            count: series.count.or(of.count).unwrap_or(1),
            last: last.iter().find_map(|text| time(text.as_ref())),
        }
    };
    let mine = || lists.events.items.iter().filter(about_mine).map(one).collect();
    lists.events.covers(&cluster.namespace).then(mine)
}
