//! Values that nobody filled in: critical, while the rest of the configuration is looked at all the same.

use std::collections::BTreeMap;

use super::ground::{Ground, names, say, some_of};
use crate::domain::{Finding, Placeholder, Severity, Subject};

pub(super) fn judge(ground: &Ground) -> Vec<Finding> {
    let mut by_subject: BTreeMap<&Subject, Vec<&Placeholder>> = BTreeMap::new();
    for placeholder in &ground.expected.placeholders {
        by_subject.entry(&placeholder.subject).or_default().push(placeholder);
    }
    by_subject.into_iter().map(|(subject, found)| unresolved(ground, subject, &found)).collect()
}

fn unresolved(ground: &Ground, subject: &Subject, found: &[&Placeholder]) -> Finding {
    let paths: Vec<String> = found.iter().map(|placeholder| placeholder.key_path.clone()).collect();
    let mut evidence: Vec<String> =
        found.iter().map(|p| format!("{} is the placeholder {} ({})", p.key_path, p.value, p.at)).collect();
    let above = names(&ground.dependents(subject));
    if !above.is_empty() {
        evidence.push(format!("not looked at because of it: {}", some_of(&above)));
    }
    Finding {
        evidence,
        cause: "the configuration was rendered or delivered without this value".to_owned(),
        ..say(
            "config-placeholder-unresolved",
            Severity::Critical,
            subject,
            format!("{} still holds a placeholder; nothing behind it was looked at", some_of(&paths)),
        )
    }
}
