//! An archive of the lab, and a drill of it by the verbs, as execution would do it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dalsegno::domain::{
    Act, ActError, ArchivePlace, Call, Cx, Dialect, Intent, Isolation, Prefix, Quiet, Receipt, RunId, Secret, SqlCheck, State,
    StoreId, Subject, SubjectKind, SystemId, Undone,
};
use dalsegno::restore::{Limits, RestoreSettings, RestoreSubject, Restorer};
use dalsegno::store::{Store, StoreConfig};
use jiff::Timestamp;
use lab::barman::{Archiver, Barman, BaseCompression, WalCompression};
use lab::home::Folder;
use lab::postgres::{Options, Postgres};
use lab::seaweed::Seaweed;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) const MAJOR: u32 = 15;
/// Those that a suite may restore.
const MAJORS: [u32; 4] = [MAJOR, 16, 17, 18];
pub(crate) const PREFIX: &str = "cnpg";
pub(crate) const SERVER: &str = "keycloak-db";

/// Skips visibly, or fails in CI, when a server is not there.
pub(crate) fn servers_are_here() -> bool {
    use lab::Tool;
    [Tool::Seaweed, Tool::Barman, Tool::Postgres(MAJOR)].into_iter().all(|tool| lab::need("restore", tool).is_some())
}

/// A cluster that archives, and its bucket.
pub(crate) struct Archive {
    pub(crate) weed: &'static Seaweed,
    pub(crate) bucket: String,
    pub(crate) barman: Barman,
    pub(crate) archiver: Archiver,
    pub(crate) pg: Postgres,
    pub(crate) wal: WalCompression,
}

impl Archive {
    pub(crate) async fn of(wal: WalCompression, change: impl FnOnce(Options) -> Options) -> Self {
        Self::of_major(MAJOR, wal, change).await
    }

    pub(crate) async fn of_major(major: u32, wal: WalCompression, change: impl FnOnce(Options) -> Options) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let weed = lab::seaweed::shared().await.unwrap();
        let bucket = weed.fresh_bucket().await.unwrap();
        let barman = Barman::new(weed.endpoint(), weed.keys().admin(), &bucket, PREFIX, SERVER).unwrap();
        let archiver = barman.archiver(wal).unwrap();
        let options = change(Options::new(major).segment_mib(1).archive_command(archiver.command()));
        let pg = Postgres::start(options).await.unwrap();
        Self { weed, bucket, barman, archiver, pg, wal }
    }

    /// Rows, a base backup, more rows in more segments.
    pub(crate) async fn filled(wal: WalCompression, base: BaseCompression) -> Self {
        let archive = Self::of(wal, |options| options).await;
        archive.pg.write_accounts(500).await.unwrap();
        archive.barman.backup(&archive.pg, base).await.unwrap();
        for _ in 0..4 {
            archive.pg.write_accounts(500).await.unwrap();
            archive.pg.switch_and_wait_archived().await.unwrap();
        }
        archive
    }

    /// Runs statements that new sessions of the source would not survive, and waits until the bucket has their WAL.
    pub(crate) async fn last_words(&self, sql: &str) {
        let segment = self.pg.sql_and_switch(sql).await.unwrap();
        for _ in 0..600 {
            if self.segments().await.contains(&segment) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("{segment} was not archived");
    }

    pub(crate) async fn segments(&self) -> Vec<String> {
        let keys = self.barman.client().keys(&self.bucket, &self.barman.key("wals/")).await.unwrap();
        let mut names: Vec<String> = keys
            .iter()
            .filter_map(|key| key.rsplit('/').next())
            .map(|name| name.trim_end_matches(self.wal.suffix()).to_owned())
            .filter(|name| name.len() == 24)
            .collect();
        names.sort();
        names
    }

    pub(crate) fn store_at(&self, endpoint: &str) -> Store {
        let keys = self.weed.keys().admin();
        let mut config = StoreConfig::new(
            StoreId("lab".to_owned()),
            endpoint,
            &self.bucket,
            Secret::new(keys.id.clone()),
            Secret::new(keys.secret.clone()),
        );
        config.dialect = Dialect::Seaweedfs;
        Store::open(config).unwrap()
    }

    pub(crate) async fn subject(&self) -> RestoreSubject {
        RestoreSubject {
            subject: Subject::new(SubjectKind::Pg, &["home", "prod", SERVER]),
            place: ArchivePlace {
                store: StoreId("lab".to_owned()),
                bucket: self.bucket.clone(),
                prefix: Prefix::new(PREFIX),
                server: SERVER.to_owned(),
            },
            store: self.store_at(self.weed.endpoint()),
            system_id: Some(SystemId(self.pg.system_id().await.unwrap().parse().unwrap())),
            checks: Vec::new(),
            archive_timeout_seconds: Some(1.0),
            last_sizes: BTreeMap::new(),
        }
    }
}

fn settings(folder: &Path, limits: Limits) -> RestoreSettings {
    RestoreSettings {
        folder: folder.to_owned(),
        user: String::new(),
        postgres_folders: MAJORS.iter().filter_map(|major| lab::Tool::Postgres(*major).find().ok()).collect(),
        isolation: Isolation::Closed,
        fence: true,
        executable: env!("CARGO_BIN_EXE_dalsegno").into(),
        limits,
    }
}

/// One drill: its restorer, its folder, its run.
pub(crate) struct Drill {
    pub(crate) restorer: Restorer,
    pub(crate) folder: PathBuf,
    /// Gone with the drill.
    kept_folder: Option<Folder>,
    pub(crate) run: RunId,
    pub(crate) cx: Cx,
    pub(crate) receipts: BTreeMap<String, Receipt>,
    pub(crate) intents: Vec<Intent>,
}

impl Drill {
    pub(crate) fn new(subject: RestoreSubject) -> Self {
        Self::with(subject, Limits { retry_seconds: 3, stall_seconds: 10, reserve_bytes: 1 << 20, ..Limits::default() })
    }

    pub(crate) fn with(subject: RestoreSubject, limits: Limits) -> Self {
        let kept = Folder::new("drills").unwrap();
        let mut drill = Self::at(kept.path(), subject, limits);
        drill.kept_folder = Some(kept);
        drill
    }

    /// As on a kernel without Landlock.
    pub(crate) fn without_a_fence(subject: RestoreSubject) -> Self {
        let kept = Folder::new("drills").unwrap();
        let limits = Limits { retry_seconds: 3, stall_seconds: 10, reserve_bytes: 1 << 20, ..Limits::default() };
        let mut drill = Self::by(RestoreSettings { fence: false, ..settings(kept.path(), limits) }, subject);
        drill.kept_folder = Some(kept);
        drill
    }

    /// In a folder that outlives this process.
    pub(crate) fn at(folder: &Path, subject: RestoreSubject, limits: Limits) -> Self {
        Self::by(settings(folder, limits), subject)
    }

    fn by(settings: RestoreSettings, subject: RestoreSubject) -> Self {
        let folder = settings.folder.clone();
        let run = RunId::new();
        let cx = Cx {
            run,
            now: Timestamp::now(),
            deadline: Instant::now() + Duration::from_mins(2),
            cancel: CancellationToken::new(),
            progress: Arc::new(Quiet),
        };
        let restorer = Restorer::new(settings, vec![subject]);
        Self { restorer, folder, kept_folder: None, run, cx, receipts: BTreeMap::new(), intents: Vec::new() }
    }

    pub(crate) fn call(&self, step: &str, verb: &str, args: &Value) -> Call {
        let args = args.as_object().cloned().unwrap_or_else(Map::new);
        Call { run: self.run, step: step.to_owned(), verb: verb.to_owned(), args }
    }

    /// One step to its end.
    pub(crate) async fn step(&mut self, step: &str, verb: &str, args: Value) -> State {
        let call = self.call(step, verb, &args);
        let intent = match self.restorer.intend(&call) {
            Ok(intent) => intent,
            Err(refused) => return State::CouldNot { why: refused.why, hint: refused.hint },
        };
        self.intents.push(intent.clone());
        let handle = match self.restorer.start(&self.cx, &intent).await {
            Ok(handle) => handle,
            Err(ActError::Bad { why }) => return State::Failed { why },
            Err(error) => return State::CouldNot { why: error.to_string(), hint: String::new() },
        };
        loop {
            match self.restorer.look(&self.cx, &intent, Some(&handle)).await.unwrap() {
                State::Running { .. } => tokio::time::sleep(Duration::from_millis(10)).await,
                State::Done { receipt } => {
                    self.receipts.insert(step.to_owned(), (*receipt).clone());
                    return State::Done { receipt };
                }
                ended => return ended,
            }
        }
    }

    pub(crate) fn output(&self, step: &str, name: &str) -> Value {
        self.receipts.get(step).and_then(|receipt| receipt.outputs.get(name)).cloned().unwrap_or(Value::Null)
    }

    /// All steps until one does not end well; then what stands is the last state.
    pub(crate) async fn run(&mut self, target: &str, timeline: Option<u32>) -> State {
        let args = json!({"subject": SERVER, "target": target, "timeline": timeline});
        match self.step("choose", "archive.choose", args).await {
            State::Done { .. } => {}
            ended => return ended,
        }
        match self.make().await {
            State::Done { .. } => self.rest().await,
            ended => ended,
        }
    }

    async fn make(&mut self) -> State {
        let args = json!({"subject": SERVER, "cluster_size": self.output("choose", "cluster_size")});
        self.step("sandbox", "sandbox.make", args).await
    }

    /// The catalogue is read and the sandbox made: from here on the archive may change.
    pub(crate) async fn choose_and_make(&mut self) {
        let state = self.step("choose", "archive.choose", json!({"subject": SERVER})).await;
        assert!(matches!(state, State::Done { .. }), "{state:?}");
        let state = self.make().await;
        assert!(matches!(state, State::Done { .. }), "{state:?}");
    }

    /// From the base backup on.
    pub(crate) async fn rest(&mut self) -> State {
        let mut last = State::Absent;
        for (step, verb) in [("base", "pg.restore-base"), ("recover", "pg.recover"), ("checks", "pg.check")] {
            let args = json!({
                "subject": SERVER, "folder": self.output("sandbox", "folder"), "backup": self.output("choose", "backup"),
            });
            last = self.step(step, verb, args).await;
            if !matches!(last, State::Done { .. }) {
                break;
            }
        }
        last
    }

    /// Takes back, last first; gives what each undo said.
    pub(crate) async fn finally(&mut self) -> Vec<Undone> {
        let mut undone = Vec::new();
        for intent in self.intents.clone().into_iter().rev() {
            if matches!(intent.call.verb.as_str(), "sandbox.make" | "pg.recover") {
                let state = self.restorer.look(&self.cx, &intent, None).await.unwrap();
                undone.push(self.restorer.undo(&self.cx, &intent, &state).await.unwrap());
            }
        }
        undone
    }

    /// Nothing of this drill is left: no folder, no process that works in it.
    pub(crate) fn leaves_nothing(&self) {
        let left: Vec<_> = std::fs::read_dir(&self.folder).unwrap().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "left over: {left:?}");
        // A process that was told to end may take a moment to do so; one that goes on is found.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
        let mut working = processes_in(&self.folder);
        while !working.is_empty() && std::time::Instant::now() < until {
            std::thread::sleep(std::time::Duration::from_millis(50));
            working = processes_in(&self.folder);
        }
        assert!(working.is_empty(), "still working in the folder: {working:?}");
    }
}

/// Processes whose working folder or command line lies in a folder.
pub(crate) fn processes_in(folder: &Path) -> Vec<i32> {
    let text = folder.to_string_lossy().into_owned();
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()))
        .filter(|pid| {
            let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            cwd || String::from_utf8_lossy(&line).contains(&text)
        })
        .collect()
}

/// A user's check with a plain expectation.
pub(crate) fn check(name: &str, sql: &str, expect: Value) -> SqlCheck {
    SqlCheck {
        name: name.to_owned(),
        database: "postgres".to_owned(),
        sql: sql.to_owned(),
        expect: serde_json::from_value(expect).unwrap(),
        tells_stale: false,
        time_limit_seconds: 10,
    }
}
