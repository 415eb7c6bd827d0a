//! kwok stands in for kubelets. Its stages are ours: nodes are Ready, pods Running and Jobs' pods done at once,
//! except for those that a test wants to move by hand.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use kube::Client;
use nix::sys::signal::Signal;
use serde_json::json;

use super::apply::apply_value;
use super::kubelet::KUBELET_PORT;
use super::{BY_HAND, Cluster, KWOK_GROUP, NODE_IP};
use crate::{LabError, Process, Tool, User};

/// Nodes with this label are kwok's.
const LABEL: &str = "lab.dalsegno/kwok";

/// Makes a node that kwok keeps alive.
pub(super) async fn make_node(client: &Client, name: &str) -> Result<(), LabError> {
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            LABEL: "true", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        }},
    });
    apply_value(client, node).await.map(|_| ())
}

/// Starts it. Its own server listens on `port`; what its nodes say of their kubelet leads to ours, which passes on what is not its own.
pub(super) fn start(folder: &Path, port: u16) -> Result<Process, LabError> {
    let file = folder.join("kwok.yaml");
    fs::write(&file, stages()).map_err(LabError::file(&file))?;
    let mut command = Command::new(Tool::Kwok.find()?);
    command.arg("--kubeconfig").arg(folder.join("admin.kubeconfig"));
    command.args(["--manage-all-nodes=false", &format!("--manage-nodes-with-label-selector={LABEL}=true")]);
    command.args([
        &format!("--node-ip={NODE_IP}"),
        &format!("--node-port={KUBELET_PORT}"),
        &format!("--server-address=127.0.0.1:{port}"),
    ]);
    command.arg("--tls-cert-file").arg(folder.join("server.crt"));
    command.arg("--tls-private-key-file").arg(folder.join("server.key"));
    command.args(["--enable-crds=PortForward,Logs,ClusterPortForward,ClusterLogs", "--cidr=10.244.0.1/16"]);
    command.arg("--config").arg(&file).current_dir(folder).env("HOME", folder);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "KUBECONFIG"] {
        command.env_remove(name);
    }
    Process::spawn(command, &folder.join("kwok.log"), Signal::SIGKILL, User::same())
}

/// A stage: of which kind, when, and what is then.
struct Stage {
    name: &'static str,
    kind: &'static str,
    when: Vec<(String, &'static str, &'static [&'static str])>,
    then: &'static str,
}

const NODE_STATUS: &str = r#"
conditions:
{{ range NodeConditions }}
- type: {{ .type | Quote }}
  status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}
  lastHeartbeatTime: {{ Now | Quote }}
  lastTransitionTime: {{ Now | Quote }}
{{ end }}
addresses:
- {type: InternalIP, address: {{ NodeIP | Quote }}}
daemonEndpoints:
  kubeletEndpoint:
    Port: {{ NodePort }}
allocatable: {cpu: "64", memory: 256Gi, pods: "1000"}
capacity: {cpu: "64", memory: 256Gi, pods: "1000"}
nodeInfo:
  architecture: amd64
  operatingSystem: linux
  bootID: ""
  machineID: ""
  systemUUID: ""
  osImage: ""
  kernelVersion: ""
  kubeProxyVersion: ""
  kubeletVersion: lab
  containerRuntimeVersion: lab
phase: Running
"#;

const POD_RUNNING: &str = r#"
phase: Running
startTime: {{ Now | Quote }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
podIP: {{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) | Quote }}
conditions:
- {type: Initialized, status: "True", lastTransitionTime: {{ Now | Quote }}}
- {type: ContainersReady, status: "True", lastTransitionTime: {{ Now | Quote }}}
- {type: Ready, status: "True", lastTransitionTime: {{ Now | Quote }}}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: true
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ Now | Quote }}}}
{{ end }}
initContainerStatuses:
{{ range .spec.initContainers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: true
  restartCount: 0
  {{ if eq .restartPolicy "Always" }}
  started: true
  state: {running: {startedAt: {{ Now | Quote }}}}
  {{ else }}
  state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ Now | Quote }}, finishedAt: {{ Now | Quote }}}}
  {{ end }}
{{ end }}
"#;

const POD_DONE: &str = r#"
phase: Succeeded
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: false
  started: false
  restartCount: 0
  state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ Now | Quote }}, finishedAt: {{ Now | Quote }}}}
{{ end }}
"#;

fn stages() -> String {
    let by_hand = || {
        vec![
            (format!(".metadata | select(.namespace | startswith(\"{BY_HAND}\")) | .name"), "DoesNotExist", &[] as &[&str]),
            (".metadata.annotations[\"lab.dalsegno/by-hand\"]".to_owned(), "DoesNotExist", &[] as &[&str]),
            (".metadata.deletionTimestamp".to_owned(), "DoesNotExist", &[] as &[&str]),
        ]
    };
    let mut running = by_hand();
    running.push((".status.podIP".into(), "DoesNotExist", &[]));
    let mut done = by_hand();
    done.push((".status.phase".into(), "In", &["Running"]));
    done.push((".metadata.ownerReferences.[].kind".into(), "In", &["Job"]));
    let all = [
        Stage {
            name: "node-ready",
            kind: "Node",
            when: vec![(".status.conditions.[] | select(.type == \"Ready\") | .status".into(), "NotIn", &["True"])],
            then: NODE_STATUS,
        },
        Stage { name: "pod-running", kind: "Pod", when: running, then: POD_RUNNING },
        Stage { name: "pod-done", kind: "Pod", when: done, then: POD_DONE },
        Stage { name: "pod-gone", kind: "Pod", when: vec![(".metadata.deletionTimestamp".into(), "Exists", &[])], then: "" },
    ];
    let mut text = String::new();
    for stage in all {
        let _ = write!(
            text,
            "---\napiVersion: {KWOK_GROUP}\nkind: Stage\nmetadata:\n  name: {}\nspec:\n  resourceRef:\n    apiGroup: v1\n    kind: {}\n  selector:\n    matchExpressions:\n",
            stage.name, stage.kind
        );
        for (key, operator, values) in stage.when {
            let _ = write!(text, "    - key: '{key}'\n      operator: {operator}\n");
            if !values.is_empty() {
                let quoted = values.iter().map(|v| format!("\"{v}\"")).collect::<Vec<_>>().join(", ");
                let _ = writeln!(text, "      values: [{quoted}]");
            }
        }
        if stage.then.is_empty() {
            text.push_str("  next:\n    finalizers:\n      empty: true\n    delete: true\n");
        } else {
            text.push_str("  next:\n    statusTemplate: |\n");
            for line in stage.then.trim().lines() {
                let _ = writeln!(text, "      {line}");
            }
        }
    }
    text
}

impl Cluster {
    /// Port-forwards of this pod to a port reach a port of this machine.
    pub async fn forward(&self, namespace: &str, pod: &str, ports: &[(u16, u16)]) -> Result<(), LabError> {
        let forwards: Vec<_> = ports
            .iter()
            .map(|(port, local)| json!({"ports": [port], "target": {"address": "127.0.0.1", "port": local}}))
            .collect();
        let object = json!({
            "apiVersion": KWOK_GROUP, "kind": "PortForward",
            "metadata": {"name": pod, "namespace": namespace}, "spec": {"forwards": forwards},
        });
        apply_value(&self.client().await?, object).await.map(|_| ())
    }

    /// The log of this pod's container is this file, in the format of CRI: `<RFC 3339 with nanoseconds> stdout F <text>`.
    pub async fn log_file(&self, namespace: &str, pod: &str, container: &str, file: &Path) -> Result<(), LabError> {
        let object = json!({
            "apiVersion": KWOK_GROUP, "kind": "Logs",
            "metadata": {"name": pod, "namespace": namespace},
            "spec": {"logs": [{"containers": [container], "logsFile": file, "follow": false}]},
        });
        apply_value(&self.client().await?, object).await.map(|_| ())
    }
}
