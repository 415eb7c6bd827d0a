//! Rights in a Kubernetes cluster, as data: what a feature needs, at least, and why.
//!
//! Each provider lists its own rules; Roles, the chart and docs/reference/rbac.md are rendered from them, so that a right
//! which nobody needs has no place to come from. The vocabulary is the API's:
//! <https://kubernetes.io/docs/reference/access-authn-authz/rbac/>.

use serde::Serialize;

/// Where a right holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RbacScope {
    /// In the namespaces that are watched: a Role in each, or one ClusterRole when all are.
    Watched,
    /// In our own namespace only.
    Own,
    /// In the namespace in which drills restore, and nowhere else.
    Sandbox,
    /// In the whole cluster: the kind has no namespace.
    Cluster,
}

impl RbacScope {
    /// The word for tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Watched => "watched namespaces",
            Self::Own => "own namespace",
            Self::Sandbox => "sandbox namespace",
            Self::Cluster => "cluster",
        }
    }
}

/// Verbs on resources of one API group, for one feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RbacRule {
    /// API group; empty = core.
    pub group: &'static str,
    /// Plural names, a subresource behind a slash: `pods/proxy`.
    pub resources: &'static [&'static str],
    /// `get`, `list`, `create` …: no `*`, ever.
    pub verbs: &'static [&'static str],
    /// Where.
    pub scope: RbacScope,
    /// What switches it on: `cnpg`, `cnpg.exporter`, `cnpg.use-keys`. The word before the dot is the provider's.
    pub feature: &'static str,
    /// Only these objects can be named (`resourceNames`), and the configuration names them: without names the rule is not given at all.
    pub named: bool,
    /// What is lost without it, for people: one sentence, no full stop.
    pub why: &'static str,
}
