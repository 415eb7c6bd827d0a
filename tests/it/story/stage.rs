//! A machine of its own for one story: configuration, state folder, folder of sandboxes, and the program.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};

use lab::home::Folder;
use lab::s3::Keys;
use serde_json::Value;

use super::archived::{Archived, MAJOR};
use crate::restore::drill::{PREFIX, SERVER, processes_in};

pub(super) const KEY_ID: &str = "STORY_KEY_ID";
pub(super) const SECRET: &str = "STORY_SECRET";

/// A folder with everything of one story in it; gone with it.
pub(super) struct Stage {
    folder: Folder,
    keys: Keys,
}

/// What a command said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) status: ExitStatus,
    pub(super) out: String,
    pub(super) err: String,
}

impl Said {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { status: output.status, out: text(output.stdout), err: text(output.stderr) }
    }

    /// The exit code; a signal that ended it is told.
    pub(super) fn exit(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("ended by signal {:?}: {self:?}", self.status.signal()))
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Stage {
    /// A stage whose configuration names this place of the shared archive.
    pub(super) async fn of(archived: &Archived, endpoint: &str, bucket: &str) -> Self {
        let stage = Self::empty().await;
        let rows = archived.rows;
        let system = &archived.system_id;
        let postgres = lab::Tool::Postgres(MAJOR).find().unwrap();
        let text = format!(
            "site: home\nenvironment: prod\nstate: {{folder: {state}}}\n\
             stores:\n  main:\n    endpoint: {endpoint}\n    bucket: {bucket}\n    \
             read: {{access-key-id: {{env: {KEY_ID}}}, secret-access-key: {{env: {SECRET}}}}}\n\
             postgres:\n  {SERVER}:\n    archive: {{store: main, prefix: {PREFIX}, server: {SERVER}}}\n    \
             system-id: \"{system}\"\n    policy: {{rpo: 4h, rto: 30m, base-backup-every: 26h, drill-every: 35d}}\n    \
             checks:\n      - {{name: rows, database: postgres, sql: select count(*) from accounts, expect: {{value: \"{rows}\"}}, tells-stale: true}}\n\
             drill: {{folder: {sandboxes}, postgres: [{postgres}]}}\n",
            state = stage.state().display(),
            sandboxes = stage.sandboxes().display(),
            postgres = postgres.display(),
        );
        std::fs::write(stage.config(), text).unwrap();
        stage
    }

    /// A stage without a configuration.
    pub(super) async fn empty() -> Self {
        let keys = lab::seaweed::shared().await.unwrap().keys().read_only().clone();
        Self { folder: Folder::new("story").unwrap(), keys }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn config(&self) -> PathBuf {
        self.path().join("dalsegno.yaml")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    pub(super) fn sandboxes(&self) -> PathBuf {
        self.path().join("sandboxes")
    }

    /// The program with this stage's configuration and keys and nothing else of our environment.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dalsegno"));
        command.args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(self.path());
        command.env("DALSEGNO_CONFIG", self.config()).env(KEY_ID, &self.keys.id).env(SECRET, &self.keys.secret);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub(super) fn run(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().unwrap())
    }

    /// The same with further environment.
    pub(super) fn run_with(&self, args: &[&str], environment: &[(&str, &str)]) -> Said {
        Said::of(self.command(args).envs(environment.iter().copied()).output().unwrap())
    }

    /// A drill, for machines.
    pub(super) fn drill(&self) -> Said {
        self.run(&DRILL)
    }

    /// Folders of drills, oldest first.
    pub(super) fn drills(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.state().join("drills")).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        folders.sort();
        folders
    }

    /// Whole lines of the newest drill's journal.
    pub(super) fn journal(&self) -> Vec<Value> {
        let Some(folder) = self.drills().pop() else { return Vec::new() };
        let text = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap_or_default();
        text.lines().map_while(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The newest drill's evidence.
    pub(super) fn evidence(&self) -> Option<Value> {
        let bytes = std::fs::read(self.drills().pop()?.join("evidence.json")).ok()?;
        Some(serde_json::from_slice(&bytes).unwrap())
    }

    /// No process of ours, no sandbox, no journal that is open, no half file.
    pub(super) fn leaves_nothing(&self, when: &str) {
        let working: Vec<String> = self.processes().into_iter().map(told).collect();
        assert!(working.is_empty(), "{when}: processes are left: {working:#?}");
        let left: Vec<_> =
            std::fs::read_dir(self.sandboxes()).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{when}: sandboxes are left: {left:?}");
        for folder in self.drills() {
            let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.file_name()).collect();
            names.sort();
            assert_eq!(names, ["evidence.json", "journal.jsonl"], "{when}: {}", folder.display());
            let text = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap();
            let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
            assert_eq!(last["record"], "run-ended", "{when}: {text}");
        }
    }

    /// Processes that work in this stage, were started with its paths, or have its configuration in their environment.
    fn processes(&self) -> Vec<i32> {
        let mut found = processes_in(self.path());
        let text = self.path().to_string_lossy().into_owned();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            if String::from_utf8_lossy(&environment).contains(&format!("{text}/")) {
                found.push(pid);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The ledger is whole and knows of no run that still runs.
    pub(super) fn ledger_is_settled(&self, when: &str) {
        let verified = self.run(&["ledger", "verify", "-o", "json"]);
        assert_eq!(verified.exit(), 0, "{when}: {verified:?}");
        let history = self.run(&["history", "-o", "json"]).json();
        for run in history.as_array().unwrap() {
            assert_ne!(run["state"], "running", "{when}: {history:#}");
        }
    }
}

pub(super) const DRILL: [&str; 4] = ["drill", "pg-restore", "-o", "json"];

fn told(pid: i32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    format!("{pid}: {}", String::from_utf8_lossy(&line).replace('\0', " "))
}

/// Texts of a JSON list as one, to look for words in.
pub(super) fn texts(list: &Value) -> String {
    list.as_array().unwrap().iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}
