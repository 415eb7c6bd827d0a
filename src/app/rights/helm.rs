//! The rules as templates of the chart: one per scope, each rule inside its feature's condition.

use std::fmt::Write as _;

use super::{SCOPES, words};
use crate::domain::RbacRule;

const PREFACE: &str = "\
{{- /*
Made from the rules in the program: dalsegno config rbac --format helm. Change the rules there; a test compares this file with them.
Each template is given the root context; `dalsegno.rules.named` is given feature and names.
*/}}
";

/// `templates/_rules.tpl`.
pub fn helm(rules: &[RbacRule]) -> String {
    let mut text = PREFACE.to_owned();
    for (scope, word) in SCOPES {
        let _ = writeln!(text, "{{{{- define \"dalsegno.rules.{word}\" -}}}}");
        for rule in rules.iter().filter(|rule| rule.scope == scope && !rule.named) {
            let _ = writeln!(text, "{{{{- if has \"{}\" .Values.rbac.features }}}}", rule.feature);
            text.push_str(&written(rule, None));
            text.push_str("{{- end }}\n");
        }
        text.push_str("{{- end }}\n");
    }
    text.push_str("{{- define \"dalsegno.rules.named\" -}}\n");
    for rule in rules.iter().filter(|rule| rule.named) {
        let _ = writeln!(text, "{{{{- if eq .feature \"{}\" }}}}", rule.feature);
        text.push_str(&written(rule, Some("{{ toJson .names }}")));
        text.push_str("{{- end }}\n");
    }
    text.push_str("{{- end }}\n");
    text
}

fn written(rule: &RbacRule, names: Option<&str>) -> String {
    let names = names.map(|names| format!("  resourceNames: {names}\n")).unwrap_or_default();
    format!(
        "# {}: {}\n- apiGroups: [\"{}\"]\n  resources: {}\n{names}  verbs: {}\n",
        rule.feature,
        rule.why,
        rule.group,
        words(rule.resources),
        words(rule.verbs)
    )
}
