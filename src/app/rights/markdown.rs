//! The rules as a page for people.

use std::fmt::Write as _;

use super::features;
use crate::domain::RbacRule;

const PREFACE: &str = "\
# Rights in a Kubernetes cluster

<!-- Made from the rules in the program (src/app/rights/). Change them there, then run
     `UPDATE_DOCS=1 cargo test --test it chart::` -->

The least that each feature needs. What a feature that is switched off would need is not given. A right that is missing is a gap with the
verb in its hint, never silence. The same rules make the chart's Roles (`rbac.features` in its values) and, without the chart,
`dalsegno config rbac --format yaml`.

Where: *watched namespaces* are those of `rbac.watch` (a Role in each), or all (one ClusterRole); *own namespace* is the one dalsegno runs in;
*sandbox namespace* is the one drills restore into; *cluster* is for kinds without a namespace. With *by name* only the objects that the
values name can be used (`resourceNames`), and without names nothing is given.

";

/// docs/reference/rbac.md. A test compares it with the file.
pub fn markdown(rules: &[RbacRule]) -> String {
    let mut page = PREFACE.to_owned();
    if rules.is_empty() {
        page.push_str("No provider reads a cluster yet.\n");
        return page;
    }
    page.push_str("| feature | group | resources | verbs | where | without it |\n|---|---|---|---|---|---|\n");
    for feature in features(rules) {
        for rule in rules.iter().filter(|rule| rule.feature == feature) {
            let group = if rule.group.is_empty() { "(core)" } else { rule.group };
            let names = if rule.named { ", by name" } else { "" };
            let _ = writeln!(
                page,
                "| `{feature}` | {group} | {} | {} | {}{names} | {} |",
                rule.resources.join(", "),
                rule.verbs.join(", "),
                rule.scope.as_str(),
                rule.why
            );
        }
    }
    page
}
