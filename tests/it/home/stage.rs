//! A site whose machine forgets everything after each command: only its bucket stays.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dalsegno::app::App;
use lab::home::Folder;
use lab::s3::{Client, Listed};
use serde_json::Value;

pub(crate) const PREFIX: &str = "dalsegno/";
pub(crate) const SECRETS: [&str; 2] = ["lab-secret-of-reader", "lab-secret-of-admin"];

/// The site.
pub(crate) struct Site {
    pub(crate) folder: Folder,
    pub(crate) endpoint: String,
    pub(crate) bucket: String,
    pub(crate) client: Client,
    name: &'static str,
    more: String,
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { exit: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Site {
    /// In a bucket of its own; nothing when there is no SeaweedFS here.
    pub(crate) async fn new(test: &str) -> Option<Self> {
        let weed = crate::store::real::server(test).await?;
        let bucket = weed.fresh_bucket().await.unwrap();
        Some(Self {
            folder: Folder::new("site").unwrap(),
            endpoint: weed.endpoint().to_owned(),
            bucket,
            client: weed.client(),
            name: "home",
            more: String::new(),
        })
    }

    /// Another machine of a site in the same bucket.
    pub(crate) fn beside(&self, name: &'static str) -> Self {
        Self {
            folder: Folder::new("site").unwrap(),
            endpoint: self.endpoint.clone(),
            bucket: self.bucket.clone(),
            client: self.client.clone(),
            name,
            more: self.more.clone(),
        }
    }

    /// With more in its configuration.
    pub(crate) fn with(mut self, more: &str) -> Self {
        self.more = more.to_owned();
        self
    }

    pub(crate) fn config(&self) -> PathBuf {
        let (endpoint, bucket, name, more) = (&self.endpoint, &self.bucket, self.name, &self.more);
        let keys = |who: &str| format!("access-key-id: {{env: {who}_ID}}, secret-access-key: {{env: {who}_KEY}}");
        let text = format!(
            "site: {name}\nenvironment: prod\nstate: {{folder: {}}}\nledger: {{home: bucket, store: main}}\nstores:\n  main:\n    \
             endpoint: {endpoint}\n    bucket: {bucket}\n    read: {{{}}}\n    own: {{{}, prefix: {PREFIX}}}\n{more}",
            self.state().display(),
            keys("READ"),
            keys("OWN"),
        );
        let path = self.folder.path().join("dalsegno.yaml");
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) fn env(&self) -> BTreeMap<String, String> {
        [("READ_ID", "LABKEYREADER"), ("READ_KEY", SECRETS[0]), ("OWN_ID", "LABKEYADMIN"), ("OWN_KEY", SECRETS[1])]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    }

    /// The program with this site's configuration and keys, and nothing else of our environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = bare(args, self.folder.path());
        command.env("DALSEGNO_CONFIG", self.config()).envs(self.env());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().unwrap())
    }

    pub(crate) fn run_with(&self, args: &[&str], env: &[(&str, &str)]) -> Said {
        Said::of(self.command(args).envs(env.iter().copied()).output().unwrap())
    }

    /// A pass on a machine that has nothing yet, and whose disk is gone afterwards.
    pub(crate) fn pass(&self) -> Said {
        let said = self.run(&["run", "--exit", "work", "-o", "json"]);
        self.forget();
        said
    }

    /// The pod is gone.
    pub(crate) fn forget(&self) {
        let _ = std::fs::remove_dir_all(self.state());
    }

    /// The same in this process.
    pub(crate) fn app(&self) -> App {
        App::load_with(&[self.config()], &self.env()).unwrap()
    }

    /// What lies in the bucket below our prefix.
    pub(crate) async fn objects(&self) -> Vec<Listed> {
        self.client.list(&self.bucket, PREFIX).await.unwrap()
    }

    pub(crate) async fn keys(&self, below: &str) -> Vec<String> {
        self.client.keys(&self.bucket, &format!("{PREFIX}{below}")).await.unwrap()
    }

    pub(crate) async fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.client.get(&self.bucket, &format!("{PREFIX}{name}")).await.unwrap()).unwrap()
    }

    pub(crate) async fn head(&self) -> Value {
        self.json("head.json").await
    }

    /// Key of the snapshot that the head names.
    pub(crate) async fn snapshot(&self) -> String {
        format!("{PREFIX}{}", self.head().await["snapshot"]["name"].as_str().unwrap())
    }

    /// Numbers of recorded passes, newest first.
    pub(crate) fn passes(&self) -> Vec<i64> {
        let said = self.run(&["history", "-o", "json"]);
        assert_eq!(said.exit, 0, "{said:?}");
        let runs = said.json();
        runs.as_array().unwrap().iter().filter(|run| run["kind"] == "pass").map(|run| run["number"].as_i64().unwrap()).collect()
    }
}

/// The program without any configuration.
pub(crate) fn bare(args: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dalsegno"));
    command.args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(folder);
    command.env("HOME", folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
