//! The programs of the control plane and how each is started.

use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;

use super::network::EGRESS;
use crate::tools::control_plane;
use crate::{LabError, Process, Tool, User};

/// Controllers that act on what a conductor makes: namespaces end, Jobs make pods, owners take what they own with them.
const CONTROLLERS: [&str; 11] = [
    "namespace-controller",
    "garbage-collector-controller",
    "cronjob-controller",
    "job-controller",
    "ttl-after-finished-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "deployment-controller",
    "replicaset-controller",
    "persistentvolumeclaim-protection-controller",
];

/// The four programs. The store is the last to end: nothing waits for it then.
#[derive(Debug, Default)]
pub(super) struct Planes {
    scheduler: Option<Process>,
    controllers: Option<Process>,
    api: Option<Process>,
    etcd: Option<Process>,
}

/// Where a program listens and keeps its things.
pub(super) struct Places<'a> {
    pub(super) folder: &'a Path,
    pub(super) api_port: u16,
    pub(super) etcd_port: u16,
    pub(super) etcd_peers: u16,
}

impl Places<'_> {
    fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

impl Planes {
    /// Starts store and API server; the API server waits for the store by itself.
    pub(super) fn start_api(&mut self, places: &Places<'_>) -> Result<(), LabError> {
        let etcd = format!("http://127.0.0.1:{}", places.etcd_port);
        let mut command = program("etcd")?;
        command.args(["--data-dir", &places.file("etcd"), "--unsafe-no-fsync", "--log-level", "warn"]);
        command.args(["--listen-client-urls", &etcd, "--advertise-client-urls", &etcd]);
        command.args(["--listen-peer-urls", &format!("http://127.0.0.1:{}", places.etcd_peers)]);
        self.etcd = Some(spawn(command, places, "etcd")?);
        let mut command = program("kube-apiserver")?;
        let flags = [
            ("etcd-servers", etcd),
            ("secure-port", places.api_port.to_string()),
            ("bind-address", "127.0.0.1".into()),
            // An address of documentation (RFC 5737): nobody calls it, and a bare machine has no route to guess one from.
            ("advertise-address", "192.0.2.1".into()),
            ("endpoint-reconciler-type", "none".into()),
            ("cert-dir", places.file("certificates")),
            ("tls-cert-file", places.file("server.crt")),
            ("tls-private-key-file", places.file("server.key")),
            ("service-account-key-file", places.file("accounts.pub")),
            ("service-account-signing-key-file", places.file("accounts.key")),
            ("service-account-issuer", "https://kubernetes.default.svc".into()),
            ("token-auth-file", places.file("tokens.csv")),
            ("authorization-mode", "RBAC".into()),
            ("service-cluster-ip-range", "10.0.0.0/24".into()),
            ("allow-privileged", "true".into()),
            // Without the node-lifecycle controller nobody takes the taint `not-ready` away again.
            ("disable-admission-plugins", "TaintNodesByCondition".into()),
            ("kubelet-preferred-address-types", "InternalIP".into()),
            ("egress-selector-config-file", places.file(EGRESS)),
            ("profiling", "false".into()),
        ];
        command.args(flags.iter().map(|(name, value)| format!("--{name}={value}")));
        self.api = Some(spawn(command, places, "apiserver")?);
        Ok(())
    }

    /// Starts controllers and scheduler, when the API server serves.
    pub(super) fn start_others(&mut self, places: &Places<'_>) -> Result<(), LabError> {
        let kubeconfig = format!("--kubeconfig={}", places.file("admin.kubeconfig"));
        let mut command = program("kube-controller-manager")?;
        command.arg(&kubeconfig).arg(format!("--controllers={}", CONTROLLERS.join(",")));
        command.arg(format!("--service-account-private-key-file={}", places.file("accounts.key")));
        command.arg(format!("--root-ca-file={}", places.file("ca.crt")));
        command.args(["--use-service-account-credentials=false", "--leader-elect=false", "--secure-port=0"]);
        command.args(["--kube-api-qps=300", "--kube-api-burst=600"]);
        self.controllers = Some(spawn(command, places, "controllers")?);
        let mut command = program("kube-scheduler")?;
        command.arg(&kubeconfig).args(["--leader-elect=false", "--secure-port=0"]);
        self.scheduler = Some(spawn(command, places, "scheduler")?);
        Ok(())
    }

    /// Whether store and API server still run.
    pub(super) fn run(&mut self) -> bool {
        [&mut self.etcd, &mut self.api].into_iter().all(|p| p.as_mut().is_some_and(Process::is_running))
    }

    /// The ends of their logs.
    pub(super) fn logs(&self) -> String {
        let all =
            [("apiserver", &self.api), ("etcd", &self.etcd), ("controllers", &self.controllers), ("scheduler", &self.scheduler)];
        let ends = all.iter().filter_map(|(name, process)| Some(format!("{name}:\n{}", process.as_ref()?.log_end())));
        ends.collect::<Vec<_>>().join("\n")
    }
}

fn program(name: &str) -> Result<Command, LabError> {
    let (file, word) = control_plane(name).ok_or_else(|| absent(name))?;
    let mut command = Command::new(file);
    command.args(word);
    Ok(command)
}

fn absent(name: &str) -> LabError {
    match Tool::Kube.find() {
        Err(e) => e,
        Ok(found) => LabError::Absent { tool: name.to_owned(), looked: found.display().to_string() },
    }
}

/// Killed at the end: a polite end of an API server takes up to 40 s while watches are open, and it keeps nothing.
fn spawn(mut command: Command, places: &Places<'_>, name: &str) -> Result<Process, LabError> {
    command.current_dir(places.folder);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "NO_PROXY", "no_proxy", "KUBECONFIG"] {
        command.env_remove(name);
    }
    Process::spawn(command, &places.folder.join(format!("{name}.log")), Signal::SIGKILL, User::same())
}
