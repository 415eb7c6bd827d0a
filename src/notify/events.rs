//! Kubernetes Events (`events.k8s.io/v1`) on the objects that findings are about. A courtesy to whoever says `kubectl describe`: events live
//! for an hour, and are never the record.
//! <https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/>
//!
//! One object, one finding, one Event: its name is made from both, and what repeats is counted in its `series`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::About;
use super::said::{ObjectRef, Said, pascal};
use super::send::Sent;
use super::text::tame;
use crate::domain::{Alert, KubeId, Severity, alert_key, sha256_hex};
use crate::tap::{CallError, FailureKind, KubeActs, Resource};

/// `note` may have 1 kB; characters may be longer than a byte.
const NOTE_BYTES: usize = 1000;
/// Who reports.
const CONTROLLER: &str = "dalsegno";

/// One Event that is to be there.
#[derive(Debug, Serialize, Deserialize)]
struct Wanted {
    namespace: String,
    name: String,
    event: Value,
}

/// Events of everything that stands or ended in this pass, or `None` when no object is concerned.
pub(super) fn body(about: &About, said: &Said<'_>, cluster: &KubeId, at_least: Severity) -> Option<String> {
    let mut wanted = Vec::new();
    for alert in said.alerts {
        let severity = alert.told.or_else(|| ended_now(alert, said.now));
        let Some(severity) = severity.filter(|severity| *severity >= at_least) else { continue };
        let objects = said.objects.get(&alert.finding.subject).into_iter().flatten();
        wanted.extend(objects.filter(|object| &object.kube == cluster).map(|object| event(about, alert, severity, object)));
    }
    (!wanted.is_empty()).then(|| serde_json::to_string(&wanted).unwrap_or_default())
}

/// The severity of an alert whose end is said in this pass.
fn ended_now(alert: &Alert, now: Timestamp) -> Option<Severity> {
    alert.end_told.filter(|at| *at == now).map(|_| alert.finding.severity)
}

fn event(about: &About, alert: &Alert, severity: Severity, object: &ObjectRef) -> Wanted {
    let finding = &alert.finding;
    let over = alert.told.is_none();
    let key = alert_key(&about.site, finding);
    let uid = object.uid.as_ref().map(|uid| uid.0.as_str()).unwrap_or_default();
    let digest = sha256_hex(format!("{key}\n{uid}\n{}\n{over}", object.name).as_bytes());
    let name = format!("{CONTROLLER}-{}", digest.get(..20).unwrap_or(&digest));
    let text = if over {
        format!("[{key}] cleared: {}", alert.ended.unwrap_or_default().words())
    } else {
        format!("[{key}] {}: {}; do: {}", severity.as_str(), finding.summary, finding.remedy)
    };
    let reason = if over { format!("{}Cleared", pascal(&finding.code)) } else { pascal(&finding.code) };
    let regarding = json!({
        "apiVersion": object.api_version,
        "kind": object.kind,
        "namespace": object.name.namespace,
        "name": object.name.name,
        "uid": uid,
    });
    let event = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": object.name.namespace, "labels": {"app.kubernetes.io/managed-by": CONTROLLER}},
        "reportingController": CONTROLLER,
        "reportingInstance": if about.site.is_empty() { "-".to_owned() } else { tame(&about.site, 100) },
        "action": "Judge",
        "reason": reason,
        "type": if over || severity == Severity::Info { "Normal" } else { "Warning" },
        "note": note(&text),
        "regarding": regarding,
    });
    Wanted { namespace: object.name.namespace.clone(), name, event }
}

fn note(text: &str) -> String {
    let mut note = tame(text, NOTE_BYTES);
    while note.len() > NOTE_BYTES {
        note.pop();
    }
    note
}

/// Makes the Events that are not there, and counts the others once more. The first failure ends it: what was done stays done.
pub(super) async fn send(kube: &dyn KubeActs, body: &str, now: Timestamp) -> Sent {
    let wanted: Vec<Wanted> = match serde_json::from_str(body) {
        Ok(wanted) => wanted,
        Err(error) => return Sent::Never { why: format!("the kept message is none of ours: {error}") },
    };
    for event in wanted {
        if let Err(error) = one(kube, event, now).await {
            return failed(&error);
        }
    }
    Sent::Delivered
}

/// Whether an Event could be made in a namespace: the server checks everything and keeps nothing.
pub(super) async fn try_out(kube: &dyn KubeActs, namespace: &str, site: &str, now: Timestamp) -> Sent {
    let event = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": "dalsegno-test-", "namespace": namespace},
        "reportingController": CONTROLLER,
        "reportingInstance": if site.is_empty() { "-".to_owned() } else { tame(site, 100) },
        "action": "Judge",
        "reason": "NotifyTest",
        "type": "Normal",
        "note": "a test of this channel",
        "eventTime": micro(now),
        "regarding": {"apiVersion": "v1", "kind": "Namespace", "name": namespace, "namespace": namespace},
    });
    match kube.create(&events(), Some(namespace), &event, true).await {
        Ok(_) => Sent::Delivered,
        Err(error) => failed(&error),
    }
}

fn events() -> Resource {
    Resource::new("events.k8s.io", "v1", "events")
}

async fn one(kube: &dyn KubeActs, wanted: Wanted, now: Timestamp) -> Result<(), CallError> {
    let Wanted { namespace, name, mut event } = wanted;
    if let Some(object) = event.as_object_mut() {
        object.insert("eventTime".to_owned(), Value::from(micro(now)));
    }
    let exists = match kube.create(&events(), Some(&namespace), &event, false).await {
        Ok(_) => false,
        Err(error) if error.has_code("AlreadyExists") || error.status == Some(409) => true,
        Err(error) => return Err(error),
    };
    if !exists {
        return Ok(());
    }
    let there = kube.get(&events(), Some(&namespace), &name).await?;
    // A series begins with the second sight.
    let seen = there.pointer("/series/count").and_then(Value::as_i64).unwrap_or(1);
    let patch = json!({
        "series": {"count": seen.saturating_add(1), "lastObservedTime": micro(now)},
        "note": event.get("note"),
        "type": event.get("type"),
    });
    kube.patch(&events(), Some(&namespace), &name, None, &patch).await.map(drop)
}

/// MicroTime: six digits behind the point, UTC.
fn micro(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

fn failed(error: &CallError) -> Sent {
    let hint = if error.status == Some(403) { " (grant create, get and patch on events.events.k8s.io)" } else { "" };
    let why = tame(&format!("{error}{hint}"), 300);
    match (error.kind, error.status) {
        (FailureKind::NotSent | FailureKind::NotRecorded, _) => Sent::Never { why },
        (FailureKind::Answered, Some(status)) if (400..500).contains(&status) && ![408, 409, 425, 429].contains(&status) => {
            Sent::Never { why }
        }
        _ => Sent::Later { why, retry_after: error.retry_after },
    }
}
