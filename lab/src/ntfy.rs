//! A stand-in for an ntfy server: it takes what ntfy takes, and refuses what it refuses
//! (<https://docs.ntfy.sh/publish/>).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::LabError;
use crate::webhook::{Manner, Received, Reply, Webhook};

/// A message that was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its topic.
    pub topic: String,
    /// Its title.
    pub title: Option<String>,
    /// Its text.
    pub message: String,
    /// 1 (least) to 5; 3 when it does not say.
    pub priority: u8,
    /// Its tags.
    pub tags: Vec<String>,
    /// What a click opens.
    pub click: Option<String>,
}

/// A running server; gone when dropped.
#[derive(Debug)]
pub struct Ntfy {
    hook: Webhook,
    token: Option<String>,
}

impl Ntfy {
    /// Everybody may publish.
    pub fn start() -> Result<Ntfy, LabError> {
        Ntfy::start_with(None)
    }

    /// Who publishes must have this token.
    pub fn with_token(token: &str) -> Result<Ntfy, LabError> {
        Ntfy::start_with(Some(token.to_owned()))
    }

    fn start_with(token: Option<String>) -> Result<Ntfy, LabError> {
        let wanted = token.clone();
        let hook = Webhook::strict(Arc::new(move |request| match read(request, wanted.as_deref()) {
            Ok(message) => json_reply(
                200,
                &json!({
                    "id": "labMessage01", "time": 0, "event": "message", "topic": message.topic, "message": message.message,
                }),
            ),
            Err((status, code, error)) => json_reply(status, &json!({"code": code, "http": status, "error": error})),
        }))?;
        Ok(Ntfy { hook, token })
    }

    /// `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        self.hook.url("").trim_end_matches('/').to_owned()
    }

    /// Changes how it answers; `Status(200)` is as ntfy does.
    pub fn answer(&self, manner: Manner) {
        self.hook.answer(manner);
    }

    /// The requests, refused ones too.
    pub fn hook(&self) -> &Webhook {
        &self.hook
    }

    /// The messages that were fit to be published.
    pub fn messages(&self) -> Vec<Message> {
        self.hook.received().iter().filter_map(|one| read(one, self.token.as_deref()).ok()).collect()
    }
}

fn json_reply(status: u16, body: &Value) -> Reply {
    Reply { status, content_type: "application/json", body: body.to_string() }
}

type Refusal = (u16, u32, &'static str);

/// A message by its own path with headers, or as JSON to the root.
fn read(request: &Received, token: Option<&str>) -> Result<Message, Refusal> {
    if let Some(token) = token
        && request.header("authorization") != Some(format!("Bearer {token}").as_str())
    {
        return Err((403, 40301, "forbidden"));
    }
    if request.method != "POST" && request.method != "PUT" {
        return Err((404, 40401, "page not found"));
    }
    let topic = request.path_only().trim_start_matches('/').to_owned();
    let message = if topic.is_empty() { from_json(&request.json())? } else { from_headers(request, topic)? };
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if message.topic.is_empty() || message.topic.len() > 64 || !message.topic.chars().all(fits) {
        return Err((400, 40009, "invalid request: topic invalid"));
    }
    // ntfy makes an attachment of a longer text, which a phone does not show as a message.
    if message.message.len() > 4096 {
        return Err((413, 41301, "attachment too large, or bandwidth limit reached"));
    }
    Ok(message)
}

fn from_json(body: &Value) -> Result<Message, Refusal> {
    let malformed = (400, 40024, "invalid request: request body must be message JSON");
    let map = body.as_object().ok_or(malformed)?;
    let text = |name: &str| match map.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(malformed),
    };
    let priority = match map.get("priority") {
        None => 3,
        Some(value) => value.as_u64().and_then(|n| u8::try_from(n).ok()).ok_or(malformed)?,
    };
    if !(1..=5).contains(&priority) {
        return Err((400, 40007, "invalid request: priority invalid"));
    }
    let tags = match map.get("tags") {
        None => Vec::new(),
        Some(value) => serde_json::from_value(value.clone()).map_err(|_| malformed)?,
    };
    Ok(Message {
        topic: text("topic")?.unwrap_or_default(),
        title: text("title")?,
        message: text("message")?.unwrap_or_else(|| "triggered".to_owned()),
        priority,
        tags,
        click: text("click")?,
    })
}

fn from_headers(request: &Received, topic: String) -> Result<Message, Refusal> {
    let either = |name: &str| request.header(name).or_else(|| request.header(&format!("x-{name}"))).map(str::to_owned);
    let priority = match either("priority").as_deref() {
        None | Some("3" | "default") => 3,
        Some("1" | "min") => 1,
        Some("2" | "low") => 2,
        Some("4" | "high") => 4,
        Some("5" | "max" | "urgent") => 5,
        Some(_) => return Err((400, 40007, "invalid request: priority invalid")),
    };
    let tags = either("tags").map(|tags| tags.split(',').map(|tag| tag.trim().to_owned()).collect()).unwrap_or_default();
    let text = request.text();
    let message = if text.is_empty() { "triggered".to_owned() } else { text };
    Ok(Message { topic, title: either("title"), message, priority, tags, click: either("click") })
}
