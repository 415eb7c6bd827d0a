//! The live form of [`KubeCalls`] and [`KubeActs`]: the only user of the kube client.
//!
//! Connects when it is first asked, so that a kubeconfig that cannot be read costs the looks that need it and nothing else. What may
//! pass (429, 5xx, a connection that was cut) is asked again; a read that timed out is not, its time is gone. A change is asked again
//! only after 429: the server says that it did nothing. After 401 the credentials are read again, once.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, LogParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use kube::client::{AuthError, Body};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Request;
use kube::{Api, Client, Config, Error};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;

use super::failure::read_chain;
use super::{
    CallError, FailureKind, KubeAbout, KubeActs, KubeAsk, KubeCalls, KubeCounts, KubeDelete, KubePage, KubeStream, Resource,
};

/// An answer of an API server is not larger than this: a page holds at most as many objects as we ask for.
const LARGEST_ANSWER: usize = 64 << 20;

/// How to reach an API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeAccess {
    /// A kubeconfig file; `None` = the service account of the pod that we run in.
    pub kubeconfig: Option<PathBuf>,
    /// A context of that file; `None` = its current one.
    pub context: Option<String>,
}

/// How patient the live form is.
#[derive(Clone, Copy, Debug)]
pub struct KubeLimits {
    /// Time to connect.
    pub connect: Duration,
    /// Time for one try of a call, its whole answer included.
    pub call: Duration,
    /// Tries of a call.
    pub attempts: u32,
    /// The longest wait between two tries. A server that asks for more is not waited for.
    pub wait: Duration,
}

impl Default for KubeLimits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), call: Duration::from_secs(20), attempts: 4, wait: Duration::from_secs(10) }
    }
}

/// The live form.
pub struct LiveKube {
    access: KubeAccess,
    limits: KubeLimits,
    client: Mutex<Option<Client>>,
    counts: [AtomicU64; KINDS],
}

#[derive(Clone, Copy)]
enum Kind {
    About,
    Page,
    Get,
    Log,
    Proxied,
    Act,
    Repeat,
}

const KINDS: usize = 7;

/// What is asked, before it is a request.
struct Ask {
    kind: Kind,
    path: String,
    what: What,
}

enum What {
    Get,
    Create(Vec<u8>),
    Patch(Value),
    Delete(Box<DeleteParams>),
}

impl Ask {
    const fn get(kind: Kind, path: String) -> Self {
        Self { kind, path, what: What::Get }
    }

    /// Whether the same may be asked again after this failure.
    fn may_repeat(&self, error: &CallError) -> bool {
        let reads = matches!(self.what, What::Get);
        match (error.kind, error.status) {
            (_, Some(429)) => true,
            (_, Some(500 | 502 | 503 | 504)) | (FailureKind::Reset | FailureKind::Cut, None) => reads,
            _ => false,
        }
    }
}

impl LiveKube {
    /// Makes no call.
    pub fn new(access: KubeAccess, limits: KubeLimits) -> Self {
        Self { access, limits, client: Mutex::new(None), counts: Default::default() }
    }

    fn count(&self, kind: Kind) {
        if let Some(count) = self.counts.get(kind as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn counted(&self, kind: Kind) -> u64 {
        self.counts.get(kind as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    async fn client(&self) -> Result<Client, CallError> {
        let mut held = self.client.lock().await;
        if let Some(client) = held.as_ref() {
            return Ok(client.clone());
        }
        let mut config = self.config().await?;
        config.connect_timeout = Some(self.limits.connect);
        // One place repeats: the loop below, which knows what may be asked twice.
        config.default_retry = false;
        // A credential plugin of the kubeconfig is a process, and is waited for.
        let made = tokio::task::spawn_blocking(move || Client::try_from(config)).await;
        let client =
            made.map_err(|error| CallError::new(FailureKind::NotSent, error.to_string()))?.map_err(|error| failed(&error))?;
        *held = Some(client.clone());
        Ok(client)
    }

    async fn config(&self) -> Result<Config, CallError> {
        let not_sent = |text: String| CallError::new(FailureKind::NotSent, text);
        let Some(path) = &self.access.kubeconfig else {
            return Config::incluster().map_err(|error| not_sent(format!("not inside a cluster: {error}")));
        };
        let file = path.clone();
        let read = tokio::task::spawn_blocking(move || Kubeconfig::read_from(file)).await;
        let kubeconfig = read
            .map_err(|error| not_sent(error.to_string()))?
            .map_err(|error| not_sent(format!("{}: {error}", path.display())))?;
        let options = KubeConfigOptions { context: self.access.context.clone(), ..KubeConfigOptions::default() };
        Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(|error| not_sent(format!("{}: {error}", path.display())))
    }

    /// Asks, and asks again what may pass.
    async fn call(&self, ask: &Ask) -> Result<Bytes, CallError> {
        self.count(ask.kind);
        let mut renewed = false;
        let mut tried = 0;
        loop {
            tried += 1;
            let error = match self.once(ask).await {
                Ok(bytes) => return Ok(bytes),
                Err(error) => error.with(|broken| broken.attempts = tried),
            };
            if error.status == Some(401) && !renewed {
                // A token that ran out, or was rotated a moment ago.
                renewed = true;
                *self.client.lock().await = None;
                self.count(Kind::Repeat);
                continue;
            }
            let wait =
                error.retry_after.map_or_else(|| Duration::from_millis(250) * 2_u32.pow(tried.min(6)), Duration::from_secs);
            if tried >= self.limits.attempts || wait > self.limits.wait || !ask.may_repeat(&error) {
                return Err(error);
            }
            self.count(Kind::Repeat);
            tokio::time::sleep(wait).await;
        }
    }

    async fn once(&self, ask: &Ask) -> Result<Bytes, CallError> {
        let client = self.client().await?;
        let request = {
            let not_sent = |text: String| CallError::new(FailureKind::NotSent, text);
            let base = Request::new("/api/v1/pods");
            let made = match &ask.what {
                // The one reading form that names no media type: logs and metrics are not JSON.
                What::Get => base.logs("x", &LogParams::default()),
                What::Create(body) => base.create(&PostParams::default(), body.clone()),
                What::Patch(patch) => base.patch("x", &PatchParams::default(), &Patch::Merge(patch)),
                What::Delete(how) => base.delete("x", how),
            };
            let mut request = made.map_err(|error| not_sent(error.to_string()))?;
            *request.uri_mut() = ask.path.parse().map_err(|error| not_sent(format!("{}: {error}", ask.path)))?;
            request.map(Body::from)
        };
        let answer = async {
            let response = client.send(request).await.map_err(|error| failed(&error))?;
            let status = response.status().as_u16();
            let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
            let body = axum::body::to_bytes(axum::body::Body::new(response.into_body()), LARGEST_ANSWER).await;
            let body = body.map_err(|error| {
                let (kind, words) = read_chain(&error);
                CallError::new(kind.unwrap_or(FailureKind::Cut), words)
            })?;
            if (200..300).contains(&status) { Ok(body) } else { Err(refused(status, retry_after, &body)) }
        };
        tokio::time::timeout(self.limits.call, answer).await.unwrap_or_else(|_| {
            let detail = format!("no whole answer within {} s", self.limits.call.as_secs());
            Err(CallError::new(FailureKind::Timeout, detail))
        })
    }

    async fn json<T: serde::de::DeserializeOwned>(&self, ask: &Ask) -> Result<T, CallError> {
        let body = self.call(ask).await?;
        serde_json::from_slice(&body).map_err(|error| CallError::new(FailureKind::Malformed, format!("{}: {error}", ask.path)))
    }
}

/// `metav1.Status`, as far as it is read: <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    message: String,
    reason: String,
    details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    retry_after_seconds: Option<u64>,
}

fn refused(status: u16, retry_after: Option<u64>, body: &[u8]) -> CallError {
    let said: Status = serde_json::from_slice(body).unwrap_or_default();
    let words = if said.message.is_empty() {
        // A proxy, a load balancer, a pod: the beginning of what it says.
        String::from_utf8_lossy(body).trim().chars().take(300).collect()
    } else {
        said.message
    };
    let detail = if words.is_empty() { format!("HTTP {status}") } else { words };
    let code = Some(said.reason).filter(|reason| !reason.is_empty());
    CallError::answered(status, code, detail).with(|broken| broken.retry_after = retry_after.or(said.details.retry_after_seconds))
}

fn failed(error: &Error) -> CallError {
    if let Error::Auth(AuthError::AuthExecRun { cmd, out }) = error {
        // What the plugin printed may be a token.
        let detail = format!("the credential plugin \"{cmd}\" of the kubeconfig ended with {}", out.status);
        return CallError::new(FailureKind::NotSent, detail);
    }
    let (kind, words) = read_chain(error);
    let otherwise = match error {
        Error::Auth(_) | Error::HttpError(_) | Error::TlsRequired => FailureKind::NotSent,
        Error::RustlsTls(_) => FailureKind::Tls,
        _ => FailureKind::Reset,
    };
    CallError::new(kind.unwrap_or(otherwise), words)
}

/// Percent-encodes what may stand in a path segment or a query value.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn path_of(of: &Resource, namespace: Option<&str>, name: Option<&str>) -> String {
    let mut path = of.base_path();
    if let Some(namespace) = namespace {
        path.push_str("/namespaces/");
        path.push_str(&encoded(namespace));
    }
    path.push('/');
    path.push_str(&encoded(&of.plural));
    if let Some(name) = name {
        path.push('/');
        path.push_str(&encoded(name));
    }
    path
}

fn query(pairs: &[(&str, Option<String>)]) -> String {
    let set: Vec<String> =
        pairs.iter().filter_map(|(name, value)| Some(format!("{name}={}", encoded(value.as_deref()?)))).collect();
    if set.is_empty() { String::new() } else { format!("?{}", set.join("&")) }
}

/// `/apis`.
#[derive(Deserialize)]
struct Groups {
    #[serde(default)]
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    name: String,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

#[derive(Deserialize)]
struct About {
    #[serde(default, rename = "gitVersion")]
    git_version: String,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: ListMeta,
    /// Absent or null: the kind has none.
    items: Option<Vec<Value>>,
}

#[derive(Default, Deserialize)]
struct ListMeta {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

#[async_trait]
impl KubeCalls for LiveKube {
    async fn about(&self) -> Result<KubeAbout, CallError> {
        let about: About = self.json(&Ask::get(Kind::About, "/version".to_owned())).await?;
        let groups: Groups = self.json(&Ask::get(Kind::About, "/apis".to_owned())).await?;
        let versions = |group: Group| (group.name, group.versions.into_iter().map(|of| of.version).collect());
        Ok(KubeAbout { version: about.git_version, groups: groups.groups.into_iter().map(versions).collect() })
    }

    async fn list(&self, of: &Resource, ask: &KubeAsk) -> Result<KubePage, CallError> {
        let query = query(&[
            ("labelSelector", ask.labels.clone()),
            ("fieldSelector", ask.fields.clone()),
            ("limit", ask.limit.map(|limit| limit.to_string())),
            ("continue", ask.token.clone()),
        ]);
        let path = format!("{}{query}", path_of(of, ask.namespace.as_deref(), None));
        let list: List = self.json(&Ask::get(Kind::Page, path)).await?;
        Ok(KubePage { items: list.items.unwrap_or_default(), next: list.metadata.next.filter(|next| !next.is_empty()) })
    }

    async fn get(&self, of: &Resource, namespace: Option<&str>, name: &str) -> Result<Value, CallError> {
        self.json(&Ask::get(Kind::Get, path_of(of, namespace, Some(name)))).await
    }

    async fn log(&self, namespace: &str, pod: &str, container: &str, lines: u32) -> Result<String, CallError> {
        let of = Resource::new("", "v1", "pods");
        let query = query(&[("container", Some(container.to_owned())), ("tailLines", Some(lines.to_string()))]);
        let path = format!("{}/log{query}", path_of(&of, Some(namespace), Some(pod)));
        let body = self.call(&Ask::get(Kind::Log, path)).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    async fn pod_proxy(&self, namespace: &str, pod: &str, port: &str, path: &str) -> Result<Bytes, CallError> {
        let target = match port.split_once(':') {
            Some((scheme, port)) => format!("{scheme}:{pod}:{port}"),
            None => format!("{pod}:{port}"),
        };
        let of = Resource::new("", "v1", "pods");
        // The colons are part of the name here; the server takes them as they are, and encoded.
        let path = format!("{}/{target}/proxy/{path}", path_of(&of, Some(namespace), None));
        self.call(&Ask::get(Kind::Proxied, path)).await
    }

    async fn node_proxy(&self, node: &str, path: &str) -> Result<Bytes, CallError> {
        let of = Resource::new("", "v1", "nodes");
        let path = format!("{}/proxy/{path}", path_of(&of, None, Some(node)));
        self.call(&Ask::get(Kind::Proxied, path)).await
    }

    fn counts(&self) -> KubeCounts {
        KubeCounts {
            about: self.counted(Kind::About),
            pages: self.counted(Kind::Page),
            gets: self.counted(Kind::Get),
            logs: self.counted(Kind::Log),
            proxied: self.counted(Kind::Proxied),
            acts: self.counted(Kind::Act),
            repeats: self.counted(Kind::Repeat),
        }
    }
}

/// Fields of ours are owned under this name.
const FIELD_MANAGER: &str = "dalsegno";

#[async_trait]
impl KubeActs for LiveKube {
    async fn create(&self, of: &Resource, namespace: Option<&str>, object: &Value, dry_run: bool) -> Result<Value, CallError> {
        let query = query(&[
            ("fieldManager", Some(FIELD_MANAGER.to_owned())),
            ("fieldValidation", Some("Strict".to_owned())),
            ("dryRun", dry_run.then(|| "All".to_owned())),
        ]);
        let path = format!("{}{query}", path_of(of, namespace, None));
        let body = serde_json::to_vec(object).map_err(|error| CallError::new(FailureKind::NotSent, error.to_string()))?;
        self.json(&Ask { kind: Kind::Act, path, what: What::Create(body) }).await
    }

    async fn patch(
        &self,
        of: &Resource,
        namespace: Option<&str>,
        name: &str,
        subresource: Option<&str>,
        patch: &Value,
    ) -> Result<Value, CallError> {
        let below = subresource.map(|of| format!("/{}", encoded(of))).unwrap_or_default();
        let query = query(&[("fieldManager", Some(FIELD_MANAGER.to_owned()))]);
        let target = format!("{}{below}{query}", path_of(of, namespace, Some(name)));
        self.json(&Ask { kind: Kind::Act, path: target, what: What::Patch(patch.clone()) }).await
    }

    async fn delete(&self, of: &Resource, namespace: Option<&str>, name: &str, how: &KubeDelete) -> Result<(), CallError> {
        let propagation_policy = match how.propagation {
            "Foreground" => PropagationPolicy::Foreground,
            "Orphan" => PropagationPolicy::Orphan,
            _ => PropagationPolicy::Background,
        };
        let params = DeleteParams {
            propagation_policy: Some(propagation_policy),
            preconditions: Some(Preconditions { uid: Some(how.uid.clone()), ..Preconditions::default() }),
            ..DeleteParams::default()
        };
        let ask = Ask { kind: Kind::Act, path: path_of(of, namespace, Some(name)), what: What::Delete(Box::new(params)) };
        self.call(&ask).await.map(drop)
    }

    async fn forward(&self, namespace: &str, pod: &str, port: u16) -> Result<Box<dyn KubeStream>, CallError> {
        self.count(Kind::Act);
        let client = self.client().await?;
        let pods: Api<Pod> = Api::namespaced(client, namespace);
        let opened = tokio::time::timeout(self.limits.call, pods.portforward(pod, &[port])).await;
        let late = || CallError::new(FailureKind::Timeout, format!("no stream to {namespace}/{pod}:{port} in time"));
        let mut forwarder = opened.map_err(|_| late())?.map_err(|error| match &error {
            Error::Api(status) => {
                CallError::answered(status.code, Some(status.reason.clone()), format!("{namespace}/{pod}: {}", status.message))
            }
            _ => failed(&error),
        })?;
        let stream = forwarder.take_stream(port);
        let stream = stream.ok_or_else(|| CallError::new(FailureKind::Malformed, "the stream was not opened"))?;
        Ok(Box::new(stream))
    }
}
