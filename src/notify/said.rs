//! What a pass has to say, as every channel is given it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::domain::{Alert, KubeId, KubeName, KubeUid, Notice, Severity, Subject};

/// What a pass has to say: what is new to people, and how everything stands.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// When.
    pub now: Timestamp,
    /// What is to be said once, worst first.
    pub notices: &'a [Notice],
    /// All alerts that are not forgotten.
    pub alerts: &'a [Alert],
    /// Objects in Kubernetes clusters that subjects are.
    pub objects: &'a BTreeMap<Subject, Vec<ObjectRef>>,
}

/// An object in a Kubernetes cluster: <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-reference/>.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRef {
    /// The cluster.
    pub kube: KubeId,
    /// `postgresql.cnpg.io/v1`.
    pub api_version: String,
    /// `Cluster`.
    pub kind: String,
    /// Namespace and name.
    pub name: KubeName,
    /// Its uid, when it was seen.
    pub uid: Option<KubeUid>,
}

/// Notices that a channel wants to know of.
pub(super) fn wanted(notices: &[Notice], at_least: Severity) -> Vec<&Notice> {
    let reaches = |notice: &&Notice| notice.alert.finding.severity >= at_least || notice.was.is_some_and(|was| was >= at_least);
    notices.iter().filter(reaches).collect()
}

/// Alerts that were told and stand, with the severity that was told.
pub(super) fn standing(alerts: &[Alert], at_least: Severity) -> impl Iterator<Item = (&Alert, Severity)> {
    alerts.iter().filter_map(|alert| alert.told.map(|told| (alert, told))).filter(move |(_, told)| *told >= at_least)
}

/// `wal-gap` → `WalGap`: names of alerts and reasons of events are written so.
pub(super) fn pascal(code: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().collect::<String>() + letters.as_str()).unwrap_or_default()
    };
    code.split('-').map(capital).collect()
}
