//! Kubelets as the API server sees them through `nodes/NODE/proxy`: the summary of statistics with numbers
//! that the test sets. What else is asked of the kubelet of kwok's nodes (port-forward, logs) goes on to kwok.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::apply::apply_value;
use super::{Cluster, NODE};
use crate::LabError;
use crate::authority::Authority;
use crate::front::{Front, Head, Upstream, Verdict};

/// The port of every kubelet.
pub(super) const KUBELET_PORT: u16 = 10250;

/// What a kubelet says of a volume; what is `None` is left out of its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Size of the file system in bytes.
    pub capacity: Option<u64>,
    /// Bytes that can still be written.
    pub available: Option<u64>,
    /// Bytes in use; with the reserve of ext4 the sum is less than the capacity.
    pub used: Option<u64>,
}

impl Usage {
    /// A volume of this size with so much left, no reserve.
    pub fn of(capacity: u64, available: u64) -> Usage {
        Usage { capacity: Some(capacity), available: Some(available), used: Some(capacity.saturating_sub(available)) }
    }
}

/// How a kubelet answers to the question for its summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KubeletManner {
    /// As it should.
    #[default]
    Fine,
    /// With this status.
    Status(u16),
    /// Never.
    Hang,
}

#[derive(Debug, Default)]
struct State {
    manner: KubeletManner,
    asked: u64,
    /// Namespace, pod, volume → claim and usage.
    volumes: BTreeMap<(String, String, String), (String, Usage)>,
}

/// A running kubelet; gone when dropped.
#[derive(Debug)]
pub struct Kubelet {
    front: Front,
    state: Arc<Mutex<State>>,
    node: String,
}

impl Kubelet {
    /// Of kwok's nodes.
    pub(super) fn before(authority: &Authority, kwok: u16) -> Result<Kubelet, LabError> {
        let upstream = Upstream { address: ([127, 0, 0, 1], kwok).into(), tls: Some(authority.connector()?) };
        Kubelet::start(authority, NODE, Some(upstream))
    }

    fn start(authority: &Authority, node: &str, upstream: Option<Upstream>) -> Result<Kubelet, LabError> {
        let state = Arc::new(Mutex::new(State::default()));
        let (shared, name) = (Arc::clone(&state), node.to_owned());
        let identity = authority.server(&["127.0.0.1", "localhost"])?;
        let judge = Arc::new(move |head: &Head| shared.lock().unwrap_or_else(PoisonError::into_inner).judge(head, &name));
        let front = Front::start(Some(identity.acceptor()?), upstream, judge)?;
        Ok(Kubelet { front, state, node: node.to_owned() })
    }

    /// The name of its node.
    pub fn node(&self) -> &str {
        &self.node
    }

    pub(super) fn port(&self) -> u16 {
        self.front.port()
    }

    /// Says this of a volume of a pod that uses a claim.
    pub fn set_volume(&self, namespace: &str, pod: &str, volume: &str, claim: &str, usage: Usage) {
        let key = (namespace.to_owned(), pod.to_owned(), volume.to_owned());
        self.state.lock().unwrap_or_else(PoisonError::into_inner).volumes.insert(key, (claim.to_owned(), usage));
    }

    /// Says no more of a pod.
    pub fn forget_pod(&self, namespace: &str, pod: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.volumes.retain(|(ns, name, _), _| ns != namespace || name != pod);
    }

    /// Changes how it answers from now on.
    pub fn answer(&self, manner: KubeletManner) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).manner = manner;
    }

    /// How often it was asked for its summary.
    pub fn asked(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).asked
    }
}

impl State {
    fn judge(&mut self, head: &Head, node: &str) -> Verdict {
        if head.target.split('?').next() != Some("/stats/summary") {
            return Verdict::Pass(Duration::ZERO);
        }
        self.asked += 1;
        let answer = |status: u16, body: String| Verdict::Answer {
            status,
            headers: vec![("Content-Type".into(), "application/json".into())],
            body: body.into_bytes(),
        };
        match self.manner {
            KubeletManner::Fine => answer(200, self.summary(node).to_string()),
            KubeletManner::Status(status) => answer(status, "as the lab was told".into()),
            KubeletManner::Hang => Verdict::Hang,
        }
    }

    /// The parts of `stats/v1alpha1.Summary` that tell of volumes
    /// (<https://kubernetes.io/docs/reference/instrumentation/node-metrics/>).
    fn summary(&self, node: &str) -> Value {
        let now = Timestamp::now().to_string();
        let mut pods: BTreeMap<(&str, &str), Vec<Value>> = BTreeMap::new();
        for ((namespace, pod, volume), (claim, usage)) in &self.volumes {
            let mut one = json!({"time": now, "name": volume, "pvcRef": {"name": claim, "namespace": namespace}});
            let numbers = [("capacityBytes", usage.capacity), ("availableBytes", usage.available), ("usedBytes", usage.used)];
            if let Some(map) = one.as_object_mut() {
                for (name, number) in numbers {
                    if let Some(number) = number {
                        map.insert(name.to_owned(), number.into());
                    }
                }
            }
            pods.entry((namespace, pod)).or_default().push(one);
        }
        let pods: Vec<Value> = pods
            .into_iter()
            .map(|((namespace, pod), volume)| json!({"podRef": {"name": pod, "namespace": namespace, "uid": ""}, "volume": volume}))
            .collect();
        json!({"node": {"nodeName": node}, "pods": pods})
    }
}

/// Makes a node and its kubelet.
pub(super) async fn add(cluster: &Cluster, name: &str) -> Result<Kubelet, LabError> {
    let kubelet = Kubelet::start(cluster.authority(), name, None)?;
    let address = cluster.fresh_pod_ip();
    cluster.route(&address, KUBELET_PORT, kubelet.port());
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "status": {
            "addresses": [{"type": "InternalIP", "address": address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": KUBELET_PORT}},
            "conditions": [{"type": "Ready", "status": "True", "reason": "Lab", "message": ""}],
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "100"},
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "100"},
        },
    });
    apply_value(&cluster.client().await?, node).await?;
    Ok(kubelet)
}
