//! The rights that dalsegno needs in a Kubernetes cluster, rendered from the rules that each provider lists: Roles, the chart's
//! template, and docs/reference/rbac.md. Nothing is given that no rule asks for.

mod helm;
mod markdown;
mod roles;

pub use helm::helm;
pub use markdown::markdown;
pub use roles::{Named, Wanted, roles};

use crate::config::{Settings, WaySettings};
use crate::domain::{RbacRule, RbacScope};
use crate::notify;
use crate::providers::cnpg;
use crate::providers::cnpg::config::Reads;

/// Rules of all providers, in the order in which they are shown.
const ALL: &[&[RbacRule]] = &[cnpg::rbac::RULES, notify::rbac::RULES];

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

/// What this configuration switches on, and the namespaces and objects that it names; names and namespace of ours are the caller's.
pub fn wanted(settings: &Settings) -> Wanted {
    let mut wanted = Wanted::default();
    for of in &settings.cnpg {
        wanted.features.insert("cnpg".to_owned());
        for reads in &of.reads {
            let feature = match reads {
                Reads::Exporter => "cnpg.exporter",
                Reads::Kubelet => "cnpg.kubelet",
                Reads::Logs => "cnpg.logs",
            };
            wanted.features.insert(feature.to_owned());
        }
        if of.drill.is_some() {
            wanted.features.insert(cnpg::rbac::DRILL.to_owned());
        }
        wanted.watch.extend(of.namespaces.iter().cloned());
        for secret in &of.their_keys {
            wanted.name_object("cnpg.use-keys", &secret.namespace, &secret.name);
        }
    }
    if settings.notify.channels.iter().any(|of| matches!(of.way, WaySettings::Events(_))) {
        wanted.features.insert(notify::rbac::FEATURE.to_owned());
    }
    // One cluster that is watched whole needs it whole.
    if settings.cnpg.iter().any(|of| of.namespaces.is_empty()) {
        wanted.watch.clear();
    }
    wanted
}

/// Scopes in the order in which they are shown, each with its word for names.
const SCOPES: [(RbacScope, &str); 4] =
    [(RbacScope::Watched, "watched"), (RbacScope::Own, "own"), (RbacScope::Sandbox, "sandbox"), (RbacScope::Cluster, "cluster")];

/// `["get", "list"]`: JSON is YAML, and quotes every word.
fn words(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("[{}]", quoted.join(", "))
}
