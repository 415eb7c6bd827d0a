//! A machine of its own for one drill in the cluster: configuration, state folder, the program, and a token with the rights of the
//! table and no others.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dalsegno::domain::RbacRule;
use dalsegno::providers::cnpg::rbac::{DRILL, RULES};
use lab::cnpg::Actor;
use lab::home::Folder;
use lab::kube::Cluster;
use lab::s3::Keys;
use lab::{Tool, need};
use serde_json::{Value, json};

use crate::restore::drill::{PREFIX, SERVER};
use crate::story::archived::{Archived, MAJOR, servers_are_here};

pub(super) const LABEL: &str = "dalsegno.io/made-by";
pub(super) const RUNBOOK: &str = include_str!("../../../runbooks/cnpg-restore.yaml");

pub(super) struct Ground {
    pub(super) cluster: &'static Cluster,
    pub(super) actor: &'static Actor,
    pub(super) archived: &'static Archived,
    pub(super) token: String,
}

impl Ground {
    /// The servers, or nothing where they are not.
    pub(super) async fn of(suite: &str) -> Option<Self> {
        for tool in [Tool::Kube, Tool::Kwok, Tool::Seaweed, Tool::Barman, Tool::Postgres(MAJOR)] {
            need(suite, tool)?;
        }
        if !servers_are_here() {
            return None;
        }
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cluster = lab::kube::shared().await.unwrap();
        let actor = lab::cnpg::shared().await.unwrap();
        actor.serve("dalsegno-*");
        let namespace = cluster.fresh_namespace("drills").await.unwrap();
        let rules: Vec<Value> = RULES.iter().filter(|rule| rule.feature == DRILL).map(rule_of).collect();
        let version = "rbac.authorization.k8s.io/v1";
        let name = &namespace;
        for object in [
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "drills", "namespace": namespace}}),
            json!({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}),
            json!({"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": "drills", "namespace": namespace}]}),
        ] {
            cluster.apply(&object.to_string()).await.unwrap();
        }
        let token = cluster.token(&namespace, "drills").await.unwrap();
        Some(Self { cluster, actor, archived: Archived::once().await, token })
    }

    /// Namespaces of a run that are still there.
    pub(super) async fn left(&self, run: &str) -> Vec<String> {
        let all = self.cluster.list("v1", "Namespace", "").await.unwrap();
        let ours = all.iter().filter(|one| one["metadata"]["labels"]["dalsegno.io/run"] == run);
        ours.map(|one| one["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn rule_of(rule: &RbacRule) -> Value {
    json!({"apiGroups": [rule.group], "resources": rule.resources, "verbs": rule.verbs})
}

pub(super) struct Stage {
    folder: Folder,
    keys: Keys,
}

impl Stage {
    /// With the archive of this bucket; `drill` is what stands behind `cnpg.prod.drill`.
    pub(super) async fn of(ground: &Ground, bucket: &str, kubeconfig: &Path, drill: &str) -> Self {
        let weed = lab::seaweed::shared().await.unwrap();
        let stage = Self { folder: Folder::new("cnpg-drill").unwrap(), keys: weed.keys().read_only().clone() };
        let text = format!(
            "site: home\nenvironment: prod\nstate: {{folder: {state}}}\n\
             stores:\n  main:\n    endpoint: {endpoint}\n    bucket: {bucket}\n    \
             read: {{access-key-id: {{env: KEY_ID}}, secret-access-key: {{env: KEY_SECRET}}}}\n\
             kubernetes: {{prod: {{kubeconfig: {kubeconfig}}}}}\n\
             cnpg: {{prod: {{drill: {drill}}}}}\n\
             postgres:\n  {SERVER}:\n    archive: {{store: main, prefix: {PREFIX}, server: {SERVER}}}\n    \
             cluster: gone/{SERVER}\n    system-id: \"{system}\"\n    policy: {{rpo: 4h, rto: 30m}}\n    \
             checks:\n      - {{name: rows, database: postgres, sql: select count(*) from accounts, expect: {{value: \"{rows}\"}}, tells-stale: true}}\n",
            state = stage.state().display(),
            endpoint = weed.endpoint(),
            kubeconfig = kubeconfig.display(),
            system = ground.archived.system_id,
            rows = ground.archived.rows,
        );
        std::fs::write(stage.path().join("dalsegno.yaml"), text).unwrap();
        stage
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dalsegno"));
        command.args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(self.path());
        command.env("DALSEGNO_CONFIG", self.path().join("dalsegno.yaml"));
        command.env("KEY_ID", &self.keys.id).env("KEY_SECRET", &self.keys.secret);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> Said {
        Said::of(&self.command(args).output().unwrap())
    }

    /// The only run whose folder is here.
    pub(super) fn run_id(&self) -> String {
        let entries = std::fs::read_dir(self.state().join("drills")).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names.pop().unwrap()
    }

    /// The evidence of the newest run.
    pub(super) fn evidence(&self) -> Value {
        let path = self.state().join("drills").join(self.run_id()).join("evidence.json");
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    /// A copy of the shipped runbook with some words replaced.
    pub(super) fn runbook(&self, words: &[(&str, &str)]) -> String {
        let mut text = RUNBOOK.to_owned();
        for (before, after) in words {
            assert!(text.contains(before), "{before}");
            text = text.replace(before, after);
        }
        let path = self.path().join("runbook.yaml");
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// What a command said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) exit: Option<i32>,
    pub(super) out: String,
    #[allow(dead_code, reason = "shown when a test fails")]
    pub(super) err: String,
}

impl Said {
    pub(super) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { exit: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The image of the archive's major version, and a size.
pub(super) fn shape() -> String {
    format!("{{image: \"ghcr.io/cloudnative-pg/postgresql:{MAJOR}.8\", storage: 1Gi, parameters: {{max_connections: \"100\"}}}}")
}
