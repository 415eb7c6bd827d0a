//! A port of this machine that leads to a port of a pod, through the API server. Whoever comes needs the password all the same.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::tap::KubeActs;

/// PostgreSQL's port.
const POSTGRES: u16 = 5432;

/// The bridge; gone when dropped.
pub(super) struct Bridge {
    port: u16,
    last_error: Arc<Mutex<Option<String>>>,
    task: JoinHandle<()>,
}

impl Bridge {
    /// Opens one; the pod is called when somebody comes.
    pub(super) async fn open(kube: Arc<dyn KubeActs>, namespace: String, pod: String) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let last_error = Arc::new(Mutex::new(None));
        let told = Arc::clone(&last_error);
        let task = tokio::spawn(async move {
            let mut carried = tokio::task::JoinSet::new();
            while let Ok((mut local, _)) = listener.accept().await {
                while carried.try_join_next().is_some() {}
                let (kube, namespace, pod, told) = (Arc::clone(&kube), namespace.clone(), pod.clone(), Arc::clone(&told));
                carried.spawn(async move {
                    match kube.forward(&namespace, &pod, POSTGRES).await {
                        Ok(mut stream) => {
                            // Either end may hang up as it likes: PostgreSQL's protocol says its own good-bye.
                            let _ = tokio::io::copy_bidirectional(&mut local, &mut stream).await;
                        }
                        Err(error) => *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string()),
                    }
                });
            }
        });
        Ok(Self { port, last_error, task })
    }

    /// The port on 127.0.0.1.
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Why the pod was not reached, when it was not.
    pub(super) fn last_error(&self) -> Option<String> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.task.abort();
    }
}
