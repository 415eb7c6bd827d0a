//! What telling needs to be allowed in a Kubernetes cluster.

use crate::domain::{RbacRule, RbacScope};

/// The feature that needs it.
pub const FEATURE: &str = "kube-events";

/// Events only: made, read again to be counted, and patched.
pub const RULES: &[RbacRule] = &[RbacRule {
    group: "events.k8s.io",
    resources: &["events"],
    verbs: &["create", "get", "patch"],
    scope: RbacScope::Watched,
    feature: FEATURE,
    named: false,
    why: "Events on the Clusters that findings are about; without it whoever says kubectl describe sees nothing of them",
}];
