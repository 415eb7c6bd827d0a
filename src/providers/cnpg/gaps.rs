//! What could not be looked at, with the verb that is missing.

use super::client::{Listed, Lists};
use super::rbac::Right;
use crate::domain::{Denied, FactKind, Gap, Subject};
use crate::tap::{CallError, FailureKind};

/// Why, in our words.
pub(super) fn denied(error: &CallError, verb: &str) -> Denied {
    match (error.kind, error.status) {
        (FailureKind::Answered, Some(401 | 403)) => Denied::Denied { verb: verb.to_owned() },
        (FailureKind::Answered, Some(404 | 405 | 501)) => Denied::AbsentApi,
        (FailureKind::Answered, _) => Denied::Broken,
        (FailureKind::Dns, _) => Denied::Dns,
        (FailureKind::Tls, _) => Denied::Tls,
        (FailureKind::Refused | FailureKind::Reset, _) => Denied::Refused,
        (FailureKind::Timeout, _) => Denied::Timeout,
        (FailureKind::Cut, _) => Denied::Truncated,
        (FailureKind::Malformed, _) => Denied::Malformed,
        (FailureKind::NotSent | FailureKind::NotRecorded, _) => Denied::NotAsked,
    }
}

/// The gap of one call.
pub(super) fn of_call(subject: &Subject, what: FactKind, right: &Right<'_>, error: &CallError) -> Gap {
    let words = right.words();
    let hint = match (error.kind, error.status) {
        (FailureKind::Answered, Some(403)) => right.hint(&error.detail),
        (FailureKind::Answered, Some(401)) => {
            "the API server does not know us: is the token or the certificate of the kubeconfig still valid?  kubectl auth whoami"
                .to_owned()
        }
        (FailureKind::Answered, Some(404)) => format!("is it installed?  kubectl api-resources --api-group={}", right.group),
        (FailureKind::Answered, _) => "kubectl get --raw '/readyz?verbose'".to_owned(),
        (FailureKind::NotRecorded, _) => {
            "the recording does not hold it: make it anew with dalsegno check --record DIR".to_owned()
        }
        (FailureKind::NotSent, _) => "dalsegno config check; kubectl config view".to_owned(),
        (FailureKind::Timeout, _) => "kubectl get --raw /readyz; or raise pass.provider-deadline".to_owned(),
        (FailureKind::Cut, _) => "watch fewer namespaces (cnpg.NAME.namespaces), or delete what floods the list".to_owned(),
        (FailureKind::Dns | FailureKind::Tls | FailureKind::Refused | FailureKind::Reset | FailureKind::Malformed, _) => {
            "is the API server there, under the address and authority of the kubeconfig?  kubectl get --raw /readyz".to_owned()
        }
    };
    Gap {
        subject: subject.clone(),
        what,
        why: denied(error, &words),
        code: error.code.clone(),
        detail: format!("{words}: {}", error.detail),
        hint,
    }
}

fn of_list<T>(subject: &Subject, what: FactKind, list: &Listed<T>, gaps: &mut Vec<Gap>) {
    for (namespace, error) in &list.missed {
        gaps.push(of_call(subject, what, &Right::list(&list.of, namespace.as_deref()), error));
    }
    if list.malformed > 0 {
        gaps.push(Gap {
            subject: subject.clone(),
            what,
            why: Denied::Malformed,
            code: None,
            detail: format!("list {}: {} objects have no form that is known", list.of, list.malformed),
            hint: format!("kubectl get {} -A -o json", list.of),
        });
    }
}

/// Every list that could not be read. One that failed because everything did is said once, for the whole cluster.
pub(super) fn of_lists(subject: &Subject, lists: &Lists) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let what = FactKind::Cnpg;
    of_list(subject, what, &lists.clusters, &mut gaps);
    of_list(subject, what, &lists.backups, &mut gaps);
    of_list(subject, what, &lists.schedules, &mut gaps);
    of_list(subject, what, &lists.stores, &mut gaps);
    of_list(subject, what, &lists.pods, &mut gaps);
    of_list(subject, what, &lists.claims, &mut gaps);
    of_list(subject, what, &lists.jobs, &mut gaps);
    of_list(subject, what, &lists.events, &mut gaps);
    of_list(subject, what, &lists.classes, &mut gaps);
    of_list(subject, what, &lists.snapshots, &mut gaps);
    of_list(subject, FactKind::AlertRules, &lists.rules, &mut gaps);
    gaps
}

/// A group that was there and is not.
pub(super) fn vanished(subject: &Subject, what: FactKind, group: &str) -> Gap {
    Gap {
        subject: subject.clone(),
        what,
        why: Denied::AbsentApi,
        code: None,
        detail: format!("the API group {group} was served at an earlier look and is not served any more"),
        hint: format!(
            "kubectl api-resources --api-group={group}; if CNPG was removed on purpose, take it out of the configuration (cnpg:)"
        ),
    }
}

/// A group of which another version is served than the one that is read.
pub(super) fn other_version(subject: &Subject, group: &str, served: &[String]) -> Gap {
    Gap {
        subject: subject.clone(),
        what: FactKind::Cnpg,
        why: Denied::AbsentApi,
        code: None,
        detail: format!("the API group {group} is served as {}; v1 is read", served.join(", ")),
        hint: format!("kubectl get crd -o name | grep {group}; upgrade CNPG or its plugin, or dalsegno"),
    }
}
