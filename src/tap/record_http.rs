//! Recording and replay of HTTP: `NNN/http/<provider>/NNN.json`.
//!
//! The same question twice = answers in order, the last one stays. Clock and paging parameters do not take part in matching.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::format::{DeniedRow, RecordingError, read_json, read_lines, safe_name};
use super::http::{HttpAnswer, HttpCalls, HttpRequest};
use super::record::Files;
use super::{CallError, FailureKind};

/// Parameters that say when or which page, not what.
const CUT: [&str; 6] = ["since", "until", "start", "offset", "limit", "continue"];
/// Response headers that somebody reads.
const HEADERS: [&str; 8] = ["content-type", "date", "etag", "last-modified", "link", "location", "retry-after", "server"];

/// One file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Exchange {
    request: Asked,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<Answered>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<Failed>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Asked {
    base: String,
    method: String,
    path: String,
    #[serde(default)]
    query: BTreeMap<String, String>,
    #[serde(default)]
    auth: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Answered {
    status: u16,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cut_at: Option<usize>,
    /// The body was not kept, because no wire type reads it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    not_kept: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Failed {
    /// `refused`, `timeout`, `dns`, `tls`, `reset`.
    kind: String,
    #[serde(default)]
    detail: String,
}

impl Asked {
    fn of(request: &HttpRequest) -> Self {
        let query = request.query.iter().filter(|(name, _)| !CUT.contains(&name.as_str()));
        Self {
            base: request.base.name.clone(),
            method: request.method.clone(),
            path: request.path.clone(),
            query: query.map(|(name, value)| (name.clone(), harmless(name, value))).collect(),
            auth: request.auth.is_some(),
            body: request.record_body.then(|| String::from_utf8_lossy(request.body.as_deref().unwrap_or_default()).into_owned()),
        }
    }
}

/// A parameter whose name says that its value is a secret is recorded without it.
fn harmless(name: &str, value: &str) -> String {
    let name = name.to_ascii_lowercase();
    let secret = ["token", "secret", "password", "passwd", "signature", "credential", "key", "auth", "ticket"];
    if secret.iter().any(|word| name.contains(word)) { "***".to_owned() } else { value.to_owned() }
}

pub(super) struct RecordingHttp {
    files: Arc<Files>,
    provider: String,
    next: AtomicU32,
    inner: Arc<dyn HttpCalls>,
}

impl RecordingHttp {
    pub(super) fn new(files: Arc<Files>, provider: &str, inner: Arc<dyn HttpCalls>) -> Self {
        Self { files, provider: safe_name(provider), next: AtomicU32::new(0), inner }
    }
}

#[async_trait]
impl HttpCalls for RecordingHttp {
    async fn call(&self, request: &HttpRequest) -> Result<HttpAnswer, CallError> {
        let result = self.inner.call(request).await;
        let mut exchange = Exchange { request: Asked::of(request), response: None, failure: None };
        match &result {
            Ok(answer) => {
                let kept = request.keep.and_then(|keep| keep(&answer.body));
                let mut headers = answer.headers.clone();
                headers.retain(|name, _| HEADERS.contains(&name.as_str()));
                exchange.response = Some(Answered {
                    status: answer.status,
                    reason: answer.reason.clone(),
                    headers,
                    not_kept: kept.is_none() && !answer.body.is_empty(),
                    body: kept.map(|body| String::from_utf8_lossy(&body).into_owned()).unwrap_or_default(),
                    cut_at: answer.cut_at,
                });
            }
            Err(error) => exchange.failure = Some(Failed { kind: word(error.kind).to_owned(), detail: error.detail.clone() }),
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.files.json(&format!("http/{}/{number:03}.json", self.provider), &exchange);
        result
    }
}

const fn word(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Dns => "dns",
        FailureKind::Tls => "tls",
        FailureKind::Timeout => "timeout",
        FailureKind::Refused => "refused",
        _ => "reset",
    }
}

fn kind(word: &str) -> FailureKind {
    match word {
        "dns" => FailureKind::Dns,
        "tls" => FailureKind::Tls,
        "timeout" => FailureKind::Timeout,
        "refused" => FailureKind::Refused,
        _ => FailureKind::Reset,
    }
}

/// The replaying form.
pub(super) struct ReplayingHttp {
    source: String,
    denied: Vec<DeniedRow>,
    exchanges: HashMap<Asked, Vec<Exchange>>,
    asked: Mutex<HashMap<Asked, usize>>,
}

impl ReplayingHttp {
    pub(super) fn open(pass: &Path, provider: &str) -> Result<Self, RecordingError> {
        let folder = pass.join("http").join(safe_name(provider));
        let mut names: Vec<_> = std::fs::read_dir(&folder)
            .map(|entries| entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
            .unwrap_or_default();
        names.sort();
        let mut exchanges: HashMap<Asked, Vec<Exchange>> = HashMap::new();
        for name in names.iter().filter(|name| Path::new(name).extension().is_some_and(|ext| ext == "json")) {
            if let Some(exchange) = read_json::<Exchange>(&folder, name)? {
                exchanges.entry(without_paging(&exchange.request)).or_default().push(exchange);
            }
        }
        let denied = read_lines(pass, "denied.jsonl")?.unwrap_or_default();
        Ok(Self { source: format!("http/{provider}"), denied, exchanges, asked: Mutex::default() })
    }
}

fn without_paging(asked: &Asked) -> Asked {
    let mut asked = asked.clone();
    asked.query.retain(|name, _| !CUT.contains(&name.as_str()));
    asked
}

#[async_trait]
impl HttpCalls for ReplayingHttp {
    async fn call(&self, request: &HttpRequest) -> Result<HttpAnswer, CallError> {
        if let Some(row) = self.denied.iter().find(|row| row.covers(&self.source, &request.method, &request.path)) {
            return Err(row.error());
        }
        let asked = Asked::of(request);
        let not_recorded =
            || CallError::new(FailureKind::NotRecorded, format!("{} {}{}: not recorded", asked.method, asked.base, asked.path));
        let found = self.exchanges.get(&asked).ok_or_else(not_recorded)?;
        let turn = match self.asked.lock() {
            Ok(mut turns) => {
                let turn = turns.entry(asked.clone()).or_insert(0);
                *turn += 1;
                *turn - 1
            }
            Err(_) => 0,
        };
        let exchange = found.get(turn).or_else(|| found.last()).ok_or_else(not_recorded)?;
        match (&exchange.response, &exchange.failure) {
            (Some(answer), _) if !answer.not_kept => Ok(HttpAnswer {
                status: answer.status,
                reason: answer.reason.clone(),
                headers: answer.headers.clone(),
                body: Bytes::from(answer.body.clone()),
                cut_at: answer.cut_at,
            }),
            (_, Some(failure)) => Err(CallError::new(kind(&failure.kind), failure.detail.clone())),
            _ => Err(not_recorded()),
        }
    }
}
