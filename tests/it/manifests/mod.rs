//! Suite `manifests`: rendered YAML judged before it ships, and a configuration made from a cluster.

mod guide;
mod init;
mod judged;
mod texts;

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use lab::home::Folder;

/// A Cluster that archives by the plugin to ObjectStore `r2`, its schedule, and the ObjectStore. Nothing wrong with any.
pub(crate) fn healthy(path: &str, server: &str) -> String {
    format!(
        r#"# Source: charts/pg/templates/all.yaml
---
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {{name: keycloak-db, namespace: keycloak}}
spec:
  instances: 3
  imageName: ghcr.io/cloudnative-pg/postgresql:17.5-standard-bookworm
  storage: {{size: 10Gi}}
  plugins:
    - name: barman-cloud.cloudnative-pg.io
      isWALArchiver: true
      parameters: {{barmanObjectName: r2, serverName: {server}}}
---
apiVersion: v1
kind: List
items:
  - apiVersion: postgresql.cnpg.io/v1
    kind: ScheduledBackup
    metadata: {{name: nightly, namespace: keycloak}}
    spec: {{schedule: "0 0 3 * * *", method: plugin, cluster: {{name: keycloak-db}}}}
  - apiVersion: barmancloud.cnpg.io/v1
    kind: ObjectStore
    metadata: {{name: r2, namespace: keycloak}}
    spec:
      retentionPolicy: 30d
      configuration:
        destinationPath: s3://dr-backups/{path}
        endpointURL: https://acct.r2.cloudflarestorage.com
        s3Credentials:
          accessKeyId: {{name: r2-keys, key: ID}}
          secretAccessKey: {{name: r2-keys, key: SECRET}}
      instanceSidecarConfiguration:
        env: [{{name: AWS_DEFAULT_REGION, value: auto}}]
---
apiVersion: v1
kind: Service
metadata: {{name: anything}}
"#
    )
}

pub(crate) struct Site {
    folder: Folder,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self { folder: Folder::new("manifests").unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn put(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        file
    }

    /// Runs with no configuration at all: exit, stdout, stderr.
    pub(crate) fn dalsegno(&self, args: &[&str]) -> (i32, String, String) {
        let output = Command::cargo_bin("dalsegno")
            .unwrap()
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    /// Codes and subjects of what `check --manifests` finds, sorted.
    pub(crate) fn codes(&self, given: &[&str]) -> Vec<(String, String)> {
        let mut args = vec!["check", "-o", "json"];
        for one in given {
            args.extend(["--manifests", one]);
        }
        let (exit, stdout, stderr) = self.dalsegno(&args);
        let checked: serde_json::Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{stderr}"));
        let word = |finding: &serde_json::Value, key: &str| finding[key].as_str().unwrap().to_owned();
        let mut found: Vec<_> =
            checked["findings"].as_array().unwrap().iter().map(|of| (word(of, "code"), word(of, "subject"))).collect();
        found.sort();
        let bad = checked["findings"].as_array().unwrap().iter().any(|of| of["severity"] != "info");
        assert_eq!(exit, i32::from(bad), "{stdout}");
        found
    }
}
