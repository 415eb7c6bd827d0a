//! A pod that the real controllers made, run as a process: its environment, its mounted files, a token of its service account.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use lab::home::Folder;
use lab::kube::Cluster;
use serde_json::Value;

use crate::home::stage::Said;

/// What a kubelet would have made of a pod.
pub(super) struct Pod {
    pub(super) folder: Folder,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

/// The newest pod of a namespace, once a controller made it.
pub(super) async fn made(cluster: &Cluster, namespace: &str, limit: Duration) -> Value {
    let until = std::time::Instant::now() + limit;
    loop {
        if let Some(pod) = cluster.list("v1", "Pod", namespace).await.unwrap().pop() {
            return pod;
        }
        assert!(std::time::Instant::now() < until, "no pod in {namespace}: {}", cluster.logs());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

impl Pod {
    /// Lays its volumes out below a folder, and reads its environment, both from what the API server holds.
    pub(super) async fn of(cluster: &Cluster, pod: &Value) -> Self {
        let folder = Folder::new("pod").unwrap();
        let (spec, namespace) = (&pod["spec"], pod["metadata"]["namespace"].as_str().unwrap());
        let container = &spec["containers"][0];
        for mount in container["volumeMounts"].as_array().unwrap() {
            let name = mount["name"].as_str().unwrap();
            let Some(volume) = spec["volumes"].as_array().unwrap().iter().find(|volume| volume["name"] == name) else { continue };
            let at = below(&folder, mount["mountPath"].as_str().unwrap());
            std::fs::create_dir_all(&at).unwrap();
            for (file, bytes) in contents(cluster, namespace, volume).await {
                // The container's root is the folder: paths that a configuration names lie below it.
                let secrets = below(&folder, "/etc/dalsegno-secrets");
                let bytes = match String::from_utf8(bytes) {
                    Ok(text) => text.replace("/etc/dalsegno-secrets", &secrets.display().to_string()).into_bytes(),
                    Err(error) => error.into_bytes(),
                };
                std::fs::write(at.join(file), bytes).unwrap();
            }
        }
        let mut env = Vec::new();
        for one in container["env"].as_array().unwrap() {
            let name = one["name"].as_str().unwrap().to_owned();
            let from = &one["valueFrom"];
            let value = if let Some(value) = one["value"].as_str() {
                value.to_owned()
            } else if from["fieldRef"]["fieldPath"] == "metadata.namespace" {
                namespace.to_owned()
            } else {
                let of = &from["secretKeyRef"];
                let secret = cluster.get("v1", "Secret", namespace, of["name"].as_str().unwrap()).await.unwrap().unwrap();
                decoded(&secret["data"][of["key"].as_str().unwrap()])
            };
            // Absolute paths of the container are paths below the folder here.
            let value = if value.starts_with('/') { below(&folder, &value).display().to_string() } else { value };
            env.push((name, value));
        }
        assert_eq!(container["command"], serde_json::json!(["/dalsegno"]));
        let args = container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().to_owned()).collect();
        let account = spec["serviceAccountName"].as_str().unwrap();
        let token = cluster.token(namespace, account).await.unwrap();
        let kubeconfig = cluster.kubeconfig_for(&token).unwrap();
        // In a pod the client takes a fixed path that no test may write to; the same token comes by a kubeconfig.
        env.push(("KUBECONFIG".to_owned(), kubeconfig.display().to_string()));
        Self { folder, args, env }
    }

    /// Its command with its environment and nothing else.
    pub(super) fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dalsegno"));
        command.args(&self.args).args(more).env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        // An image has no PATH and no home.
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    pub(super) fn run(&self, more: &[&str]) -> Said {
        Said::of(self.command(more).output().unwrap())
    }
}

fn below(folder: &Folder, path: &str) -> PathBuf {
    folder.path().join(path.trim_start_matches('/'))
}

/// The files of a ConfigMap or a Secret; an emptyDir has none.
async fn contents(cluster: &Cluster, namespace: &str, volume: &Value) -> Vec<(String, Vec<u8>)> {
    let data = |object: Value| object["data"].as_object().cloned().unwrap_or_default();
    if let Some(name) = volume["configMap"]["name"].as_str() {
        let map = cluster.get("v1", "ConfigMap", namespace, name).await.unwrap().unwrap();
        return data(map).into_iter().map(|(name, text)| (name, text.as_str().unwrap().as_bytes().to_vec())).collect();
    }
    if let Some(name) = volume["secret"]["secretName"].as_str() {
        let secret = cluster.get("v1", "Secret", namespace, name).await.unwrap().unwrap();
        return data(secret).into_iter().map(|(name, text)| (name, decoded(&text).into_bytes())).collect();
    }
    Vec::new()
}

/// base64, as Secrets are.
fn decoded(value: &Value) -> String {
    let secret: k8s_openapi::ByteString = serde_json::from_value(value.clone()).unwrap();
    String::from_utf8(secret.0).unwrap()
}
