//! The telling lines of a log: errors of PostgreSQL, of the instance manager and of barman.

use serde_json::Value;

/// So many lines are kept, the newest.
const KEPT: usize = 20;
/// And so many characters of each.
const LONGEST: usize = 400;
/// Lines that are asked for.
pub(super) const LINES: u32 = 500;

/// Lines that say ERROR, FATAL or PANIC, newest last, without what may be a secret. CNPG's own lines are JSON, with PostgreSQL's inside.
pub(super) fn telling(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().rev().filter_map(line).take(KEPT).collect();
    lines.reverse();
    lines
}

fn line(raw: &str) -> Option<String> {
    let said = match serde_json::from_str::<Value>(raw) {
        Ok(json) if json.is_object() => of_json(&json)?,
        _ => raw.to_owned(),
    };
    let tells = ["ERROR", "FATAL", "PANIC", "No space left", "not found"].iter().any(|word| said.contains(word));
    tells.then(|| harmless(&said).chars().take(LONGEST).collect())
}

fn of_json(json: &Value) -> Option<String> {
    let text = |pointer: &str| json.pointer(pointer).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    if let Some(severity) = text("/record/error_severity") {
        let detail = text("/record/detail").map(|detail| format!(" DETAIL:  {detail}")).unwrap_or_default();
        return Some(format!("{severity}:  {}{detail}", text("/record/message").unwrap_or_default()));
    }
    let message = text("/msg").or_else(|| text("/message"))?;
    let error = text("/error").map(|error| format!(": {error}")).unwrap_or_default();
    let is_error = text("/level").is_some_and(|level| matches!(level, "error" | "fatal" | "panic"));
    let word = if is_error { "ERROR:  " } else { "" };
    Some(format!("{word}{message}{error}"))
}

/// Without passwords and signatures in URLs and without `password=…`.
fn harmless(text: &str) -> String {
    text.split(' ').map(of_word).collect::<Vec<_>>().join(" ")
}

fn of_word(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    if let Some((scheme, rest)) = word.split_once("://") {
        let rest = rest.split('?').next().unwrap_or_default();
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        return format!("{scheme}://{}{path}", authority.rsplit('@').next().unwrap_or_default());
    }
    let secret = ["password", "secret", "token", "signature", "credential", "passwd"];
    match word.find(['=', ':']) {
        Some(at) if secret.iter().any(|name| lower.get(..at).is_some_and(|head| head.contains(name))) => {
            format!("{}***", word.get(..=at).unwrap_or_default())
        }
        _ => word.to_owned(),
    }
}
