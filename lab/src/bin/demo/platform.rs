//! The platform of the demo: a store, a cluster, an archiver, and the configuration that watches them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::barman::{Archiver, Barman, BaseCompression, WalCompression};
use lab::home::Folder;
use lab::postgres::{Options, Postgres};
use lab::seaweed::Seaweed;
use lab::{LabError, Tool, User};

use crate::say::Narrator;

/// The database's name in the configuration.
pub(crate) const DB: &str = "keycloak-db";
const PREFIX: &str = "cnpg";
/// Small, so that the archiver's fault is seen while one watches.
const RPO_SECONDS: u64 = 30;
/// Longer than the RPO, and than `archive-timeout` below plus what dalsegno grants a late upload: before that a hole may still fill.
pub(crate) const PATIENCE: Duration = Duration::from_secs(35);

/// All of it; stops and goes when dropped.
pub(crate) struct Platform {
    pub(crate) config: PathBuf,
    pg: Postgres,
    archiver: Archiver,
    barman: Barman,
    bucket: String,
    weed: Seaweed,
    _folder: Folder,
}

impl Platform {
    pub(crate) async fn build(say: &Narrator) -> Result<Platform, LabError> {
        let weed = Seaweed::start().await?;
        let bucket = weed.fresh_bucket().await?;
        say.line(&format!("SeaweedFS at {}, bucket {bucket}", weed.endpoint()));
        let barman = Barman::new(weed.endpoint(), weed.keys().admin(), &bucket, PREFIX, DB)?;
        let archiver = barman.archiver(WalCompression::Gzip)?;
        let pg = Postgres::start(Options::new(16).archive_command(archiver.command())).await?;
        let rows = pg.write_accounts(20_000).await?;
        say.line(&format!("PostgreSQL {} with {rows} accounts, archive_command = barman-cloud-wal-archive --gzip", pg.major()));
        let id = barman.backup(&pg, BaseCompression::Gzip).await?;
        say.line(&format!("base backup {id} by barman-cloud-backup --gzip"));
        for _ in 0..3 {
            pg.write_accounts(5_000).await?;
            pg.switch_and_wait_archived().await?;
        }
        say.line("15,000 accounts and some segments of WAL later …");
        let folder = Folder::new("demo")?;
        let config = folder.path().join("dalsegno.yaml");
        let text = configuration(&weed, &bucket, folder.path(), &pg.system_id().await?)?;
        fs::write(&config, text).map_err(|e| LabError::Other(format!("{}: {e}", config.display())))?;
        let platform = Platform { config, pg, archiver, barman, bucket, weed, _folder: folder };
        platform.tick().await?;
        Ok(platform)
    }

    /// Work goes on: a row, and its segment is archived.
    pub(crate) async fn tick(&self) -> Result<(), LabError> {
        self.pg.switch_and_wait_archived().await.map(|_| ())
    }

    /// Three more segments reach the archive, and the middle one is lost; gives its key.
    pub(crate) async fn lose_a_segment(&self) -> Result<String, LabError> {
        self.tick().await?;
        let lost = self.pg.switch_and_wait_archived().await?;
        self.tick().await?;
        let key = self.barman.wal_key(&lost, WalCompression::Gzip);
        self.weed.client().delete(&self.bucket, &key).await?;
        Ok(key)
    }

    /// The archiver's secret is no longer right; returns when the archive is older than it may be.
    pub(crate) async fn break_the_archiver(&self) -> Result<(), LabError> {
        self.archiver.break_credentials()?;
        self.pg.sql("insert into ticks default values; select pg_switch_wal()").await?;
        tokio::time::sleep(PATIENCE).await;
        Ok(())
    }
}

/// The read-only key as files of one's own; gives their folder.
pub(crate) fn secrets(weed: &Seaweed, folder: &Path) -> Result<PathBuf, LabError> {
    let secrets = folder.join("secrets");
    fs::create_dir_all(&secrets).map_err(|e| LabError::Other(e.to_string()))?;
    for (name, value) in [("id", &weed.keys().read_only().id), ("secret", &weed.keys().read_only().secret)] {
        let file = secrets.join(name);
        let closed = fs::Permissions::from_mode(0o600);
        fs::write(&file, value).and_then(|()| fs::set_permissions(&file, closed)).map_err(|e| LabError::Other(e.to_string()))?;
    }
    Ok(secrets)
}

fn configuration(weed: &Seaweed, bucket: &str, folder: &Path, system_id: &str) -> Result<String, LabError> {
    let secrets = secrets(weed, folder)?;
    let user = User::unprivileged()?;
    let drill_user = user.name().map(|name| format!("user: {name}, ")).unwrap_or_default();
    let sandboxes = folder.join("sandboxes");
    fs::create_dir_all(&sandboxes).map_err(|e| LabError::Other(e.to_string()))?;
    Ok(format!(
        r#"site: demo
environment: prod
state: {{folder: {state}}}
stores:
  seaweed:
    endpoint: {endpoint}
    bucket: {bucket}
    read: {{access-key-id: {{file: {secrets}/id}}, secret-access-key: {{file: {secrets}/secret}}}}
postgres:
  {DB}:
    archive: {{store: seaweed, prefix: {PREFIX}, server: {DB}}}
    system-id: "{system_id}"
    archive-timeout: 10s
    policy: {{rpo: {RPO_SECONDS}s, rto: 5m, base-backup-every: 26h, drill-every: 35d}}
    checks:
      - {{name: accounts, sql: "select count(*) from accounts", expect: {{at-least: 35000}}}}
      - {{name: newest-row, sql: "select max(at) from ticks", expect: {{newer-than-seconds: 600}}, tells-stale: true}}
drill: {{folder: {sandboxes}, {drill_user}postgres: [{bin}]}}
"#,
        state = folder.join("state").display(),
        endpoint = weed.endpoint(),
        secrets = secrets.display(),
        sandboxes = sandboxes.display(),
        bin = Tool::Postgres(16).find()?.display(),
    ))
}

/// Command lines of processes that name a folder below `home`, ourselves and the janitor apart.
pub(crate) fn processes_in(home: &Path) -> Vec<String> {
    let needle = home.display().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok) {
        let Ok(line) = fs::read(entry.path().join("cmdline")) else { continue };
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&needle) && !line.contains("lab-janitor") && entry.file_name() != *std::process::id().to_string() {
            found.push(line.trim().to_owned());
        }
    }
    found
}
