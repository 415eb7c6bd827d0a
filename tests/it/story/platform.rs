//! A small platform and the binary that watches it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use lab::barman::{Archiver, Barman, BaseCompression, WalCompression};
use lab::home::Folder;
use lab::link::{Link, Shape};
use lab::postgres::{Options, Postgres};
use lab::seaweed::{self, Seaweed};
use lab::{Tool, User, need};

pub(super) const DB: &str = "app-db";
pub(super) const ROWS: u64 = 2000;

/// A store behind a link, a cluster that archives to it, and a configuration that sees only the link.
pub(super) struct Platform {
    pub(super) weed: &'static Seaweed,
    pub(super) bucket: String,
    pub(super) barman: Barman,
    pub(super) pg: Postgres,
    pub(super) link: Link,
    folder: Folder,
    _archiver: Archiver,
}

/// What the binary answered.
pub(super) struct Answer {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) talk: String,
}

impl Platform {
    /// None, said aloud, where a server is absent.
    pub(super) async fn build() -> Option<Platform> {
        for tool in [Tool::Seaweed, Tool::Barman, Tool::Postgres(16)] {
            need("story", tool)?;
        }
        let weed = seaweed::shared().await.unwrap();
        let bucket = weed.fresh_bucket().await.unwrap();
        let barman = Barman::new(weed.endpoint(), weed.keys().admin(), &bucket, "cnpg", DB).unwrap();
        let archiver = barman.archiver(WalCompression::Zstd).unwrap();
        let pg = Postgres::start(Options::new(16).archive_command(archiver.command()).segment_mib(1)).await.unwrap();
        pg.write_accounts(ROWS).await.unwrap();
        barman.backup(&pg, BaseCompression::Lz4).await.unwrap();
        pg.write_accounts(ROWS).await.unwrap();
        pg.switch_and_wait_archived().await.unwrap();
        let link = Link::start(weed.endpoint(), Shape::default()).unwrap();
        let folder = Folder::new("story").unwrap();
        let platform = Platform { weed, bucket, barman, pg, link, folder, _archiver: archiver };
        platform.configure().await;
        Some(platform)
    }

    async fn configure(&self) {
        let sandboxes = self.folder.path().join("sandboxes");
        fs::create_dir_all(&sandboxes).unwrap();
        let user = User::unprivileged().unwrap().name().map(|name| format!("user: {name}, ")).unwrap_or_default();
        let text = format!(
            r#"site: lab
environment: test
state: {{folder: {state}}}
stores:
  store:
    endpoint: {endpoint}
    bucket: {bucket}
    read: {{access-key-id: {{env: STORY_ID}}, secret-access-key: {{env: STORY_SECRET}}}}
postgres:
  {DB}:
    archive: {{store: store, prefix: cnpg, server: {DB}}}
    system-id: "{system_id}"
    policy: {{rpo: 15m, rto: 5m, base-backup-every: 26h, drill-every: 35d}}
    checks:
      - {{name: accounts, sql: "select count(*) from accounts", expect: {{value: "{rows}"}}, tells-stale: true}}
drill: {{folder: {sandboxes}, {user}postgres: [{bin}]}}
pass: {{deadline: 20s, provider-deadline: 8s}}
"#,
            state = self.folder.path().join("state").display(),
            endpoint = self.link.endpoint(),
            bucket = self.bucket,
            system_id = self.pg.system_id().await.unwrap(),
            rows = 2 * ROWS,
            sandboxes = sandboxes.display(),
            bin = self.pg.bin().display(),
        );
        fs::write(self.config(), text).unwrap();
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("dalsegno.yaml")
    }

    /// What lies in the folder of sandboxes.
    pub(super) fn sandboxes(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path().join("sandboxes")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    /// Runs the real binary with the key that may only read.
    pub(super) fn dalsegno(&self, args: &[&str]) -> Answer {
        let keys = self.weed.keys().read_only();
        let output: Output = Command::new(env!("CARGO_BIN_EXE_dalsegno"))
            .arg("--config")
            .arg(self.config())
            .args(args)
            .env("STORY_ID", &keys.id)
            .env("STORY_SECRET", &keys.secret)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let answer = Answer { code: output.status.code(), out: text(&output.stdout), talk: text(&output.stderr) };
        assert!(!answer.out.contains(&keys.secret) && !answer.talk.contains(&keys.secret), "a secret was printed by {args:?}");
        answer
    }
}

impl Answer {
    /// Holds it to an exit code, showing all that was said otherwise.
    #[track_caller]
    pub(super) fn exits(self, code: i32) -> Answer {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.talk);
        self
    }

    /// Stdout as JSON.
    #[track_caller]
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("no JSON ({e}):\n{}", self.out))
    }
}
