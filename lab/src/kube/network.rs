//! The network of nodes and pods, as far as the API server uses it: every connection that it makes into the
//! cluster (kubelets, `…/proxy` of pods) goes through a CONNECT proxy on a unix socket, its *egress selector*, and that knows
//! which port of this machine stands for which address
//! (<https://kubernetes.io/docs/tasks/extend-kubernetes/setup-konnectivity/>). So addresses are those of a real cluster,
//! which the API server wants: it refuses to proxy to loopback.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener, UnixStream};

use crate::{LabError, background};

/// Names of the socket and of the API server's file about it.
const SOCKET: &str = "network.sock";
pub(super) const EGRESS: &str = "egress.yaml";

type Routes = Arc<Mutex<HashMap<(String, u16), u16>>>;

/// The running proxy.
#[derive(Debug)]
pub(super) struct PodNetwork {
    routes: Routes,
    task: tokio::task::JoinHandle<()>,
}

impl PodNetwork {
    /// Starts it in the cluster's folder, and writes the file by which the API server finds it.
    pub(super) fn start(folder: &Path) -> Result<PodNetwork, LabError> {
        let socket = folder.join(SOCKET);
        let file = folder.join(EGRESS);
        let text = format!(
            "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n- name: cluster\n  connection:\n    \
             proxyProtocol: HTTPConnect\n    transport:\n      uds:\n        udsName: {}\n",
            socket.display()
        );
        fs::write(&file, text).map_err(LabError::file(&file))?;
        let listener = std::os::unix::net::UnixListener::bind(&socket).map_err(LabError::file(&socket))?;
        listener.set_nonblocking(true).map_err(LabError::file(&socket))?;
        let routes = Routes::default();
        let shared = Arc::clone(&routes);
        let task = background()?.spawn(async move {
            let Ok(listener) = UnixListener::from_std(listener) else { return };
            let mut open = tokio::task::JoinSet::new();
            loop {
                let Ok((client, _)) = listener.accept().await else { continue };
                while open.try_join_next().is_some() {}
                let routes = Arc::clone(&shared);
                open.spawn(async move {
                    let _ = carry(client, &routes).await; // either side may end it
                });
            }
        });
        Ok(PodNetwork { routes, task })
    }

    pub(super) fn route(&self, address: &str, port: u16, local: u16) {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner).insert((address.to_owned(), port), local);
    }

    pub(super) fn unroute(&self, address: &str, port: u16) {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner).remove(&(address.to_owned(), port));
    }
}

impl Drop for PodNetwork {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(mut client: UnixStream, routes: &Routes) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > 4096 || client.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let target = text.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
    let target =
        target.and_then(|t| t.rsplit_once(':')).and_then(|(host, port)| Some((host.to_owned(), port.parse::<u16>().ok()?)));
    let local = target.and_then(|target| routes.lock().unwrap_or_else(PoisonError::into_inner).get(&target).copied());
    let server = match local {
        Some(local) => TcpStream::connect(("127.0.0.1", local)).await.ok(),
        None => None,
    };
    let Some(mut server) = server else {
        return client.write_all(b"HTTP/1.1 502 no route to host\r\nContent-Length: 0\r\n\r\n").await;
    };
    let _ = server.set_nodelay(true);
    client.write_all(b"HTTP/1.1 200 connected\r\n\r\n").await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await.map(|_| ())
}
