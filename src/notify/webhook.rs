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

use super::text::{text, title};
use super::{About, Channel};
use crate::domain::{Notice, Secret, Severity, alert_key};
use crate::tap::HttpRequest;
use crate::tap::http::Base;

/// The whole body is never larger: ntfy takes twice its message limit of 4096 bytes.
pub const BODY_BYTES: usize = 8000;
/// The text is never longer, in bytes: Discord refuses 2000 characters and more.
const TEXT_BYTES: usize = 1900;

/// One notice for machines.
#[derive(Serialize)]
struct Entry<'a> {
    key: String,
    change: &'static str,
    severity: &'static str,
    code: &'a str,
    subject: String,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    dependents: &'a [String],
}

/// The body of a message. `key` is that of the message.
pub(super) fn body(channel: &Channel, about: &About, notices: &[&Notice], key: &str) -> String {
    let mut budget = TEXT_BYTES;
    loop {
        let body = with_entries(whole(channel, about, notices, key, budget), about, notices);
        if body.len() <= BODY_BYTES || budget < 200 {
            return body;
        }
        // Entities and escapes made it longer than its text.
        budget -= budget / 8;
    }
}

/// The request that carries a body.
pub(super) fn request(channel: &Channel, url: &Secret, body: &str) -> HttpRequest {
    let without_topic = url.expose().split_once('#').map_or(url.expose(), |(before, _)| before);
    let base = Base::secret(format!("webhook {}", channel.name), Secret::new(without_topic.to_owned()));
    let mut request = HttpRequest::post(base, "").header("content-type", "application/json");
    request.body = Some(body.to_owned().into());
    request
}

fn whole(channel: &Channel, about: &About, notices: &[&Notice], key: &str, budget: usize) -> Value {
    let plain = text(about, notices, budget);
    let mut body = json!({
        "text": entities(&plain),
        "mrkdwn": false,
        "content": plain,
        "allowed_mentions": {"parse": []},
        "flags": 4,
        "title": title(about, notices),
        "message": plain,
        "priority": priority(notices),
        "id": key,
        "site": about.site,
        "run": about.number,
    });
    if let (Some(topic), Some(object)) = (channel.topic(), body.as_object_mut()) {
        object.insert("topic".into(), Value::from(topic));
    }
    body
}

/// Adds the notices for machines, as many as fit; `changes_left_out` counts the others.
fn with_entries(mut body: Value, about: &About, notices: &[&Notice]) -> String {
    let mut used = body.to_string().len() + "\"changes\":[],\"changes_left_out\":99999,".len();
    let mut entries = Vec::new();
    for notice in notices {
        let finding = &notice.alert.finding;
        let entry = Entry {
            key: alert_key(&about.site, finding),
            change: notice.told.as_str(),
            severity: finding.severity.as_str(),
            code: &finding.code,
            subject: finding.subject.to_string(),
            dependents: &notice.alert.dependents,
        };
        let Ok(entry) = serde_json::to_value(entry) else { break };
        used += entry.to_string().len() + 1;
        if used > BODY_BYTES {
            break;
        }
        entries.push(entry);
    }
    if let Some(object) = body.as_object_mut() {
        object.insert("changes_left_out".into(), Value::from(notices.len() - entries.len()));
        object.insert("changes".into(), Value::from(entries));
    }
    body.to_string()
}

/// ntfy's priorities: 5 urgent, 4 high, 3 default. Good news is never louder than default.
pub(super) fn priority(notices: &[&Notice]) -> u8 {
    let worst = notices.iter().filter(|notice| notice.told.pages()).map(|notice| notice.alert.finding.severity).max();
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
