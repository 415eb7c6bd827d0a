//! Suite `config`: files and environment → settings, or all mistakes at once.

mod channels;
mod documents;
mod mistakes;
mod placeholders;
mod random;
mod secrets;
mod sources;
mod stores;

use std::collections::BTreeMap;
use std::path::PathBuf;

use dalsegno::config::{self, ConfigErrors, Loaded};

/// A folder with configuration files and an environment.
struct Site {
    folder: tempfile::TempDir,
    env: BTreeMap<String, String>,
}

impl Site {
    /// One file, `c.yaml`, and the keys that the examples name.
    fn new(yaml: &str) -> Self {
        Self::bare(yaml).env("R_ID", "AKIAQ7").env("R_KEY", "s3cr3t-value")
    }

    fn bare(yaml: &str) -> Self {
        let site = Self { folder: tempfile::tempdir().unwrap(), env: BTreeMap::new() };
        site.file("c.yaml", yaml)
    }

    fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.folder.path().join(name), text).unwrap();
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    fn source(&self) -> Vec<PathBuf> {
        vec![self.folder.path().join("c.yaml")]
    }

    fn load(&self) -> Result<Loaded, ConfigErrors> {
        config::load(&self.source(), &self.env)
    }

    fn check(&self) -> Result<Loaded, ConfigErrors> {
        config::check(&self.source(), &self.env)
    }

    fn load_folder(&self) -> Result<Loaded, ConfigErrors> {
        config::load(&[self.folder.path().to_owned()], &self.env)
    }

    /// What an error says, with the temporary folder taken out.
    fn said(&self, errors: &ConfigErrors) -> String {
        self.plain(&errors.to_string())
    }

    fn plain(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.folder.path().display()), "")
    }

    /// Mistakes that `config check` finds, one a line.
    fn mistakes(&self) -> Vec<String> {
        let Err(errors) = self.check() else { return Vec::new() };
        errors.mistakes().iter().map(|mistake| self.plain(&mistake.to_string())).collect()
    }
}

/// One store and one database without a fault.
const GOOD: &str = "\
site: home
environment: prod
stores:
  minio:
    endpoint: https://minio.lan:9000
    bucket: dr-backups
    read: {access-key-id: {env: R_ID}, secret-access-key: {env: R_KEY}}
postgres:
  keycloak-db:
    archive: {store: minio, prefix: cnpg, server: keycloak-db}
    policy: {rpo: 15m, drill-every: 35d}
";
