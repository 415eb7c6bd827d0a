//! Kubernetes clusters and what runs in them, from the checked tree to settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::build::{no_store, placeholders_as_troubles};
use super::load::Work;
use super::mistake::Mistake;
use super::tree::{Node, Shape, child};
use crate::domain::{FactKind, nearest};
use crate::providers::cnpg::config::{CnpgFragment, CnpgSettings};
use crate::providers::kubernetes::config::{self as kubernetes, KubernetesFragment, KubernetesSettings};

/// CNPG in each cluster. What stands on a placeholder is a gap of its cluster.
pub(super) fn cnpg(work: &mut Work, site: &str, environment: &str, stores: &[String]) -> Vec<CnpgSettings> {
    let clusters = clusters(work, site, environment);
    let mut found: Vec<CnpgSettings> = Vec::new();
    for (name, node) in work.named("cnpg").into_iter().map(filled) {
        let path = child("cnpg", &name);
        let subject = kubernetes::subject(site, &name);
        work.own_placeholders(&path, &subject);
        let policy = child(&path, "policy");
        let mut troubles = placeholders_as_troubles(work, &path);
        troubles.retain(|trouble| !super::load::is_below(&trouble.key, &policy));
        troubles.extend(placeholders_as_troubles(work, &child("kubernetes", &name)));
        let fragment: Option<CnpgFragment> = work.part(&path, &node, &|key| super::load::is_below(key, &policy));
        let Some(cluster) = clusters.get(&name) else {
            if troubles.is_empty() && !work.is_wrong(&child("kubernetes", &name)) {
                work.fatal.push(no_cluster(work, &path, &name, &clusters));
            }
            work.gap(&subject, FactKind::CnpgSite, &troubles);
            continue;
        };
        if let Some(fragment) = fragment {
            let same: Vec<String> = fragment.stores.iter().map(|same| same.store.clone()).collect();
            for (index, store) in same.iter().enumerate().filter(|(_, store)| !stores.contains(store) && !store.is_empty()) {
                let key = format!("{path}.stores[{index}].store");
                if work.placeholders_below(&key).is_empty() && !work.is_wrong(&key) {
                    work.fatal.push(no_store(&work.root, &key, store, stores));
                }
            }
            let (settings, complaints) = fragment.settings(cluster.clone());
            work.take(&path, complaints);
            if let Some(other) = found.iter().find(|other| other.kubernetes.environment == settings.kubernetes.environment) {
                let text = format!(
                    "{path} and cnpg.{} are both environment \"{}\": a Cluster of one name in both would be one subject",
                    other.kubernetes.id, settings.kubernetes.environment
                );
                let hint = format!("give them environments of their own: kubernetes.{name}.environment");
                let at = work.root.place_of(&path);
                work.fatal.push(Mistake::new(&at, &path, "environment-shared", text).hint(hint));
            }
            if troubles.is_empty() {
                found.push(settings);
            }
        }
        work.gap(&subject, FactKind::CnpgSite, &troubles);
    }
    found
}

/// `prod:` with nothing behind it is all defaults, as `prod: {}` is.
fn filled((name, node): (String, Node)) -> (String, Node) {
    let node = if node.shape == Shape::Null { Node::empty(node.at) } else { node };
    (name, node)
}

fn clusters(work: &mut Work, site: &str, environment: &str) -> BTreeMap<String, KubernetesSettings> {
    let mut found = BTreeMap::new();
    for (name, node) in work.named("kubernetes").into_iter().map(filled) {
        let path = child("kubernetes", &name);
        work.own_placeholders(&path, &kubernetes::subject(site, &name));
        let Some(mut fragment) = work.part::<KubernetesFragment>(&path, &node, &|_| true) else { continue };
        let file = child(&path, "kubeconfig");
        fragment.kubeconfig = fragment.kubeconfig.map(|written| of_home(work, &written, &file));
        let (settings, complaints) = fragment.settings(site, environment, &name);
        work.take(&path, complaints);
        found.insert(name, settings);
    }
    found
}

/// `~/.kube/config` is meant as the shell means it; other relative paths are meant from the file they stand in.
fn of_home(work: &Work, written: &Path, key: &str) -> PathBuf {
    match (written.strip_prefix("~"), work.env.get("HOME")) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => work.root.place_of(key).resolve(written),
    }
}

fn no_cluster(work: &Work, path: &str, asked: &str, clusters: &BTreeMap<String, KubernetesSettings>) -> Mistake {
    let meant = nearest(asked, clusters.keys().map(String::as_str)).map(|name| format!(", did you mean \"{name}\"?"));
    let text = format!("there is no Kubernetes cluster \"{asked}\"{}", meant.unwrap_or_default());
    let hint = if clusters.is_empty() {
        format!("configure it:  kubernetes: {{{asked}: {{kubeconfig: PATH}}}}  (or {{}} inside a pod)")
    } else {
        format!("configured clusters: {}", clusters.keys().cloned().collect::<Vec<_>>().join(", "))
    };
    Mistake::new(&work.root.place_of(path), path, "kubernetes-unknown", text).hint(hint)
}
