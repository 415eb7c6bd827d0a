//! The rules as Roles and ClusterRoles with their bindings, for whoever applies them without the chart.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::domain::{RbacRule, RbacScope};

/// What is rendered, and for whom.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Features; empty = all that do not need names.
    pub features: BTreeSet<String>,
    /// The service account's name; objects bear it.
    pub name: String,
    /// Our own namespace.
    pub namespace: String,
    /// Watched namespaces; empty = all of the cluster.
    pub watch: Vec<String>,
    /// The namespace in which drills restore.
    pub sandbox: Option<String>,
    /// Objects that are named, by feature.
    pub named: Vec<Named>,
}

impl Wanted {
    /// One more object that a feature may use.
    pub fn name_object(&mut self, feature: &str, namespace: &str, name: &str) {
        match self.named.iter_mut().find(|known| known.feature == feature && known.namespace == namespace) {
            Some(known) => known.names.push(name.to_owned()),
            None => self.named.push(Named {
                feature: feature.to_owned(),
                namespace: namespace.to_owned(),
                names: vec![name.to_owned()],
            }),
        }
    }
}

/// Objects of one namespace that a feature may use, and no others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The feature.
    pub feature: String,
    /// Their namespace.
    pub namespace: String,
    /// Their names.
    pub names: Vec<String>,
}

/// The objects, in an order in which they can be applied.
pub fn roles(rules: &[RbacRule], wanted: &Wanted) -> Vec<Value> {
    let on = |rule: &RbacRule| wanted.features.is_empty() || wanted.features.contains(rule.feature);
    // Where (None = the whole cluster) and under which name.
    let mut places: BTreeMap<(Option<String>, String), Vec<Value>> = BTreeMap::new();
    for rule in rules.iter().filter(|rule| !rule.named && on(rule)) {
        let all = || (None, wanted.name.clone());
        let at: Vec<(Option<String>, String)> = match rule.scope {
            RbacScope::Cluster => vec![all()],
            RbacScope::Watched if wanted.watch.is_empty() => vec![all()],
            RbacScope::Watched => wanted.watch.iter().map(|at| (Some(at.clone()), wanted.name.clone())).collect(),
            RbacScope::Own => vec![(Some(wanted.namespace.clone()), format!("{}-own", wanted.name))],
            RbacScope::Sandbox => {
                wanted.sandbox.iter().map(|at| (Some(at.clone()), format!("{}-sandbox", wanted.name))).collect()
            }
        };
        for place in at {
            places.entry(place).or_default().push(rule_of(rule, None));
        }
    }
    for named in &wanted.named {
        let name = format!("{}-{}", wanted.name, named.feature.replace('.', "-"));
        for rule in rules.iter().filter(|rule| rule.named && rule.feature == named.feature) {
            let place = (Some(named.namespace.clone()), name.clone());
            places.entry(place).or_default().push(rule_of(rule, Some(&named.names)));
        }
    }
    places.into_iter().flat_map(|((at, name), rules)| both(wanted, at.as_deref(), &name, rules)).collect()
}

fn rule_of(rule: &RbacRule, names: Option<&[String]>) -> Value {
    let mut value = json!({"apiGroups": [rule.group], "resources": rule.resources, "verbs": rule.verbs});
    if let (Some(names), Value::Object(map)) = (names, &mut value) {
        map.insert("resourceNames".to_owned(), json!(names));
    }
    value
}

/// A Role and its binding, or a ClusterRole and its own.
fn both(wanted: &Wanted, at: Option<&str>, name: &str, rules: Vec<Value>) -> [Value; 2] {
    let mut metadata = json!({"name": name, "labels": {"app.kubernetes.io/name": "dalsegno"}});
    if let (Some(at), Value::Object(map)) = (at, &mut metadata) {
        map.insert("namespace".to_owned(), json!(at));
    }
    let api = "rbac.authorization.k8s.io";
    let (role, binding) = if at.is_some() { ("Role", "RoleBinding") } else { ("ClusterRole", "ClusterRoleBinding") };
    [
        json!({"apiVersion": format!("{api}/v1"), "kind": role, "metadata": metadata, "rules": rules}),
        json!({
            "apiVersion": format!("{api}/v1"),
            "kind": binding,
            "metadata": metadata,
            "roleRef": {"apiGroup": api, "kind": role, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": wanted.name, "namespace": wanted.namespace}],
        }),
    ]
}
