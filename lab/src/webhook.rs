//! An HTTP sink: records what is sent to it, and can fail or hang. A strict one looks at each request and
//! answers as the service would that it stands for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use bytes::Bytes;
use http_body_util::BodyExt;

use crate::{LabError, background};

/// How the sink answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// With this status.
    Status(u16),
    /// Never.
    Hang,
}

/// A request that came in.
#[derive(Debug, Clone)]
pub struct Received {
    /// GET, POST, …
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header names (lower case) and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Received {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; null when it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Received {
    /// The value of a header, the first of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The path without its query.
    pub fn path_only(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }
}

/// What a strict sink says to a request: status, content type and body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

type Service = Arc<dyn Fn(&Received) -> Reply + Send + Sync>;

#[derive(Debug)]
struct State {
    manner: Manner,
    received: Vec<Received>,
}

/// A running sink; stops when dropped.
#[derive(Debug)]
pub struct Webhook {
    port: u16,
    state: Arc<Mutex<State>>,
    task: tokio::task::JoinHandle<()>,
}

impl Webhook {
    /// Starts a sink that answers 200 to everything.
    pub fn start() -> Result<Webhook, LabError> {
        Webhook::strict(Arc::new(|_| Reply { status: 200, content_type: "text/plain", body: String::new() }))
    }

    /// Starts a sink that answers as a service does, while its manner is `Status(200)`.
    pub(crate) fn strict(service: Service) -> Result<Webhook, LabError> {
        let state = Arc::new(Mutex::new(State { manner: Manner::Status(200), received: Vec::new() }));
        let shared = Arc::clone(&state);
        let app = axum::Router::new()
            .fallback(move |request: Request<Body>| answer(Arc::clone(&shared), Arc::clone(&service), request));
        let listener = listen()?;
        let port = listener.local_addr().map_err(LabError::file("127.0.0.1"))?.port();
        let task = background()?.spawn(async move {
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                let _ = axum::serve(listener, app).await;
            }
        });
        Ok(Webhook { port, state, task })
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `http://127.0.0.1:<port>/<path>`.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{}", self.port, path.trim_start_matches('/'))
    }

    /// Changes how it answers from now on.
    pub fn answer(&self, manner: Manner) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).manner = manner;
    }

    /// Everything that came in so far.
    pub fn received(&self) -> Vec<Received> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).received.clone()
    }

    /// Waits until `n` requests have come in, or gives what there is after `limit`.
    pub async fn wait_for(&self, n: usize, limit: Duration) -> Vec<Received> {
        let until = Instant::now() + limit;
        while self.received().len() < n && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.received()
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A listener on a free loopback port that a runtime can take over.
pub(crate) fn listen() -> Result<std::net::TcpListener, LabError> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(LabError::file("127.0.0.1:0"))?;
    listener.set_nonblocking(true).map_err(LabError::file("127.0.0.1:0"))?;
    Ok(listener)
}

async fn answer(state: Arc<Mutex<State>>, service: Service, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let headers =
        parts.headers.iter().map(|(n, v)| (n.as_str().to_owned(), String::from_utf8_lossy(v.as_bytes()).into_owned())).collect();
    let received = Received { method: parts.method.to_string(), path: parts.uri.to_string(), headers, body };
    let manner = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.received.push(received.clone());
        state.manner
    };
    let reply = match manner {
        Manner::Status(200) => service(&received),
        Manner::Status(status) => Reply { status, content_type: "text/plain", body: String::new() },
        Manner::Hang => std::future::pending().await,
    };
    let mut response = Response::new(Body::from(reply.body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(reply.content_type));
    response
}
