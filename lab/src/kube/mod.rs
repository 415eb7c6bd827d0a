//! A real Kubernetes control plane on loopback: etcd, API server with RBAC, the controllers that a backup
//! conductor meets, scheduler, and kwok in the place of kubelets. No containers run: what must really run for a
//! pod is started by the lab, which then writes the pod's status.
//!
//! What is real: storage, validation, admission, RBAC, tokens, garbage collection, deletion of namespaces, CronJob → Job →
//! Pod, port-forward to a TCP port of this machine, logs from a file. What is not: container runtimes, CNI, CSI.
//!
//! - A pod is Running at once, and a Job's pod succeeds at once. In a namespace whose name begins with [`BY_HAND`], and of a pod with
//!   annotation `lab.dalsegno/by-hand`, nothing happens by itself: the test writes the status.
//! - `pods/NAME:PORT/proxy` reaches what was put there with [`Cluster::route`], whatever the pod's address.
//! - `nodes/NODE/proxy/stats/summary` says what was told to [`Cluster::kubelet`].
//! - [`Cluster::front`] is a second address of the API server, which can be down, slow or rude.

pub(crate) mod apply;
mod crds;
mod front;
mod kubelet;
mod kwok;
mod network;
mod server;
mod setup;

pub use front::{ApiFault, ApiFront, ApiSeen, Say};
pub use kubelet::{Kubelet, KubeletManner, Usage};

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{Api, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::LabError;
use crate::authority::{Authority, use_ring};
use crate::home::Folder;

/// Namespaces whose names begin so are left alone by kwok.
pub const BY_HAND: &str = "hand-";
/// The node on which pods run.
pub const NODE: &str = "lab-node-1";
/// Its address.
const NODE_IP: &str = "10.246.0.1";
/// The group of kwok's kinds.
const KWOK_GROUP: &str = "kwok.x-k8s.io/v1alpha1";

static NEXT: AtomicU32 = AtomicU32::new(1);

/// A running cluster; gone when dropped.
///
/// The order of the fields is the order of their ends: clients first, the API server last but for its store.
#[derive(Debug)]
pub struct Cluster {
    _kwok: crate::Process,
    kubelet: Kubelet,
    planes: server::Planes,
    network: network::PodNetwork,
    authority: Authority,
    folder: Folder,
    port: u16,
    token: String,
}

impl Cluster {
    /// Starts a cluster and waits until pods run in it (about 6 s). CNPG's and the barman plugin's kinds are known to it.
    pub async fn start() -> Result<Cluster, LabError> {
        use_ring();
        let mut last = None;
        // Another process may take a port between our look and a server's bind.
        for _ in 0..2 {
            match setup::start().await {
                Ok(cluster) => return Ok(cluster),
                Err(e) => last = Some(e),
            }
        }
        Err(last.unwrap_or_else(|| LabError::Other("the cluster did not start".into())))
    }

    /// `https://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The certificate of who signed the API server's, as PEM.
    pub fn authority_pem(&self) -> String {
        self.authority.pem()
    }

    /// The administrator's token (group `system:masters`).
    pub fn admin_token(&self) -> &str {
        &self.token
    }

    /// The administrator's kubeconfig file.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("admin.kubeconfig")
    }

    /// A kubeconfig file for a token.
    pub fn kubeconfig_for(&self, token: &str) -> Result<PathBuf, LabError> {
        self.write_kubeconfig(&format!("user-{}.kubeconfig", NEXT.fetch_add(1, Ordering::Relaxed)), &self.url(), token)
    }

    /// A kubeconfig file for any address of this API server.
    pub(crate) fn write_kubeconfig(&self, name: &str, url: &str, token: &str) -> Result<PathBuf, LabError> {
        let file = self.folder.path().join(name);
        write_kubeconfig(&file, url, &self.folder.path().join("ca.crt"), token)?;
        Ok(file)
    }

    /// A new client of the administrator, for the runtime that calls (a client does not outlive its runtime).
    pub async fn client(&self) -> Result<Client, LabError> {
        self.client_for(&self.token).await
    }

    /// A new client with a token.
    pub async fn client_for(&self, token: &str) -> Result<Client, LabError> {
        client(&self.url(), &self.folder.path().join("ca.crt"), token).await
    }

    /// A token of a service account, which the API server signs; good for an hour.
    pub async fn token(&self, namespace: &str, service_account: &str) -> Result<String, LabError> {
        let api: Api<ServiceAccount> = Api::namespaced(self.client().await?, namespace);
        let spec = TokenRequestSpec { audiences: Vec::new(), expiration_seconds: Some(3600), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let answer = api.create_token_request(service_account, &PostParams::default(), &request).await?;
        answer
            .status
            .map(|status| status.token)
            .ok_or_else(|| LabError::Other(format!("no token for {namespace}/{service_account}")))
    }

    /// Makes a namespace that no other test uses, named `<prefix>-<n>`, ready for pods.
    pub async fn fresh_namespace(&self, prefix: &str) -> Result<String, LabError> {
        let name = format!("{prefix}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.namespace(&name).await?;
        Ok(name)
    }

    /// Makes a namespace unless it is there, and waits for its default service account, without which no pod is admitted.
    pub async fn namespace(&self, name: &str) -> Result<(), LabError> {
        let client = self.client().await?;
        let api: Api<Namespace> = Api::all(client.clone());
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        match api.create(&PostParams::default(), &Namespace { metadata, ..Namespace::default() }).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(e) => return Err(e.into()),
        }
        let accounts: Api<ServiceAccount> = Api::namespaced(client, name);
        let until = Instant::now() + Duration::from_secs(30);
        while accounts.get_opt("default").await?.is_none() {
            if Instant::now() > until {
                return Err(self.not_ready("the default service account", 30));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// The kubelet of the node on which pods run.
    pub fn kubelet(&self) -> &Kubelet {
        &self.kubelet
    }

    /// A further node, with a kubelet of its own; kwok leaves it and its pods alone.
    pub async fn add_node(&self, name: &str) -> Result<Kubelet, LabError> {
        kubelet::add(self, name).await
    }

    /// A second address of the API server, which can be down, slow or rude.
    pub fn front(&self) -> Result<ApiFront, LabError> {
        ApiFront::start(self)
    }

    /// From now on `pods/…:<port>/proxy` of a pod with this address reaches the port of this machine.
    pub fn route(&self, pod_ip: &str, port: u16, local: u16) {
        self.network.route(pod_ip, port, local);
    }

    /// No more: whoever asks is told that there is no route.
    pub fn unroute(&self, pod_ip: &str, port: u16) {
        self.network.unroute(pod_ip, port);
    }

    /// An address for a pod that nobody else has, for a pod whose status the test writes.
    pub fn fresh_pod_ip(&self) -> String {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        format!("10.245.{}.{}", n / 250 % 250, n % 250 + 1)
    }

    /// The end of the logs of its programs.
    pub fn logs(&self) -> String {
        self.planes.logs()
    }

    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn api_port(&self) -> u16 {
        self.port
    }

    pub(crate) fn not_ready(&self, server: &str, seconds: u64) -> LabError {
        LabError::NotReady { server: server.to_owned(), seconds, log: self.logs() }
    }
}

/// One cluster for all tests of this process (each takes a [`Cluster::fresh_namespace`]).
pub async fn shared() -> Result<&'static Cluster, LabError> {
    static SHARED: tokio::sync::OnceCell<Cluster> = tokio::sync::OnceCell::const_new();
    SHARED.get_or_try_init(Cluster::start).await
}

fn write_kubeconfig(file: &Path, url: &str, authority: &Path, token: &str) -> Result<(), LabError> {
    let text = format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: lab\n  cluster:\n    server: {url}\n    certificate-authority: {authority}\n\
         users:\n- name: lab\n  user:\n    token: {token}\ncontexts:\n- name: lab\n  context:\n    cluster: lab\n    user: lab\n\
         current-context: lab\n",
        authority = authority.display(),
    );
    fs::write(file, text).map_err(LabError::file(file))
}

async fn client(url: &str, authority: &Path, token: &str) -> Result<Client, LabError> {
    use_ring();
    let authority = fs::read_to_string(authority).map_err(LabError::file(authority))?;
    let text = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": {"server": url}}],
        "users": [{"name": "lab", "user": {"token": token}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
    });
    let wrong = |e: &dyn std::fmt::Display| LabError::Other(format!("a kubeconfig of the lab: {e}"));
    let kubeconfig = Kubeconfig::from_yaml(&text.to_string()).map_err(|e| wrong(&e))?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(|e| wrong(&e))?;
    config.root_cert = Some(certificates(&authority)?);
    // What the API server answers is what the test sees.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

fn certificates(pem: &str) -> Result<Vec<Vec<u8>>, LabError> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .map(|one| one.map(|der| der.as_ref().to_vec()))
        .collect::<Result<_, _>>()
        .map_err(|e| LabError::Other(format!("the lab's authority: {e:?}")))
}
