//! Sending one message once.

use std::time::Duration;

use jiff::Timestamp;

use super::Channel;
use super::text::tame;
use crate::domain::{Message, Secret};
use crate::tap::http::Base;
use crate::tap::{CallError, FailureKind, HttpAnswer, HttpCalls, HttpRequest};

/// How much of an answer is read: only its words for people matter.
const ANSWER_BYTES: usize = 4096;

/// How it went. The words carry neither the URL nor a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The receiver took it (2xx).
    Delivered,
    /// No answer, 408, 425, 429 or 5xx: worth trying again.
    Later {
        /// What happened.
        why: String,
        /// Seconds that the receiver asked us to wait.
        retry_after: Option<u64>,
    },
    /// The receiver refused it (another 3xx or 4xx), or the URL is none: trying again cannot help.
    Never {
        /// What happened.
        why: String,
    },
}

/// Sends a message once and waits at most `limit` for the answer.
pub async fn send(calls: &dyn HttpCalls, channel: &Channel, message: &Message, now: Timestamp, limit: Duration) -> Sent {
    let base = Base::secret(format!("webhook {}", channel.name), channel.address());
    let mut request = HttpRequest::post(base, "")
        .header("content-type", "application/json")
        // For receivers that know it: a second delivery of the same key can be dropped.
        .header("idempotency-key", &message.key);
    request.body = Some(message.body.clone().into());
    call(calls, request, &channel.url, now, limit).await
}

pub(super) async fn call(calls: &dyn HttpCalls, mut request: HttpRequest, url: &Secret, now: Timestamp, limit: Duration) -> Sent {
    request.cap = ANSWER_BYTES;
    request.timeout = Some(limit);
    let name = request.base.name.clone();
    let sent = match tokio::time::timeout(limit, calls.call(&request)).await {
        Err(_) => Sent::Later { why: format!("{name}: no answer within {} s", limit.as_secs()), retry_after: None },
        Ok(Err(error)) => no_answer(&error),
        Ok(Ok(answer)) => answered(&name, &answer, now),
    };
    without(sent, url)
}

fn no_answer(error: &CallError) -> Sent {
    let why = tame(&error.to_string(), 300);
    match error.kind {
        FailureKind::NotSent => Sent::Never { why },
        _ => Sent::Later { why, retry_after: error.retry_after },
    }
}

fn answered(name: &str, answer: &HttpAnswer, now: Timestamp) -> Sent {
    if answer.is_success() {
        return Sent::Delivered;
    }
    let said = tame(answer.text().trim(), 200);
    let separator = if said.is_empty() { "" } else { ": " };
    let why = format!("{name} answered {} {}{separator}{said}", answer.status, answer.reason);
    match answer.status {
        408 | 425 | 429 | 500..=599 => Sent::Later { why, retry_after: retry_after(answer, now) },
        _ => Sent::Never { why },
    }
}

/// `Retry-After` as seconds, or as the date that RFC 9110 §10.2.3 allows too.
fn retry_after(answer: &HttpAnswer, now: Timestamp) -> Option<u64> {
    if let Some(seconds) = answer.retry_after() {
        return Some(seconds);
    }
    let date = jiff::fmt::rfc2822::parse(answer.header("retry-after")?.trim()).ok()?.timestamp();
    u64::try_from(date.duration_since(now).as_secs()).ok()
}

/// Takes the URL, and every longer part of its path and query, out of words that an answer may have echoed.
fn without(sent: Sent, url: &Secret) -> Sent {
    let scrub = |why: String| {
        let url = url.expose();
        let after_host = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
        let mut parts: Vec<&str> = after_host.split(['/', '?', '&', '=', '#']).filter(|part| part.len() >= 6).collect();
        parts.extend([url, after_host].into_iter().filter(|part| part.len() >= 6));
        parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
        parts.iter().fold(why, |why, part| why.replace(part, "***"))
    };
    match sent {
        Sent::Delivered => Sent::Delivered,
        Sent::Later { why, retry_after } => Sent::Later { why: scrub(why), retry_after },
        Sent::Never { why } => Sent::Never { why: scrub(why) },
    }
}
