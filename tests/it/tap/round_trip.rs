//! What a live look found, its recording finds again, with nobody left to ask; and nothing secret is in the files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::barman::{Archiver, Barman, BaseCompression, WalCompression};
use lab::postgres::{Options, Postgres};
use lab::seaweed::{self, Seaweed};
use lab::webhook::Webhook;
use lab::{Tool, need};
use serde_json::Value;

const SUITE: &str = "recording of a live store";
const PREFIX: &str = "cnpg";
const SERVER: &str = "orders";
/// A row of the database: it lies in the base backup's tar and in WAL bodies.
const ROW: &str = "ROW-OF-A-CUSTOMER-8417-SECRET";
/// The label of a base backup is free text of somebody else.
const OBJECT: &str = "FOREIGN-OBJECT-SECRET-5512";
const HOOK: &str = "hook-token-SECRET-77";
const BEAT: &str = "beat-token-SECRET-78";
const OWN_ID: &str = "OWNKEYIDSECRET79";
const OWN_SECRET: &str = "own-key-SECRET-80";
const BYSTANDER: &str = "env-of-somebody-else-SECRET-81";
const TOKEN: &str = "session-token-SECRET-83";
const QUERY: &str = "query-SECRET-82";

/// A real archive, uncompressed so that what lies in it can be searched for, and a configuration that looks at it.
struct Site {
    weed: &'static Seaweed,
    bucket: String,
    hook: Webhook,
    home: tempfile::TempDir,
    _archiver: Archiver,
    _postgres: Postgres,
}

impl Site {
    async fn new() -> Option<Self> {
        let major = [16, 15, 17, 14].into_iter().find(|major| Tool::Postgres(*major).find().is_ok()).unwrap_or(16);
        for tool in [Tool::Seaweed, Tool::Barman, Tool::Postgres(major)] {
            need(SUITE, tool)?;
        }
        let _ = rustls::crypto::ring::default_provider().install_default();
        let weed = seaweed::shared().await.unwrap();
        let bucket = weed.fresh_bucket().await.unwrap();
        let barman = Barman::new(weed.endpoint(), weed.keys().admin(), &bucket, PREFIX, SERVER).unwrap();
        let archiver = barman.archiver(WalCompression::None).unwrap();
        let postgres = Postgres::start(Options::new(major).segment_mib(1).archive_command(archiver.command())).await.unwrap();
        let row = |table: &str| format!("create table {table} as select '{ROW}' || n as v from generate_series(1, 200) n");
        postgres.sql(&row("before")).await.unwrap();
        barman.backup(&postgres, BaseCompression::None).await.unwrap();
        postgres.sql(&row("after")).await.unwrap();
        for _ in 0..3 {
            postgres.write_accounts(100).await.unwrap();
            postgres.switch_and_wait_archived().await.unwrap();
        }
        weed.client().put(&bucket, &format!("{PREFIX}/{SERVER}/base/notes.txt"), OBJECT).await.unwrap();
        let hook = Webhook::start().unwrap();
        let home = tempfile::tempdir().unwrap();
        let site = Self { weed, bucket, hook, home, _archiver: archiver, _postgres: postgres };
        site.write_config(weed.endpoint(), "");
        Some(site)
    }

    fn write_config(&self, endpoint: &str, more_keys: &str) {
        let text = format!(
            "site: lan
environment: prod
state: {{folder: {home}/state}}
stores:
  minio:
    endpoint: {endpoint}
    bucket: {bucket}
    dialect: seaweedfs
    read: {{access-key-id: {{env: R_ID}}, secret-access-key: {{file: {home}/secret}}{more_keys}}}
    own: {{access-key-id: {{env: O_ID}}, secret-access-key: {{env: O_SECRET}}, prefix: dalsegno/}}
postgres:
  {SERVER}:
    archive: {{store: minio, prefix: {PREFIX}, server: {SERVER}}}
    policy: {{rpo: 15m, base-backup-every: 26h, drill-every: 35d}}
  emptied:
    archive: {{store: minio, prefix: {PREFIX}, server: emptied}}
    policy: {{rpo: 15m, base-backup-every: 26h}}
notify:
  webhooks: {{ops: {{url: {{env: HOOK}}, at-least: warning}}}}
  heartbeat: {{url: {{env: BEAT}}}}
",
            home = self.home.path().display(),
            bucket = self.bucket,
        );
        std::fs::write(self.home.path().join("dalsegno.yaml"), text).unwrap();
    }

    fn run(&self, keys: &lab::s3::Keys, args: &[&str]) -> Ran {
        std::fs::write(self.home.path().join("secret"), format!("{}\n", keys.secret)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dalsegno"));
        command.args(args).args(["--config"]).arg(self.home.path().join("dalsegno.yaml")).env_clear();
        command.env("R_ID", &keys.id).env("O_ID", OWN_ID).env("O_SECRET", OWN_SECRET).env("BYSTANDER", BYSTANDER);
        command.env("HOOK", self.hook.url(&format!("/{HOOK}"))).env("BEAT", self.hook.url(&format!("/{BEAT}")));
        command.env("R_TOKEN", TOKEN);
        Ran::of(&mut command)
    }

    fn recording(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn planted(keys: &lab::s3::Keys) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            ("access key id", keys.id.clone()),
            ("secret access key", keys.secret.clone()),
            ("session token", TOKEN.to_owned()),
            ("webhook", HOOK.to_owned()),
            ("heartbeat", BEAT.to_owned()),
            ("own access key id", OWN_ID.to_owned()),
            ("own secret access key", OWN_SECRET.to_owned()),
            ("environment", BYSTANDER.to_owned()),
            ("a row of the database", ROW.to_owned()),
            ("a foreign object", OBJECT.to_owned()),
            ("query", QUERY.to_owned()),
        ])
    }
}

/// What the command said.
struct Ran {
    exit: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { exit: output.status.code().unwrap(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// A replay, with nothing in the environment and no configuration but the recording's.
    fn replay(folder: &Path) -> Self {
        Self::of(Command::new(env!("CARGO_BIN_EXE_dalsegno")).args(["check", "-o", "json", "--replay"]).arg(folder).env_clear())
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    fn codes(&self) -> Vec<String> {
        let findings = self.json()["findings"].as_array().unwrap().clone();
        findings
            .iter()
            .map(|finding| format!("{} {}", finding["code"].as_str().unwrap(), finding["subject"].as_str().unwrap()))
            .collect()
    }
}

/// The text of every file, by name.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file());
    entries.map(|entry| (entry.path().to_owned(), std::fs::read(entry.path()).unwrap())).collect()
}

fn holds(bytes: &[u8], needle: &str) -> bool {
    let hex: String = needle.bytes().map(|byte| format!("{byte:02x}")).collect();
    let found = |needle: &str| bytes.windows(needle.len()).any(|window| window.eq_ignore_ascii_case(needle.as_bytes()));
    found(needle) || found(&hex)
}

fn nothing_planted(folder: &Path, planted: &BTreeMap<&str, String>) {
    let files = files(folder);
    assert!(files.len() >= 4, "{:?}", files.keys());
    for (file, bytes) in &files {
        for (what, plant) in planted {
            assert!(!holds(bytes, plant), "{what} ({plant}) in {}", file.display());
            assert!(!file.to_string_lossy().contains(plant.as_str()), "{what} in a file's name");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_of_a_live_store_is_judged_as_the_store_was_and_holds_nothing_secret() {
    let Some(site) = Site::new().await else { return };
    let keys = site.weed.keys().read_only();
    let planted = Site::planted(keys);
    // What is planted in the archive really lies there in the clear.
    let client = site.weed.client();
    let mut seen_in = Vec::new();
    for key in client.keys(&site.bucket, &format!("{PREFIX}/")).await.unwrap() {
        let body = client.get(&site.bucket, &key).await.unwrap();
        if holds(&body, ROW) {
            seen_in.push(key.rsplit('/').next().unwrap().to_owned());
        }
    }
    assert!(
        seen_in.iter().any(|name| name.starts_with("data.tar")) && seen_in.iter().any(|name| name.len() == 24),
        "{seen_in:?}"
    );

    // A pass first: what only the ledger knows goes along, and the webhook was really told.
    remember_a_drill(&site).await;
    let pass = site.run(keys, &["run", "-o", "json"]);
    assert!(pass.codes().iter().any(|code| code.ends_with("emptied")), "{:?}", pass.codes());
    assert!(!site.hook.received().is_empty());

    let folder = site.recording("whole");
    let live = site.run(keys, &["check", "-o", "json", "--record", folder.to_str().unwrap()]);
    assert!(live.stderr.contains("recorded into"), "{}", live.stderr);
    let replayed = Ran::replay(&folder);
    assert!(!live.codes().is_empty());
    assert_eq!(replayed.json()["findings"], live.json()["findings"], "{}", replayed.stderr);
    assert_eq!(replayed.json()["seen"], live.json()["seen"]);
    assert_eq!((replayed.exit, replayed.json()["bugs"].as_array().map(Vec::len)), (live.exit, Some(0)));
    assert!(files(&folder).keys().any(|file| file.ends_with("ledger.jsonl")));
    assert!(!live.codes().iter().any(|code| code.ends_with("pg/lan/prod/orders")), "{:?}", live.codes());
    nothing_planted(&folder, &planted);
    // A recording is no fixed answer: with the archive gone from it, the same recording is judged otherwise.
    lose_the_archive(&folder);
    let worse = Ran::replay(&folder);
    assert!(worse.codes().iter().any(|code| code == "archive-empty pg/lan/prod/orders"), "{:?}", worse.codes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_is_recorded_as_refused_and_never_by_its_name() {
    let Some(site) = Site::new().await else { return };
    let temporary = ", session-token: {env: R_TOKEN}";
    for (name, keys, more) in [
        ("wrong", site.weed.keys().wrong_secret(), ""),
        ("nobody", lab::s3::Keys::new("AKIANOBODYSECRET84", "nobody-SECRET-85"), ""),
        // The lab's store hands no temporary keys out, so it refuses this one.
        ("temporary", site.weed.keys().read_only().clone(), temporary),
    ] {
        site.write_config(site.weed.endpoint(), more);
        let folder = site.recording(name);
        let live = site.run(&keys, &["check", "-o", "json", "--record", folder.to_str().unwrap()]);
        let replayed = Ran::replay(&folder);
        // No ledger was asked here: that no drill is known says nothing, in the replay as in the check. Which of several refused
        // calls is quoted, and the store's number of it, may differ.
        let words = |ran: &Ran| -> Vec<Value> {
            let mut findings = ran.json()["findings"].as_array().unwrap().clone();
            for finding in &mut findings {
                let finding = finding.as_object_mut().unwrap();
                finding.retain(|field, _| !matches!(field.as_str(), "cause" | "evidence"));
            }
            findings
        };
        assert_eq!(words(&replayed), words(&live), "{}", replayed.stderr);
        assert!(!live.codes().is_empty() && live.exit == replayed.exit, "{} {}", live.exit, replayed.exit);
        nothing_planted(&folder, &Site::planted(&keys));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_an_endpoint_is_refused_and_neither_repeated_nor_recorded() {
    let Some(site) = Site::new().await else { return };
    let keys = site.weed.keys().read_only();
    for endpoint in [
        format!("{}/?token={QUERY}", site.weed.endpoint()),
        site.weed.endpoint().replace("http://", &format!("http://user:{QUERY}@")),
    ] {
        site.write_config(&endpoint, "");
        let folder = site.recording("query");
        let live = site.run(keys, &["check", "--record", folder.to_str().unwrap()]);
        assert_eq!(live.exit, 2, "{}", live.stderr);
        assert!(!live.stdout.contains(QUERY) && !live.stderr.contains(QUERY), "{}{}", live.stdout, live.stderr);
        for (file, bytes) in files_if_any(&folder) {
            assert!(!holds(&bytes, QUERY), "{}", file.display());
        }
    }
}

fn files_if_any(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    if folder.exists() { files(folder) } else { BTreeMap::new() }
}

/// A drill that the ledger knows of.
async fn remember_a_drill(site: &Site) {
    let (run, now) = (dalsegno::domain::RunId::new(), jiff::Timestamp::now());
    let mut evidence = crate::conductor::pass::evidence(run);
    evidence.subject = dalsegno::domain::Subject::new(dalsegno::domain::SubjectKind::Pg, &["lan", "prod", SERVER]);
    (evidence.began, evidence.ended) = (now, now);
    evidence.assertions.push(dalsegno::domain::AssertionResult {
        name: "newest".to_owned(),
        expected: ROW.to_owned(),
        seen: ROW.to_owned(),
        end: dalsegno::domain::CheckEnd::Passed,
        tells_stale: true,
        seconds: 0.1,
    });
    // A drill counts when all checks of its configuration passed: that must come through, what they saw must not.
    evidence.checks = vec!["newest".to_owned()];
    let place = dalsegno::domain::ArchivePlace {
        store: dalsegno::domain::StoreId("minio".to_owned()),
        bucket: site.bucket.clone(),
        prefix: dalsegno::domain::Prefix::new(PREFIX),
        server: SERVER.to_owned(),
    };
    evidence.restored.as_mut().unwrap().place = place.into();
    let me = dalsegno::process::Process::this().unwrap();
    let ledger = dalsegno::ledger::Ledger::open(&site.home.path().join("state"), now, me).await.unwrap();
    ledger.take_in(&evidence, &"00".repeat(32), now).await.unwrap();
    // One that came to nothing, since: it must not hide the proof.
    evidence.run = dalsegno::domain::RunId::new();
    evidence.ended = now + jiff::SignedDuration::from_secs(1);
    evidence.verdict = dalsegno::domain::Verdict::Unknown;
    evidence.reasons = vec!["too little space".to_owned()];
    ledger.take_in(&evidence, &"01".repeat(32), now).await.unwrap();
    ledger.close().await;
}

fn lose_the_archive(folder: &Path) {
    let list = files(folder).into_keys().find(|file| file.ends_with("list.jsonl")).unwrap();
    let text = std::fs::read_to_string(&list).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains(&format!("/{SERVER}/"))).collect();
    assert!(kept.len() < text.lines().count());
    std::fs::write(&list, kept.join("\n") + "\n").unwrap();
}
