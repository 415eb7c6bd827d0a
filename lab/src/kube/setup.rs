//! The steps from nothing to a cluster in which pods run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::api::Api;
use ring::rand::{SecureRandom, SystemRandom};

use super::kubelet::KUBELET_PORT;
use super::network::PodNetwork;
use super::server::{Places, Planes};
use super::{Cluster, Kubelet, NODE, NODE_IP, client, crds, kwok, write_kubeconfig};
use crate::authority::Authority;
use crate::home::Folder;
use crate::{LabError, ports};

const READY: Duration = Duration::from_mins(1);

pub(super) async fn start() -> Result<Cluster, LabError> {
    let folder = Folder::new("kube")?;
    let ports = ports::free(4)?;
    let &[api_port, etcd_port, etcd_peers, kwok_port] = ports.as_slice() else {
        return Err(LabError::Other("four ports were asked for".into()));
    };
    let authority = Authority::new()?;
    let token = secret()?;
    write_files(folder.path(), &authority, &token)?;
    let url = format!("https://127.0.0.1:{api_port}");
    let ca = folder.path().join("ca.crt");
    write_kubeconfig(&folder.path().join("admin.kubeconfig"), &url, &ca, &token)?;
    let network = PodNetwork::start(folder.path())?;
    let kubelet = Kubelet::before(&authority, kwok_port)?;
    let places = Places { folder: folder.path(), api_port, etcd_port, etcd_peers };
    let mut planes = Planes::default();
    planes.start_api(&places)?;
    wait_serving(&mut planes, &url, &ca, &token).await?;
    let admin = client(&url, &ca, &token).await?;
    // Kinds first: the garbage collector knows at once what is there when it starts, and later ones after half a minute.
    crds::install(&admin).await?;
    planes.start_others(&places)?;
    kwok::make_node(&admin, NODE).await?;
    network.route(NODE_IP, KUBELET_PORT, kubelet.port());
    let kwok = kwok::start(folder.path(), kwok_port)?;
    let cluster = Cluster { _kwok: kwok, kubelet, planes, network, authority, folder, port: api_port, token };
    wait_living(&cluster, &admin).await?;
    Ok(cluster)
}

/// The administrator's token: 32 hexadecimal digits.
fn secret() -> Result<String, LabError> {
    let mut bytes = [0u8; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| LabError::Other("no random bytes".into()))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

fn write_files(folder: &Path, authority: &Authority, token: &str) -> Result<(), LabError> {
    let accounts = rcgen::KeyPair::generate().map_err(|e| LabError::Other(format!("a key for service accounts: {e}")))?;
    let server = authority.server(&["127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"])?;
    let files = [
        ("ca.crt", authority.pem()),
        ("server.crt", server.certificate),
        ("server.key", server.key),
        ("accounts.pub", accounts.public_key_pem()),
        ("accounts.key", accounts.serialize_pem()),
        ("tokens.csv", format!("{token},lab-admin,1,\"system:masters\"\n")),
    ];
    for (name, text) in files {
        let file = folder.join(name);
        fs::write(&file, text).map_err(LabError::file(&file))?;
        if name != "ca.crt" {
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).map_err(LabError::file(&file))?;
        }
    }
    Ok(())
}

async fn wait_serving(planes: &mut Planes, url: &str, ca: &Path, token: &str) -> Result<(), LabError> {
    let client = client(url, ca, token).await?;
    let until = Instant::now() + READY;
    while Instant::now() < until && planes.run() {
        let request = axum::http::Request::get("/readyz").body(Vec::new());
        let request = request.map_err(|e| LabError::Other(e.to_string()))?;
        if client.request_text(request).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(LabError::NotReady { server: "the API server".into(), seconds: READY.as_secs(), log: planes.logs() })
}

/// The node is Ready (kwok works) and namespaces get their service accounts (the controllers work).
async fn wait_living(cluster: &Cluster, client: &kube::Client) -> Result<(), LabError> {
    let nodes: Api<Node> = Api::all(client.clone());
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let until = Instant::now() + READY;
    while Instant::now() < until {
        let node = nodes.get(NODE).await?;
        let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
        let ready = conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True");
        if ready && accounts.get_opt("default").await?.is_some() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(cluster.not_ready("node and controllers", READY.as_secs()))
}
