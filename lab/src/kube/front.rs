//! A second address of the API server, which can be down, slow or rude for some calls.
//!
//! Single calls are treated here; the network as a whole (refused, silent, cut, slow) by the [`Link`] before it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use serde_json::json;

use super::{Cluster, client};
use crate::LabError;
use crate::front::{Front, Head, Upstream, Verdict};
use crate::link::{Link, Shape};

/// What the front says or does instead of the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Say {
    /// 410: the continue token or the version is too old.
    Gone,
    /// 429, with so many seconds in `Retry-After`.
    TooMany(u32),
    /// 401, as with an expired token.
    Unauthorized,
    /// 403 with a message of RBAC's form.
    Forbidden,
    /// Any status, with this reason and message in the body.
    Status(u16, String, String),
    /// The API server's own answer, so much later.
    Late(Duration),
    /// No answer, ever.
    Hang,
    /// The connection closes without an answer.
    Drop,
    /// The answer ends after so many bytes.
    Cut(u64),
}

/// Which calls, what, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiFault {
    method: String,
    path: String,
    say: Say,
    times: Option<u32>,
}

impl ApiFault {
    /// Every call whose path and query match; `*` stands for any text, and the method may be empty for any.
    pub fn always(method: &str, path: &str, say: Say) -> ApiFault {
        ApiFault { method: method.to_owned(), path: path.to_owned(), say, times: None }
    }

    /// The next so many of them.
    pub fn next(times: u32, method: &str, path: &str, say: Say) -> ApiFault {
        ApiFault { times: Some(times), ..ApiFault::always(method, path, say) }
    }

    fn hits(&self, head: &Head) -> bool {
        self.times != Some(0) && (self.method.is_empty() || self.method == head.method) && matches(&self.path, &head.target)
    }
}

/// A call that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiSeen {
    /// GET, PATCH, …
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Whether a fault took it.
    pub faulted: bool,
}

#[derive(Debug, Default)]
struct State {
    faults: Vec<ApiFault>,
    seen: Vec<ApiSeen>,
}

/// A running front; gone when dropped.
#[derive(Debug)]
pub struct ApiFront {
    link: Link,
    _front: Front,
    state: Arc<Mutex<State>>,
    url: String,
    authority: PathBuf,
    kubeconfig: PathBuf,
    token: String,
}

impl ApiFront {
    pub(super) fn start(cluster: &Cluster) -> Result<ApiFront, LabError> {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let identity = cluster.authority().server(&["127.0.0.1", "localhost"])?;
        let upstream =
            Upstream { address: ([127, 0, 0, 1], cluster.api_port()).into(), tls: Some(cluster.authority().connector()?) };
        let front = Front::start(
            Some(identity.acceptor()?),
            Some(upstream),
            Arc::new(move |head| shared.lock().unwrap_or_else(PoisonError::into_inner).judge(head)),
        )?;
        let link = Link::start(&format!("127.0.0.1:{}", front.port()), Shape::default())?;
        let url = format!("https://127.0.0.1:{}", link.port());
        let token = cluster.admin_token().to_owned();
        let kubeconfig = cluster.write_kubeconfig(&format!("front-{}.kubeconfig", link.port()), &url, &token)?;
        let authority = cluster.folder().join("ca.crt");
        Ok(ApiFront { link, _front: front, state, url, authority, kubeconfig, token })
    }

    /// `https://127.0.0.1:<port>`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The administrator's kubeconfig file by way of this front.
    pub fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig.clone()
    }

    /// A kubeconfig file for a token by way of this front.
    pub fn kubeconfig_for(&self, token: &str) -> Result<PathBuf, LabError> {
        let digits = crate::s3::sign::sha256_hex(token.as_bytes());
        let file = self.kubeconfig.with_file_name(format!(
            "front-{}-{}.kubeconfig",
            self.link.port(),
            digits.get(..8).unwrap_or_default()
        ));
        super::write_kubeconfig(&file, &self.url, &self.authority, token)?;
        Ok(file)
    }

    /// The administrator's client by way of this front.
    pub async fn client(&self) -> Result<Client, LabError> {
        client(&self.url, &self.authority, &self.token).await
    }

    /// The network before it: `set(Mode::Refuse)` is an API server that is down.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Adds a fault; the first that matches is the one that happens.
    pub fn fault(&self, fault: ApiFault) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).faults.push(fault);
    }

    /// No more faults.
    pub fn mend(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).faults.clear();
    }

    /// Every call that came in, in order.
    pub fn seen(&self) -> Vec<ApiSeen> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).seen.clone()
    }

    /// Forgets what came in so far.
    pub fn forget(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).seen.clear();
    }
}

impl State {
    fn judge(&mut self, head: &Head) -> Verdict {
        let fault = self.faults.iter_mut().find(|fault| fault.hits(head));
        let seen = ApiSeen { method: head.method.clone(), target: head.target.clone(), faulted: fault.is_some() };
        self.seen.push(seen);
        let Some(fault) = fault else { return Verdict::Pass(Duration::ZERO) };
        if let Some(times) = &mut fault.times {
            *times -= 1;
        }
        match &fault.say {
            Say::Gone => {
                status(410, "Expired", "The provided continue parameter is too old to display a consistent list result.", &[])
            }
            Say::TooMany(seconds) => status(
                429,
                "TooManyRequests",
                "the server has received too many requests",
                &[("Retry-After", seconds.to_string())],
            ),
            Say::Unauthorized => status(401, "Unauthorized", "Unauthorized", &[]),
            Say::Forbidden => status(403, "Forbidden", &format!("{} is forbidden: the lab says no", head.target), &[]),
            Say::Status(code, reason, message) => status(*code, reason, message, &[]),
            Say::Late(late) => Verdict::Pass(*late),
            Say::Hang => Verdict::Hang,
            Say::Drop => Verdict::Drop,
            Say::Cut(bytes) => Verdict::Cut(*bytes),
        }
    }
}

/// An answer of the API server's form (`metav1.Status`).
fn status(code: u16, reason: &str, message: &str, headers: &[(&str, String)]) -> Verdict {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": reason, "message": message, "code": code,
    });
    let mut all = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    all.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    Verdict::Answer { status: code, headers: all, body: body.to_string().into_bytes() }
}

/// Whether a text is as the pattern says, `*` being any text; without one the pattern must be the beginning.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}
