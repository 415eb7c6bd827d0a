//! Sending one message once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::text::tame;
use super::{Channel, Way, alertmanager, events, mail, ntfy, pushgateway, textfile, webhook};
use crate::domain::{KubeId, Message, Secret};
use crate::tap::{CallError, FailureKind, HttpAnswer, HttpCalls, HttpRequest, KubeActs};

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

/// What messages go through.
#[derive(Clone)]
pub struct Means {
    /// HTTP.
    pub http: Arc<dyn HttpCalls>,
    /// Kubernetes clusters, by name.
    pub kube: BTreeMap<KubeId, Arc<dyn KubeActs>>,
    /// The site, where a channel keeps what it is told by site.
    pub site: String,
}

/// Sends a message once and waits at most `limit` for the answer.
pub async fn send(means: &Means, channel: &Channel, message: &Message, now: Timestamp, limit: Duration) -> Sent {
    let sent = match &channel.way {
        Way::Mail(mail) => mail::send(mail, &message.key, &message.body, limit).await,
        Way::Events { cluster } => {
            let Some(kube) = means.kube.get(cluster) else { return no_cluster(cluster) };
            let sending = events::send(kube.as_ref(), &message.body, now);
            tokio::time::timeout(limit, sending).await.unwrap_or_else(|_| late(&channel.name, limit))
        }
        Way::File { path } => textfile::write(path, &message.body).await,
        way => match request(way, channel, message, &means.site) {
            // For receivers that know it: a second delivery of the same key can be dropped.
            Some(request) => http(means.http.as_ref(), request.header("idempotency-key", &message.key), now, limit).await,
            None => Sent::Never { why: format!("{}: the address names no topic: https://SERVER/TOPIC", channel.name) },
        },
    };
    channel.secrets().into_iter().fold(sent, without)
}

/// Whether a channel would take messages, without telling anybody of a finding where that can be avoided.
pub async fn try_out(means: &Means, channel: &Channel, test: &Message, namespace: &str, now: Timestamp, limit: Duration) -> Sent {
    match &channel.way {
        Way::Events { cluster } => {
            let Some(kube) = means.kube.get(cluster) else { return no_cluster(cluster) };
            let trying = events::try_out(kube.as_ref(), namespace, &means.site, now);
            tokio::time::timeout(limit, trying).await.unwrap_or_else(|_| late(&channel.name, limit))
        }
        // The metrics that stand there are worth more than a test.
        Way::File { path } => textfile::try_out(path).await,
        _ => send(means, channel, test, now, limit).await,
    }
}

fn request(way: &Way, channel: &Channel, message: &Message, site: &str) -> Option<HttpRequest> {
    match way {
        Way::Webhook { url } => Some(webhook::request(channel, url, &message.body)),
        Way::Ntfy { url, auth } => ntfy::request(&channel.name, url, auth.as_ref(), &message.body),
        Way::Alertmanager { url, auth } => Some(alertmanager::request(url, auth.as_ref(), &message.body)),
        Way::Pushgateway { url, job, auth } => Some(pushgateway::request(url, job, auth.as_ref(), site, &message.body)),
        Way::Mail(_) | Way::Events { .. } | Way::File { .. } => None,
    }
}

fn no_cluster(cluster: &KubeId) -> Sent {
    Sent::Never { why: format!("no Kubernetes cluster \"{cluster}\" can be asked") }
}

fn late(name: &str, limit: Duration) -> Sent {
    Sent::Later { why: format!("{name}: no answer within {} s", limit.as_secs()), retry_after: None }
}

/// As [`http`], with what is secret about the URL taken out of the words.
pub(super) async fn call(calls: &dyn HttpCalls, request: HttpRequest, url: &Secret, now: Timestamp, limit: Duration) -> Sent {
    without(http(calls, request, now, limit).await, url)
}

async fn http(calls: &dyn HttpCalls, mut request: HttpRequest, now: Timestamp, limit: Duration) -> Sent {
    request.cap = ANSWER_BYTES;
    request.timeout = Some(limit);
    let name = request.base.name.clone();
    match tokio::time::timeout(limit, calls.call(&request)).await {
        Err(_) => late(&name, limit),
        Ok(Err(error)) => no_answer(&error),
        Ok(Ok(answer)) => answered(&name, &answer, now),
    }
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
