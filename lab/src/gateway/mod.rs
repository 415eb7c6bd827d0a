//! A gateway before an S3 server: it refuses what Cloudflare R2 refuses, and does to single
//! requests what bad days do. What it lets pass goes on byte by byte with its Host header, so that
//! the client's signature stays valid for the server behind.
//!
//! The refusals are those of R2's public documentation and of the issue threads of its users
//! (<https://developers.cloudflare.com/r2/api/s3/api/>, velero 7940, vector 23029).

mod answers;
mod faults;
mod r2;
mod rules;

pub use faults::{Fault, What};
pub use rules::{Rules, Seen};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use jiff::{SignedDuration, Timestamp};

use crate::s3::sign::{self, Keys};
use crate::seaweed::Seaweed;
use crate::webhook::listen;
use crate::{LabError, background, s3};

/// How far a request's time may be from the server's (all of AWS, R2, MinIO).
const SKEW: SignedDuration = SignedDuration::from_mins(15);

/// What the gateway remembers from one request to the next.
#[derive(Debug, Default)]
struct Memory {
    rules: Rules,
    seen: Vec<Seen>,
    /// The last write to a key, for R2's one write a second.
    writes: HashMap<String, Timestamp>,
    /// Sizes of the parts of an upload: part number and bytes.
    parts: HashMap<String, Vec<(u32, u64)>>,
}

#[derive(Debug)]
struct Inner {
    upstream: String,
    port: u16,
    /// To sign again what was signed with the gateway's wrong clock.
    keys: Vec<Keys>,
    memory: Mutex<Memory>,
    http: Http<HttpConnector, Body>,
}

impl Inner {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running gateway; gone when dropped.
#[derive(Debug)]
pub struct Gateway {
    port: u16,
    inner: Arc<Inner>,
    task: tokio::task::JoinHandle<()>,
}

impl Gateway {
    /// A gateway before this server, with these rules.
    pub fn start(server: &Seaweed, rules: Rules) -> Result<Gateway, LabError> {
        let known = server.keys();
        let keys = vec![known.admin().clone(), known.read_only().clone(), known.write_only().clone(), known.other().clone()];
        Gateway::before(server.endpoint(), keys, rules)
    }

    /// A gateway before any plain-HTTP endpoint; `keys` are needed only when its clock is wrong.
    pub fn before(endpoint: &str, keys: Vec<Keys>, rules: Rules) -> Result<Gateway, LabError> {
        let upstream = endpoint.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let listener = listen()?;
        let port = listener.local_addr().map_err(LabError::file("127.0.0.1"))?.port();
        let memory = Mutex::new(Memory { rules, ..Memory::default() });
        let inner = Arc::new(Inner { upstream, port, keys, memory, http: s3::http() });
        let shared = Arc::clone(&inner);
        let app = axum::Router::new().fallback(move |request: Request<Body>| {
            let inner = Arc::clone(&shared);
            async move { handle(&inner, request).await }
        });
        let task = background()?.spawn(async move {
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                let _ = axum::serve(listener, app).await;
            }
        });
        Ok(Gateway { port, inner, task })
    }

    /// `http://127.0.0.1:<port>`.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Changes the rules from the next request on.
    pub fn change(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut self.inner.memory().rules);
    }

    /// Every request that came in, in order, refused ones too.
    pub fn seen(&self) -> Vec<Seen> {
        self.inner.memory().seen.clone()
    }

    /// Forgets what came in so far.
    pub fn forget(&self) {
        self.inner.memory().seen.clear();
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn handle(inner: &Inner, request: Request<Body>) -> Response<Body> {
    let seen = Seen::of(&request);
    let decision = {
        let mut memory = inner.memory();
        let now = Timestamp::now();
        let decision = decide(&mut memory, &seen, now);
        memory.seen.push(seen.clone());
        (decision, memory.rules.clock)
    };
    let (decision, clock) = decision;
    let mut response = match decision {
        Decision::Refuse(response) => *response,
        Decision::Hang => std::future::pending().await,
        Decision::Pass(after, late) => {
            tokio::time::sleep(late).await;
            let response = forward(inner, request, clock).await;
            after.apply(response)
        }
    };
    let region = inner.memory().rules.bucket_region.clone();
    if let (true, Some(region)) = (seen.is_head_bucket(), region.and_then(|r| HeaderValue::from_str(&r).ok())) {
        response.headers_mut().insert("x-amz-bucket-region", region);
    }
    if clock != 0
        && let Ok(date) = HeaderValue::from_str(&answers::http_date(shifted(clock)))
    {
        response.headers_mut().insert(header::DATE, date);
    }
    response
}

/// What is done with a request.
enum Decision {
    Refuse(Box<Response<Body>>),
    Hang,
    /// Goes on after a delay; its answer is treated.
    Pass(faults::After, std::time::Duration),
}

impl Decision {
    fn refuse(response: Response<Body>) -> Decision {
        Decision::Refuse(Box::new(response))
    }
}

/// The order is a server's: who are you, at what time, too fast, may you, is it possible.
fn decide(memory: &mut Memory, seen: &Seen, now: Timestamp) -> Decision {
    if let Some(refusal) = rules::who(&memory.rules, seen) {
        return Decision::refuse(refusal);
    }
    if memory.rules.clock != 0 {
        let server = now + SignedDuration::from_secs(memory.rules.clock);
        if seen.signed_at().is_some_and(|at| server.duration_since(at).abs() > SKEW) {
            return Decision::refuse(answers::skewed(seen, server));
        }
    }
    if memory.rules.slow_down > 0 {
        memory.rules.slow_down -= 1;
        return Decision::refuse(answers::error(503, "SlowDown", "Please reduce your request rate.", seen));
    }
    if let Some(refusal) = rules::may(&memory.rules, seen) {
        return Decision::refuse(refusal);
    }
    if memory.rules.r2
        && let Some(refusal) = r2::refuse(memory, seen, now)
    {
        return Decision::refuse(refusal);
    }
    faults::decide(&mut memory.rules.faults, seen)
}

fn shifted(clock: i64) -> Timestamp {
    Timestamp::now() + SignedDuration::from_secs(clock)
}

/// Sends the request on as it is (Host included); with a wrong clock it is signed again, for the
/// server behind has the right one.
async fn forward(inner: &Inner, request: Request<Body>, clock: i64) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", axum::http::uri::PathAndQuery::as_str).to_owned();
    if clock != 0 {
        resign(inner, &mut parts, &path);
    }
    let uri = format!("http://{}{path}", inner.upstream);
    match uri.parse() {
        Ok(uri) => parts.uri = uri,
        Err(_) => return answers::plain(400, "the gateway cannot read this path"),
    }
    if !parts.headers.contains_key(header::HOST)
        && let Ok(host) = HeaderValue::from_str(&format!("127.0.0.1:{}", inner.port))
    {
        parts.headers.insert(header::HOST, host);
    }
    match inner.http.request(Request::from_parts(parts, body)).await {
        Ok(response) => response.map(Body::new),
        Err(e) => answers::plain(502, &format!("the server behind the gateway: {e}")),
    }
}

fn resign(inner: &Inner, parts: &mut axum::http::request::Parts, path_and_query: &str) {
    let Some(scope) = rules::credential(&parts.headers) else { return };
    let Some(keys) = inner.keys.iter().find(|k| k.id == scope.key) else { return };
    let date = sign::amz_date(Timestamp::now());
    if let Ok(value) = HeaderValue::from_str(&date) {
        parts.headers.insert("x-amz-date", value);
    }
    let text = |name: &str| parts.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    let payload = text("x-amz-content-sha256");
    let headers = parts
        .headers
        .keys()
        .filter(|name| *name == header::HOST || name.as_str().starts_with("x-amz-"))
        .map(|name| (name.as_str().to_owned(), text(name.as_str())))
        .collect();
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let request = sign::Request { method: parts.method.as_str(), path, query, headers, payload: &payload };
    if let Ok(value) = HeaderValue::from_str(&sign::authorization(&request, keys, &scope.region, &date)) {
        parts.headers.insert(header::AUTHORIZATION, value);
    }
}
