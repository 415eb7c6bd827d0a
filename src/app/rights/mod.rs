//! The rights that dalsegno needs in a Kubernetes cluster, rendered from the rules that each provider lists: Roles, the chart's
//! template, and docs/reference/rbac.md. Nothing is given that no rule asks for.

mod helm;
mod markdown;
mod roles;

pub use helm::helm;
pub use markdown::markdown;
pub use roles::{Named, Wanted, roles};

use crate::domain::{RbacRule, RbacScope};

/// Rules of all providers, in the order in which they are shown.
const ALL: &[&[RbacRule]] = &[];

/// All rules.
pub fn rules() -> Vec<RbacRule> {
    ALL.iter().flat_map(|rules| rules.iter().copied()).collect()
}

/// Features that rules are there for, each once, in order.
pub fn features(rules: &[RbacRule]) -> Vec<&'static str> {
    let mut found = Vec::new();
    for rule in rules {
        if !found.contains(&rule.feature) {
            found.push(rule.feature);
        }
    }
    found
}

/// Scopes in the order in which they are shown, each with its word for names.
const SCOPES: [(RbacScope, &str); 4] =
    [(RbacScope::Watched, "watched"), (RbacScope::Own, "own"), (RbacScope::Sandbox, "sandbox"), (RbacScope::Cluster, "cluster")];

/// `["get", "list"]`: JSON is YAML, and quotes every word.
fn words(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("[{}]", quoted.join(", "))
}
