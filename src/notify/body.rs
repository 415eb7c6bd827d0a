//! The one body that Slack, Discord and ntfy all take. Each reads the keys it knows and passes over the rest:
//!
//! - Slack reads `text` (with `&`, `<`, `>` as entities, so that no name can become a mention) and `mrkdwn`:
//!   <https://docs.slack.dev/messaging/formatting-message-text>
//! - Discord reads `content` (at most 2000 characters), `allowed_mentions` (nobody is called by a name in a text) and
//!   `flags` (4 = no previews of links): <https://docs.discord.com/developers/resources/webhook#execute-webhook>
//! - ntfy reads `topic`, `title`, `message` and `priority` when it is posted to the server's root:
//!   <https://docs.ntfy.sh/publish/#publish-as-json>. The whole body may have twice the message limit of 4096 bytes.

use serde::Serialize;
use serde_json::{Value, json};

use super::text::{Line, Told, lines, text, title};
use super::{About, Channel};
use crate::domain::{Change, Message, Severity};

/// The whole body is never larger: ntfy takes twice its message limit of 4096 bytes.
pub const BODY_BYTES: usize = 8000;
/// The text is never longer, in bytes: Discord refuses 2000 characters and more.
const TEXT_BYTES: usize = 1900;

/// One change for machines.
#[derive(Serialize)]
struct Entry<'a> {
    change: &'static str,
    severity: &'static str,
    code: &'a str,
    subject: String,
}

/// The message of a pass for a channel; `None` when nothing that it wants to know changed.
pub fn message(channel: &Channel, about: &About, changes: &[Change]) -> Option<Message> {
    let lines = lines(changes, channel.at_least);
    if lines.is_empty() {
        return None;
    }
    let key = format!("{}/{}", about.run, channel.name);
    let mut budget = TEXT_BYTES;
    loop {
        let body = with_entries(body(channel, about, &lines, &key, budget), &lines);
        if body.len() <= BODY_BYTES || budget < 200 {
            return Some(Message { channel: channel.name.clone(), key, body });
        }
        // Entities and escapes made it longer than its text.
        budget -= budget / 8;
    }
}

fn body(channel: &Channel, about: &About, lines: &[Line<'_>], key: &str, budget: usize) -> Value {
    let plain = text(about, lines, budget);
    let mut body = json!({
        "text": entities(&plain),
        "mrkdwn": false,
        "content": plain,
        "allowed_mentions": {"parse": []},
        "flags": 4,
        "title": title(about, lines),
        "message": plain,
        "priority": priority(lines),
        "id": key,
        "site": about.site,
        "run": about.number,
    });
    if let (Some(topic), Some(object)) = (channel.topic(), body.as_object_mut()) {
        object.insert("topic".into(), Value::from(topic));
    }
    body
}

/// Adds the changes for machines, as many as fit; `changes_left_out` counts the others.
fn with_entries(mut body: Value, lines: &[Line<'_>]) -> String {
    let mut used = body.to_string().len() + "\"changes\":[],\"changes_left_out\":99999,".len();
    let mut entries = Vec::new();
    for line in lines {
        let finding = line.finding;
        let entry = Entry {
            change: line.told.as_str(),
            severity: finding.severity.as_str(),
            code: &finding.code,
            subject: finding.subject.to_string(),
        };
        let Ok(entry) = serde_json::to_value(entry) else { break };
        used += entry.to_string().len() + 1;
        if used > BODY_BYTES {
            break;
        }
        entries.push(entry);
    }
    if let Some(object) = body.as_object_mut() {
        object.insert("changes_left_out".into(), Value::from(lines.len() - entries.len()));
        object.insert("changes".into(), Value::from(entries));
    }
    body.to_string()
}

/// ntfy's priorities: 5 urgent, 4 high, 3 default. Good news is never louder than default.
fn priority(lines: &[Line<'_>]) -> u8 {
    let worst = lines.iter().filter(|line| matches!(line.told, Told::New | Told::Worse)).map(|line| line.finding.severity).max();
    match worst {
        Some(Severity::Critical) => 5,
        Some(Severity::Warning) => 4,
        Some(Severity::Info) | None => 3,
    }
}

/// Slack's three entities.
fn entities(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
