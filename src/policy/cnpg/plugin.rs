//! Who runs the upload: the plugin's sidecar and the tools in the image. Each of these is an exact reason why nothing is archived.

use super::super::ground::{Ground, HOUR, MINUTE, say, some_of};
use super::archiver::{believed_failure, continuous};
use super::numbers::Numbers;
use super::stand::{self, SIDECAR};
use crate::domain::{ArchiveRef, CnpgFact, Condition, Finding, ObjectStoreSeen, PodSeen, Severity, age};

/// A pod's sidecar opens its socket within seconds of its start; minutes cover a slow image.
const SOCKET_OPENS: f64 = 5.0 * MINUTE;
/// A rolling update takes one startDelay (CNPG's default 3600 s) at most for each instance to come up.
const ROLL_OUT: f64 = HOUR;
/// Flavours of the official images that hold no barman-cloud tools (postgres-containers 276).
const BARE_FLAVOURS: &[&str] = &["-standard", "-minimal"];

pub(super) fn not_archiving(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let numbers = Numbers::of(ground, cluster);
    migration_stuck(ground, cluster)
        .or_else(|| not_loaded(ground, cluster, &numbers))
        .or_else(|| tools_missing(cluster, &numbers))
        .or_else(|| socket_refused(ground, cluster, &numbers))
}

/// The primary's pod was seen, its containers too, and none is the sidecar.
fn without_sidecar(cluster: &CnpgFact) -> Option<&PodSeen> {
    let pod = stand::primary(cluster).filter(|pod| !pod.containers.is_empty())?;
    stand::sidecar(pod).is_none().then_some(pod)
}

fn containers(pod: &PodSeen) -> String {
    let names: Vec<&str> = pod.containers.iter().map(|container| container.name.as_str()).collect();
    format!("pod {} has the containers {}", pod.name, names.join(", "))
}

/// The old primary must archive before it steps down, and has nothing to archive with.
fn migration_stuck(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let waits = stand::wants_another_primary(cluster) && ground.older(cluster.target_primary_since, stand::SWITCHOVER);
    if !waits || !stand::uses_plugin(cluster) {
        return None;
    }
    let pod = without_sidecar(cluster)?;
    let (current, target) = (cluster.current_primary.as_deref()?, cluster.target_primary.as_deref()?);
    let since = cluster.target_primary_since?;
    let mut evidence = vec![
        format!("currentPrimary {current}, targetPrimary {target} since {since} ({})", age(since, ground.now)),
        containers(pod),
    ];
    evidence.extend(stand::line_with(cluster, &["plugin is not available"]).map(str::to_owned));
    Some(Finding {
        evidence,
        cause: format!("{current} runs without the sidecar that it needs to archive its last segments before it steps down"),
        remedy: format!(
            "kubectl -n {} delete pod {} (it comes back with the sidecar); then see that the waiting segments are archived, and take a \
             base backup",
            cluster.cluster.namespace, pod.name
        ),
        ..say(
            "plugin-migration-stuck",
            Severity::Critical,
            &cluster.subject,
            format!("the switchover from {current} to {target} waits {}, since {current} cannot archive", age(since, ground.now)),
        )
    })
}

/// The plugin is declared and the running primary does not have it. Without `isWALArchiver` nothing errs and every segment is thrown
/// away; with it the archive command fails loudly, which counts as soon as it is no roll-out any more.
fn not_loaded(ground: &Ground, cluster: &CnpgFact, numbers: &Numbers) -> Option<Finding> {
    let mut in_tree = stand::writers(cluster).into_iter().filter(|writer| matches!(writer, ArchiveRef::InTree { .. }));
    if !stand::uses_plugin(cluster) || in_tree.next().is_some() {
        return None;
    }
    let pod = without_sidecar(cluster)?;
    let declared = stand::writers(cluster)
        .into_iter()
        .any(|writer| matches!(writer, ArchiveRef::Plugin { declared_archiver: Some(true), .. }));
    if declared && believed_failure(ground, cluster, numbers).is_none() {
        return None;
    }
    let (cause, what) = if declared {
        ("the plugin was added after the pod was made, and the pod was never replaced", "every call of the archive command fails")
    } else {
        (
            "the plugin is declared without isWALArchiver and its sidecar is not in the pod: nothing archives and nothing errs",
            "every segment is thrown away",
        )
    };
    let mut evidence = vec![
        containers(pod),
        format!(
            "phase \"{}\"; isWALArchiver {}",
            cluster.phase.as_deref().unwrap_or("not said"),
            if declared { "true" } else { "not true" }
        ),
    ];
    evidence.extend(continuous(cluster).map(|condition| format!("condition ContinuousArchiving is {}", condition.status)));
    Some(Finding {
        evidence,
        cause: cause.to_owned(),
        remedy: format!(
            "set isWALArchiver: true on the plugin, then: kubectl cnpg -n {ns} restart {name} (a supervised update waits for it); then take \
             a base backup: kubectl cnpg -n {ns} backup {name} --method plugin --plugin-name barman-cloud.cloudnative-pg.io",
            ns = cluster.cluster.namespace,
            name = cluster.cluster.name
        ),
        ..say(
            "wal-plugin-not-loaded",
            Severity::Critical,
            &cluster.subject,
            format!("the primary {} runs without the barman plugin that shall archive: {what}", pod.name),
        )
    })
}

/// The in-tree method calls tools that the image does not have.
pub(super) fn tools_missing(cluster: &CnpgFact, numbers: &Numbers) -> Option<Finding> {
    let in_tree = stand::writers(cluster).iter().any(|writer| matches!(writer, ArchiveRef::InTree { .. }));
    let condition = continuous(cluster);
    // A log line may be old, and an image may be built by hand: while segments get out, neither counts.
    if !in_tree || stand::uses_plugin(cluster) || condition.is_some_and(Condition::is_true) || numbers.draining() {
        return None;
    }
    let not_found = |text: &str| text.contains("barman-cloud-") && text.contains("executable file not found");
    let said = condition.map(|condition| condition.message.as_str()).filter(|message| not_found(message));
    let line = said.or_else(|| stand::log_lines(cluster).filter(|line| not_found(line)).last());
    let image = cluster.image.as_deref().unwrap_or("not said");
    let bare = BARE_FLAVOURS.iter().find(|flavour| tag(image).contains(*flavour));
    if line.is_none() && bare.is_none() {
        return None;
    }
    let flavour = bare.map_or("it", |flavour| flavour.trim_start_matches('-'));
    let mut evidence = vec![format!("image {image}"), "spec.backup.barmanObjectStore is set, and no barman plugin".to_owned()];
    evidence.extend(line.map(str::to_owned));
    Some(Finding {
        evidence,
        cause: format!("the in-tree method needs barman-cloud-* in the image (flavour system), and {flavour} does not hold them"),
        remedy: format!(
            "kubectl -n {} patch cluster {} --type merge -p '{{\"spec\":{{\"imageName\":\"{}\"}}}}' now; then migrate to the barman-cloud plugin",
            cluster.cluster.namespace,
            cluster.cluster.name,
            system_flavour(image)
        ),
        ..say(
            "barman-tools-missing-in-image",
            Severity::Critical,
            &cluster.subject,
            format!("the image {image} has no barman-cloud tools, and the in-tree method archives with them"),
        )
    })
}

/// What stands behind the last colon of an image.
fn tag(image: &str) -> &str {
    image.rsplit_once(':').map_or("", |(_, tag)| tag)
}

/// The same image in the flavour that holds the tools.
fn system_flavour(image: &str) -> String {
    BARE_FLAVOURS.iter().fold(image.to_owned(), |image, flavour| image.replace(flavour, "-system"))
}

/// The instance manager cannot reach the sidecar: the store was never asked.
fn socket_refused(ground: &Ground, cluster: &CnpgFact, numbers: &Numbers) -> Option<Finding> {
    let condition = continuous(cluster).filter(|condition| condition.is_false())?;
    let refused = condition.message.contains("dial unix /plugins/");
    let pod = stand::primary(cluster);
    let starting = pod.and_then(|pod| pod.created).is_some_and(|at| ground.age(at) <= SOCKET_OPENS);
    let lasting = ground.older(condition.since, SOCKET_OPENS);
    if !refused || starting || !lasting || numbers.draining() || numbers.nothing_waits() {
        return None;
    }
    let since = condition.since?;
    let mut evidence = vec![format!("condition ContinuousArchiving is False since {since}: {}", condition.message)];
    if let Some(seen) = pod.and_then(stand::sidecar) {
        let runs = seen.running.map_or("not said whether running", |runs| if runs { "running" } else { "not running" });
        let waits = seen.waiting.as_ref().map_or_else(String::new, |reason| format!(", waits: {reason}"));
        evidence.push(format!("container {SIDECAR}: {runs}, {} restart(s){waits}", seen.restarts));
    }
    evidence.extend(numbers.lines());
    Some(Finding {
        evidence,
        cause: "the instance manager cannot connect to the sidecar's socket; credentials and the store have no part in it"
            .to_owned(),
        remedy: format!(
            "kubectl -n {ns} logs {pod} -c {SIDECAR} --tail 100; after a switchover if it is the primary: kubectl -n {ns} delete pod {pod}",
            ns = cluster.cluster.namespace,
            pod = stand::primary_name(cluster)
        ),
        ..say(
            "wal-plugin-socket-unreachable",
            Severity::Critical,
            &cluster.subject,
            format!(
                "the barman sidecar's socket refuses connections since {since} ({}): nothing is archived",
                age(since, ground.now)
            ),
        )
    })
}

/// Settings of the ObjectStore that the running sidecars do not have: they are baked into a pod when it is made.
pub(super) fn drift(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    if stand::is_asleep(cluster) {
        return None;
    }
    let mut evidence = Vec::new();
    let mut pods: Vec<String> = Vec::new();
    for store in cluster.object_stores.iter().filter(|store| is_archiver(cluster, &store.name)) {
        for pod in cluster.pods.iter().flatten() {
            let missing = missing_in(ground, store, pod);
            if !missing.is_empty() {
                evidence.extend(missing);
                pods.push(pod.name.clone());
            }
        }
    }
    if pods.is_empty() {
        return None;
    }
    pods.dedup();
    Some(Finding {
        evidence,
        cause: "sidecar settings are baked into the pod when it is made; these pods are older than the setting".to_owned(),
        remedy: format!(
            "kubectl cnpg -n {} restart {} (or let the rolling update end: see primaryUpdateStrategy supervised and the annotation \
             cnpg.io/reconcilePodSpec)",
            cluster.cluster.namespace, cluster.cluster.name
        ),
        ..say(
            "sidecar-config-drift",
            Severity::Warning,
            &cluster.subject,
            format!("the sidecar of {} still has the settings from before the ObjectStore was changed", some_of(&pods)),
        )
    })
}

fn is_archiver(cluster: &CnpgFact, store: &str) -> bool {
    let named = |writer: &ArchiveRef| matches!(writer, ArchiveRef::Plugin { object_store, .. } if object_store == store);
    stand::writers(cluster).into_iter().any(named)
}

/// Variables of the ObjectStore that the sidecar of a pod lacks or has with another value. The order says nothing.
fn missing_in(ground: &Ground, store: &ObjectStoreSeen, pod: &PodSeen) -> Vec<String> {
    let Some(sidecar) = stand::sidecar(pod) else { return Vec::new() };
    let rolling = store.changed.is_some_and(|at| ground.age(at) <= ROLL_OUT);
    let newer = matches!((pod.created, store.changed), (Some(made), Some(changed)) if made > changed);
    let young = pod.created.is_none_or(|at| ground.age(at) <= ROLL_OUT);
    if rolling || newer || young {
        return Vec::new();
    }
    let made = pod.created.map_or_else(String::new, |at| format!(", made {at}"));
    let differs = |(name, wanted): (&String, &Option<String>)| {
        let wanted_text = wanted.as_deref().unwrap_or("(by reference)");
        match (sidecar.env.get(name), wanted) {
            (None, _) => Some(format!("ObjectStore {}: {name}={wanted_text}; pod {}{made}: not set", store.name, pod.name)),
            (Some(Some(has)), Some(wanted)) if has != wanted => {
                Some(format!("ObjectStore {}: {name}={wanted}; pod {}{made}: {name}={has}", store.name, pod.name))
            }
            _ => None,
        }
    };
    store.sidecar_env.iter().filter_map(differs).collect()
}
