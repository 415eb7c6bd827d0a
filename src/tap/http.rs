//! HTTP: the seam that every provider with a web API, the webhooks and the heartbeat use.
//!
//! ```no_run
//! # use dalsegno::tap::http::*;
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let http = LiveHttp::new(&LiveHttpOptions::default())?;
//! let request = HttpRequest::post(Base::open("https://hooks.example.net"), "/x").json(&serde_json::json!({"text": "hello"}))?;
//! let answer = http.call(&request).await?;       // any status is an answer; only "no answer" is an error
//! if answer.is_success() { println!("{}", answer.text()); }
//! # Ok(()) }
//! ```
//! Redirects are never followed: a token must not travel to another host. Bodies are read up to a cap.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::failure::read_chain;
use super::tls::{Trust, client_config};
use super::{CallError, FailureKind};
use crate::domain::Secret;

/// Bodies above this are cut, unless the request says otherwise.
pub const DEFAULT_CAP: usize = 8 << 20;

/// Where a request goes: scheme, host, port and what comes before the path.
#[derive(Clone, Debug)]
pub struct Base {
    /// What messages and recordings call it. For an open base the URL itself.
    pub name: String,
    url: Secret,
}

impl Base {
    /// A base that is no secret.
    pub fn open(url: impl Into<String>) -> Self {
        let url = url.into();
        Self { name: url.clone(), url: Secret::new(url) }
    }

    /// A URL that is itself the secret (a webhook, a heartbeat); only `name` is ever shown or recorded.
    pub fn secret(name: impl Into<String>, url: Secret) -> Self {
        Self { name: name.into(), url }
    }
}

/// What may be kept of a body; `None` = nothing.
pub type KeepBody = fn(&[u8]) -> Option<Vec<u8>>;

/// What is asked.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// Where.
    pub base: Base,
    /// `GET`, `POST`, …
    pub method: String,
    /// Decoded path, with its leading slash; may be empty when the base is the whole URL.
    pub path: String,
    /// Query, decoded, in order.
    pub query: Vec<(String, String)>,
    /// The `Authorization` header, if any. Recorded only as "there was one".
    pub auth: Option<Secret>,
    /// Further headers; never secret ones.
    pub headers: BTreeMap<String, String>,
    /// Body.
    pub body: Option<Bytes>,
    /// The answer's body is read up to this many bytes; more is [`HttpAnswer::cut_at`].
    pub cap: usize,
    /// Time for the whole call; `None` = the client's own.
    pub timeout: Option<Duration>,
    /// What a recording may keep of the answer's body; `None` = nothing. See [`HttpRequest::keeps`].
    pub keep: Option<KeepBody>,
    /// Whether a recording may hold the request's body, and match by it. Never for one with a secret in it.
    pub record_body: bool,
}

impl HttpRequest {
    /// A request of any method.
    pub fn new(method: &str, base: Base, path: &str) -> Self {
        Self {
            base,
            method: method.to_owned(),
            path: path.to_owned(),
            query: Vec::new(),
            auth: None,
            headers: BTreeMap::new(),
            body: None,
            cap: DEFAULT_CAP,
            timeout: None,
            keep: None,
            record_body: false,
        }
    }

    /// A recording may keep of the answer what this wire type reads: a field that nobody reads is never stored.
    #[must_use]
    pub fn keeps<T: serde::de::DeserializeOwned + serde::Serialize>(mut self) -> Self {
        self.keep = Some(|body| serde_json::to_vec(&serde_json::from_slice::<T>(body).ok()?).ok());
        self
    }

    /// GET.
    pub fn get(base: Base, path: &str) -> Self {
        Self::new("GET", base, path)
    }

    /// POST.
    pub fn post(base: Base, path: &str) -> Self {
        Self::new("POST", base, path)
    }

    /// Adds a query parameter.
    #[must_use]
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.query.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the whole `Authorization` header.
    #[must_use]
    pub fn auth(mut self, value: Secret) -> Self {
        self.auth = Some(value);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_ascii_lowercase(), value.to_owned());
        self
    }

    /// A JSON body.
    pub fn json<T: serde::Serialize>(self, value: &T) -> Result<Self, serde_json::Error> {
        let body = serde_json::to_vec(value)?;
        Ok(Self { body: Some(Bytes::from(body)), ..self.header("content-type", "application/json") })
    }

    /// A text body.
    #[must_use]
    pub fn text(self, text: String) -> Self {
        Self { body: Some(Bytes::from(text)), ..self.header("content-type", "text/plain; charset=utf-8") }
    }
}

/// What came back. Any status is an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    /// Status.
    pub status: u16,
    /// Its words.
    pub reason: String,
    /// Headers, names in lower case; of repeated ones the last.
    pub headers: BTreeMap<String, String>,
    /// Body, as far as it was read.
    pub body: Bytes,
    /// The body is not whole: it broke off, or the cap was reached, after this many bytes.
    pub cut_at: Option<usize>,
}

impl HttpAnswer {
    /// 2xx.
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }

    /// The body as text; bytes that are no UTF-8 become replacement characters.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(&name.to_ascii_lowercase()).map(String::as_str)
    }

    /// `Retry-After` in seconds, when it is a number.
    pub fn retry_after(&self) -> Option<u64> {
        self.header("retry-after").and_then(|text| text.trim().parse().ok())
    }
}

/// The seam.
#[async_trait]
pub trait HttpCalls: Send + Sync {
    /// Asks once; never retries by itself.
    async fn call(&self, request: &HttpRequest) -> Result<HttpAnswer, CallError>;
}

/// How the live form talks.
#[derive(Clone, Debug)]
pub struct LiveHttpOptions {
    /// Authorities in PEM, beside the system's.
    pub ca_pem: Option<Vec<u8>>,
    /// Time to connect.
    pub connect_timeout: Duration,
    /// Time for a whole call, unless the request says otherwise.
    pub timeout: Duration,
    /// Whether proxies of the environment are used.
    pub proxies: bool,
}

impl Default for LiveHttpOptions {
    fn default() -> Self {
        Self { ca_pem: None, connect_timeout: Duration::from_secs(5), timeout: Duration::from_secs(30), proxies: true }
    }
}

/// The live form: reqwest.
#[derive(Clone, Debug)]
pub struct LiveHttp {
    client: reqwest::Client,
}

impl LiveHttp {
    /// Builds the client.
    pub fn new(options: &LiveHttpOptions) -> Result<Self, CallError> {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("dalsegno/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .tls_backend_preconfigured(client_config(options.ca_pem.as_deref().map_or(Trust::System, Trust::Also))?)
            .connect_timeout(options.connect_timeout)
            .timeout(options.timeout);
        if !options.proxies {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| not_sent(&error))?;
        Ok(Self { client })
    }

    fn build(&self, request: &HttpRequest) -> Result<reqwest::RequestBuilder, CallError> {
        let bad = |what: String| CallError::new(FailureKind::NotSent, what);
        let base = request.base.url.expose().trim_end_matches('/');
        let mut url = reqwest::Url::parse(base).map_err(|error| bad(format!("{}: not a URL: {error}", request.base.name)))?;
        if !request.path.is_empty() {
            let mut segments = url.path_segments_mut().map_err(|()| bad(format!("{}: has no path", request.base.name)))?;
            segments.pop_if_empty().extend(request.path.trim_start_matches('/').split('/'));
        }
        let method = reqwest::Method::from_bytes(request.method.as_bytes()).map_err(|error| bad(error.to_string()))?;
        let mut builder = self.client.request(method, url);
        if !request.query.is_empty() {
            builder = builder.query(&request.query);
        }
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        if let Some(auth) = &request.auth {
            let mut value = reqwest::header::HeaderValue::from_str(auth.expose())
                .map_err(|_| bad("the authorization is no header text".into()))?;
            value.set_sensitive(true);
            builder = builder.header(reqwest::header::AUTHORIZATION, value);
        }
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        if let Some(timeout) = request.timeout {
            builder = builder.timeout(timeout);
        }
        Ok(builder)
    }
}

#[async_trait]
impl HttpCalls for LiveHttp {
    async fn call(&self, request: &HttpRequest) -> Result<HttpAnswer, CallError> {
        let mut response = self.build(request)?.send().await.map_err(|error| broken(error, &request.base.name))?;
        let status = response.status();
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        let (body, cut_at) = read_body(&mut response, request.cap).await;
        Ok(HttpAnswer {
            status: status.as_u16(),
            reason: status.canonical_reason().unwrap_or_default().to_owned(),
            headers,
            body,
            cut_at,
        })
    }
}

async fn read_body(response: &mut reqwest::Response, cap: usize) -> (Bytes, Option<usize>) {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = cap.saturating_sub(body.len());
                body.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
                if chunk.len() > room {
                    let cut = body.len();
                    return (Bytes::from(body), Some(cut));
                }
            }
            Ok(None) => return (Bytes::from(body), None),
            Err(_) => {
                let cut = body.len();
                return (Bytes::from(body), Some(cut));
            }
        }
    }
}

fn not_sent(error: &reqwest::Error) -> CallError {
    CallError::new(FailureKind::NotSent, read_chain(error).1)
}

/// The URL may be a secret, so reqwest's own text of it is taken away.
fn broken(error: reqwest::Error, name: &str) -> CallError {
    let error = error.without_url();
    let timeout = error.is_timeout();
    let builder = error.is_builder();
    let (kind, words) = read_chain(&error);
    let kind = if builder {
        FailureKind::NotSent
    } else if timeout {
        FailureKind::Timeout
    } else {
        kind.unwrap_or(FailureKind::Reset)
    };
    CallError::new(kind, format!("{name}: {words}"))
}
