//! The rights: generated from rules, equal in the chart, in the page and in what `config rbac` prints; least, and no wildcard.

use std::collections::BTreeSet;

use dalsegno::app::rights::{self, Named, Wanted};
use dalsegno::domain::{RbacRule, RbacScope};
use serde_json::{Value, json};

use super::render::{chart, helm, rendered, root, with_configuration};

/// Compares a generated file with what is kept; UPDATE_DOCS writes it.
fn kept(path: &std::path::Path, generated: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, generated).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(found, generated, "{}: UPDATE_DOCS=1 cargo test --test it chart::", path.display());
}

#[test]
fn the_charts_templates_and_the_page_are_made_from_the_rules() {
    let rules = rights::rules();
    kept(&chart().join("templates/_rules.tpl"), &rights::helm(&rules));
    kept(&root().join("docs/reference/rbac.md"), &rights::markdown(&rules));
}

#[test]
fn no_rule_asks_for_everything() {
    for rule in rights::rules() {
        let words: Vec<&str> = rule.verbs.iter().chain(rule.resources).chain(std::iter::once(&rule.group)).copied().collect();
        assert!(!words.contains(&"*"), "{rule:?}");
        assert!(!rule.verbs.is_empty() && !rule.resources.is_empty() && !rule.why.is_empty(), "{rule:?}");
        assert!(!rule.why.ends_with('.') && !rule.feature.is_empty(), "{rule:?}");
        let reads_secrets = rule.group.is_empty() && rule.resources.contains(&"secrets");
        let only_named = rule.named && rule.verbs == ["get"];
        let in_sandbox = rule.scope == RbacScope::Sandbox;
        let only_makes = rule.verbs == ["create"];
        assert!(!reads_secrets || only_named || only_makes || in_sandbox, "a Secret is read by name only: {rule:?}");
    }
}

const RULES: [RbacRule; 4] = [
    rule("", &["pods"], &["get", "list"], RbacScope::Watched, "one", false),
    rule("a.io", &["things"], &["list"], RbacScope::Cluster, "two", false),
    rule("", &["secrets"], &["get"], RbacScope::Watched, "one.keys", true),
    rule("", &["pods"], &["create", "delete"], RbacScope::Sandbox, "three", false),
];

const fn rule(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    scope: RbacScope,
    feature: &'static str,
    named: bool,
) -> RbacRule {
    RbacRule { group, resources, verbs, scope, feature, named, why: "nothing is seen" }
}

fn wanted() -> Wanted {
    Wanted { name: "d".into(), namespace: "backup".into(), ..Wanted::default() }
}

#[test]
fn roles_give_what_is_asked_for_where_it_is_asked_for() {
    let of = |wanted: &Wanted| -> Vec<(String, String, Value)> {
        let objects = rights::roles(&RULES, wanted);
        let roles = objects.iter().filter(|object| object.get("rules").is_some());
        roles
            .map(|role| {
                let at = role["metadata"]["namespace"].as_str().unwrap_or("-").to_owned();
                (role["kind"].as_str().unwrap().to_owned(), at, role["rules"].clone())
            })
            .collect()
    };
    let pods = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]});
    let things = json!({"apiGroups": ["a.io"], "resources": ["things"], "verbs": ["list"]});
    // All namespaces: one ClusterRole; what needs names or a sandbox is not given without them.
    assert_eq!(of(&wanted()), [("ClusterRole".into(), "-".into(), json!([pods, things]))]);
    let watch = Wanted { watch: vec!["x".into(), "y".into()], ..wanted() };
    assert_eq!(
        of(&watch),
        [
            ("ClusterRole".into(), "-".into(), json!([things])),
            ("Role".into(), "x".into(), json!([pods])),
            ("Role".into(), "y".into(), json!([pods])),
        ]
    );
    let named = Named { feature: "one.keys".into(), namespace: "x".into(), names: vec!["s3".into()] };
    let narrow = Wanted { features: BTreeSet::from(["two".into()]), named: vec![named], sandbox: Some("box".into()), ..wanted() };
    assert_eq!(
        of(&narrow),
        [
            ("ClusterRole".into(), "-".into(), json!([things])),
            (
                "Role".into(),
                "x".into(),
                json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["s3"]}])
            ),
        ]
    );
    for pair in rights::roles(&RULES, &Wanted { sandbox: Some("box".into()), ..wanted() }).chunks(2) {
        assert_eq!(pair[1]["roleRef"]["name"], pair[0]["metadata"]["name"]);
        assert_eq!(pair[1]["roleRef"]["kind"], pair[0]["kind"]);
        assert_eq!(pair[1]["subjects"][0]["namespace"], "backup");
    }
}

#[test]
fn the_chart_gives_the_same_rights_as_the_program_says() {
    let Some(helm) = helm() else { return };
    let rules = rights::rules();
    let features = rights::features(&rules);
    let plain: Vec<&str> =
        features.iter().copied().filter(|feature| rules.iter().any(|rule| rule.feature == *feature && !rule.named)).collect();
    let named: Vec<&str> = features.iter().copied().filter(|feature| !plain.contains(feature)).collect();
    for watch in [vec![], vec!["keycloak".to_owned(), "gitea".to_owned()]] {
        let named: Vec<Value> =
            named.iter().map(|feature| json!({"feature": feature, "namespace": "keycloak", "names": ["a", "b"]})).collect();
        let values = json!({"rbac": {"features": plain, "watch": watch, "sandbox": "drills", "named": named}});
        let documents = rendered(&helm, &with_configuration(&format!("rbac: {}\n", values["rbac"]))).unwrap();
        let wanted = Wanted {
            features: plain.iter().map(|feature| (*feature).to_owned()).collect(),
            name: "own-dalsegno".into(),
            namespace: "backup".into(),
            watch,
            sandbox: Some("drills".into()),
            named: named
                .iter()
                .map(|named| Named {
                    feature: named["feature"].as_str().unwrap().to_owned(),
                    namespace: "keycloak".into(),
                    names: vec!["a".into(), "b".into()],
                })
                .collect(),
        };
        assert_eq!(rights_in(&documents), rights_in(&rights::roles(&rules, &wanted)));
    }
    // A feature that is off gives nothing.
    let documents = rendered(&helm, &with_configuration("")).unwrap();
    assert_eq!(rights_in(&documents), BTreeSet::new());
}

/// Kind, namespace, name and content of every role, and who is bound to it.
fn rights_in(documents: &[Value]) -> BTreeSet<String> {
    let about = documents.iter().filter(|document| document["kind"].as_str().is_some_and(|kind| kind.contains("Role")));
    about
        .map(|document| {
            let metadata = &document["metadata"];
            let mut rules = document["rules"].as_array().cloned().unwrap_or_default();
            rules.sort_by_key(ToString::to_string);
            let content = json!([rules, document["roleRef"], document["subjects"]]);
            format!("{} {} {} {content}", document["kind"], metadata["namespace"], metadata["name"])
        })
        .collect()
}
