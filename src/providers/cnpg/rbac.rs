//! What watching CNPG, and drilling in its cluster, needs to be allowed, each rule with its feature and what is lost without it.

use crate::domain::{RbacRule, RbacScope};
use crate::tap::Resource;

/// The feature of drills inside of a cluster.
pub const DRILL: &str = "drill";

/// To look: lists only, never `watch`: a pass asks and goes. No Secret is read unless it is named. What a drill makes lies
/// in a namespace that is not there beforehand, so its rights hold in the whole cluster.
pub const RULES: &[RbacRule] = &[
    RbacRule {
        group: "postgresql.cnpg.io",
        resources: &["clusters", "scheduledbackups", "backups"],
        verbs: &["list"],
        scope: RbacScope::Watched,
        feature: "cnpg",
        named: false,
        why: "Clusters, their schedules and their backups; without it nothing is watched",
    },
    RbacRule {
        group: "barmancloud.cnpg.io",
        resources: &["objectstores"],
        verbs: &["list"],
        scope: RbacScope::Watched,
        feature: "cnpg",
        named: false,
        why: "where the barman-cloud plugin archives to",
    },
    RbacRule {
        group: "",
        resources: &["pods", "persistentvolumeclaims", "events"],
        verbs: &["list"],
        scope: RbacScope::Watched,
        feature: "cnpg",
        named: false,
        why: "whether the archiver's sidecar runs, how large volumes are, why a backup waits",
    },
    RbacRule {
        group: "batch",
        resources: &["jobs"],
        verbs: &["list"],
        scope: RbacScope::Watched,
        feature: "cnpg",
        named: false,
        why: "restores that fail again and again",
    },
    RbacRule {
        group: "snapshot.storage.k8s.io",
        resources: &["volumesnapshots"],
        verbs: &["list"],
        scope: RbacScope::Watched,
        feature: "cnpg",
        named: false,
        why: "whether a snapshot that a Cluster bootstraps from is still there; asked only where one is named",
    },
    RbacRule {
        group: "monitoring.coreos.com",
        resources: &["prometheusrules"],
        verbs: &["list"],
        scope: RbacScope::Watched,
        feature: "cnpg",
        named: false,
        why: "what the site's own alert rules watch",
    },
    RbacRule {
        group: "storage.k8s.io",
        resources: &["storageclasses"],
        verbs: &["list"],
        scope: RbacScope::Cluster,
        feature: "cnpg",
        named: false,
        why: "whether a full volume can be enlarged",
    },
    RbacRule {
        group: "",
        resources: &["pods/proxy"],
        verbs: &["get"],
        scope: RbacScope::Watched,
        feature: "cnpg.exporter",
        named: false,
        why: "metrics of each primary; not needed where Prometheus is asked. It reaches every port of every pod there",
    },
    RbacRule {
        group: "",
        resources: &["pods/log"],
        verbs: &["get"],
        scope: RbacScope::Watched,
        feature: "cnpg.logs",
        named: false,
        why: "the error lines of pods in trouble",
    },
    RbacRule {
        group: "",
        resources: &["nodes/proxy"],
        verbs: &["get"],
        scope: RbacScope::Cluster,
        feature: "cnpg.kubelet",
        named: false,
        why: "free space of volumes; it also lets its holder run commands in pods, so it is off unless written",
    },
    RbacRule {
        group: "",
        resources: &["secrets"],
        verbs: &["get"],
        scope: RbacScope::Watched,
        feature: "cnpg.use-keys",
        named: true,
        why: "keys of archives that no configured store covers, for the Secrets that are named",
    },
    RbacRule {
        group: "",
        resources: &["namespaces"],
        verbs: &["create", "get", "list", "delete"],
        scope: RbacScope::Cluster,
        feature: DRILL,
        named: false,
        why: "each drill makes a namespace and takes it away; only those with our label are touched",
    },
    RbacRule {
        group: "networking.k8s.io",
        resources: &["networkpolicies"],
        verbs: &["create"],
        scope: RbacScope::Cluster,
        feature: DRILL,
        named: false,
        why: "the namespace is closed as far as the network enforces it",
    },
    RbacRule {
        group: "",
        resources: &["secrets"],
        verbs: &["create"],
        scope: RbacScope::Cluster,
        feature: DRILL,
        named: false,
        why: "our read-only key and a superuser's password for the operator; none is ever read",
    },
    RbacRule {
        group: "barmancloud.cnpg.io",
        resources: &["objectstores"],
        verbs: &["create"],
        scope: RbacScope::Cluster,
        feature: DRILL,
        named: false,
        why: "where the plugin restores from",
    },
    RbacRule {
        group: "postgresql.cnpg.io",
        resources: &["clusters"],
        verbs: &["create", "get", "delete"],
        scope: RbacScope::Cluster,
        feature: DRILL,
        named: false,
        why: "the recovered Cluster; the source's image, sizes and settings are read",
    },
    RbacRule {
        group: "batch",
        resources: &["jobs"],
        verbs: &["get"],
        scope: RbacScope::Cluster,
        feature: DRILL,
        named: false,
        why: "how the operator's recovery goes",
    },
    RbacRule {
        group: "",
        resources: &["pods"],
        verbs: &["list"],
        scope: RbacScope::Cluster,
        feature: DRILL,
        named: false,
        why: "which pods of a failed recovery to ask for their words",
    },
    RbacRule {
        group: "",
        resources: &["pods/log"],
        verbs: &["get"],
        scope: RbacScope::Cluster,
        feature: DRILL,
        named: false,
        why: "what a failed recovery said: without it a drill cannot tell whose fault it was",
    },
    RbacRule {
        group: "",
        resources: &["pods/portforward"],
        verbs: &["get", "create"],
        scope: RbacScope::Cluster,
        feature: DRILL,
        named: false,
        why: "questions to the recovered database. It reaches every port of every pod, so the feature is off unless written",
    },
];

/// A call that a rule allows: `list pods`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Right<'a> {
    /// The verb.
    pub verb: &'a str,
    /// The group; empty = core.
    pub group: &'a str,
    /// The plural, with a subresource behind a slash.
    pub resource: &'a str,
    /// In which namespace; `None` = all.
    pub namespace: Option<&'a str>,
}

impl<'a> Right<'a> {
    /// To list.
    pub fn list(of: &'a Resource, namespace: Option<&'a str>) -> Self {
        Self { verb: "list", group: &of.group, resource: &of.plural, namespace }
    }

    /// As people say it: `list clusters.postgresql.cnpg.io in namespace keycloak`.
    pub fn words(&self) -> String {
        let place = self.namespace.map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default();
        format!("{} {}{place}", self.verb, self.full())
    }

    /// `pods/log`, `clusters.postgresql.cnpg.io`.
    fn full(&self) -> String {
        match (self.group, self.resource.split_once('/')) {
            ("", _) => self.resource.to_owned(),
            (group, Some((resource, sub))) => format!("{resource}.{group}/{sub}"),
            (group, None) => format!("{}.{group}", self.resource),
        }
    }

    /// What gives it, and how to see whether it is given. `said` is the refusal: it names the user.
    pub fn hint(&self, said: &str) -> String {
        let user = said.split_once("User \"").and_then(|(_, rest)| rest.split_once('"')).map(|(user, _)| user);
        let (kind, place) = match self.namespace {
            Some(namespace) => ("role", format!("-n {namespace} ")),
            None => ("clusterrole", String::new()),
        };
        let who = user.map(|user| format!(" --as={user}")).unwrap_or_default();
        let all = if self.namespace.is_none() { " -A" } else { "" };
        format!(
            "allow the verb {} on {} (docs/reference/rbac.md):  kubectl {place}create {kind} dalsegno-{} --verb={} --resource={}, bind it, \
             then: kubectl {place}auth can-i {} {}{who}{all}",
            self.verb,
            self.full(),
            self.resource.replace('/', "-"),
            self.verb,
            self.full(),
            self.verb,
            self.full(),
        )
    }
}
