//! The platform of the clock's act: a PostgreSQL whose `pg_wal` lies on a small real volume, who archives it, who counts what happens
//! there (CNPG's exporter and the kubelet's numbers of the volume, as far as the clock reads them, scraped by a Prometheus), and an
//! Alertmanager. Small and quick, so that the volume would be full in a minute instead of a weekend.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lab::alertmanager::Alertmanager;
use lab::barman::{Archiver, Barman, BaseCompression, WalCompression};
use lab::cnpg::exporter::{Exporter, Values};
use lab::home::Folder;
use lab::postgres::{Options, Postgres};
use lab::prometheus::{self, Prometheus, Target};
use lab::seaweed::Seaweed;
use lab::volume::Volume;
use lab::{LabError, cnpg};

use crate::platform::secrets;
use crate::say::Narrator;

/// The database's name in the configuration.
pub(crate) const DB: &str = "forum-db";
const NAMESPACE: &str = "forum";
const PREFIX: &str = "cnpg";
/// The size of the volume.
pub(crate) const VOLUME: u64 = 36 << 20;
/// Bytes of WAL in one beat.
const LOAD: usize = 150_000;
/// How often WAL is made and the numbers are renewed.
const BEAT: Duration = Duration::from_millis(250);
/// The last thing that is waited for in vain.
const PATIENCE: Duration = Duration::from_secs(90);

/// All of it; stops and goes when dropped, the volume last of what uses it.
pub(crate) struct Filling {
    pub(crate) config: PathBuf,
    pub(crate) alertmanager: Alertmanager,
    pub(crate) pg: Postgres,
    writes: Cell<bool>,
    archiver: Archiver,
    barman: Barman,
    exporter: Exporter,
    volume: Volume,
    _prometheus: Prometheus,
    _weed: Seaweed,
    _folder: Folder,
}

impl Filling {
    pub(crate) async fn build(volume: Volume, say: &Narrator) -> Result<Filling, LabError> {
        let weed = Seaweed::start().await?;
        let bucket = weed.fresh_bucket().await?;
        let barman = Barman::new(weed.endpoint(), weed.keys().admin(), &bucket, PREFIX, DB)?;
        let archiver = barman.archiver(WalCompression::None)?;
        let options = Options::new(16)
            .segment_mib(1)
            .archive_command(archiver.command())
            .wal_in(volume.path())
            .setting("max_wal_size", "4MB")
            .setting("min_wal_size", "2MB")
            .setting("checkpoint_timeout", "30s")
            .setting("archive_timeout", "2s");
        let pg = Postgres::start(options).await?;
        say.line(&format!("PostgreSQL {}, its pg_wal on a volume of {} MiB, archived by barman-cloud", pg.major(), VOLUME >> 20));
        let exporter = Exporter::start(Values::of(DB))?;
        let pod = Target::new("cnpg", &exporter.url()).label("namespace", NAMESPACE).label("pod", &format!("{DB}-1"));
        let prometheus = Prometheus::start(&prometheus::Options::default().target(pod)).await?;
        let alertmanager = Alertmanager::start().await?;
        say.line(&format!("Prometheus at {}, Alertmanager at {}", prometheus.url(), alertmanager.url()));
        let id = barman.backup(&pg, BaseCompression::None).await?;
        say.line(&format!("base backup {id}"));
        let folder = Folder::new("demo-clock")?;
        let config = folder.path().join("dalsegno.yaml");
        let place = (weed.endpoint(), bucket.as_str());
        let watched = (prometheus.url(), alertmanager.url());
        let text = configuration(place, &watched, folder.path(), &secrets(&weed, folder.path())?, &pg.system_id().await?);
        fs::write(&config, text).map_err(|e| LabError::Other(format!("{}: {e}", config.display())))?;
        Ok(Filling {
            config,
            alertmanager,
            pg,
            writes: Cell::new(true),
            archiver,
            barman,
            exporter,
            volume,
            _prometheus: prometheus,
            _weed: weed,
            _folder: folder,
        })
    }

    /// WAL is made and everything is counted, for as long as nobody stops it; it ends by a fault only.
    pub(crate) async fn live(&self) -> LabError {
        loop {
            let next = Instant::now() + BEAT;
            if let Err(fault) = self.beat().await {
                return fault;
            }
            tokio::time::sleep(next.saturating_duration_since(Instant::now())).await;
        }
    }

    async fn beat(&self) -> Result<(), LabError> {
        if self.writes.get() {
            // Not transactional: it fills WAL and nothing else.
            let times = LOAD / 32;
            let sql = format!("select pg_logical_emit_message(false, 'demo', repeat(md5(random()::text), {times}))");
            self.pg.sql(&sql).await?;
        }
        let space = self.volume.space()?;
        cnpg::measure(&self.pg, &self.exporter, Some(space.capacity)).await?;
        let claim = format!("{{persistentvolumeclaim=\"{DB}-1-wal\"}}");
        self.exporter.set(|values| {
            values.extra = format!(
                "kubelet_volume_stats_available_bytes{claim} {}\nkubelet_volume_stats_capacity_bytes{claim} {}\n",
                space.available, space.capacity
            );
        });
        Ok(())
    }

    /// Segments that wait for the archiver.
    pub(crate) fn waiting(&self) -> u64 {
        self.exporter.values().ready
    }

    /// Waits until something is so.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Values) -> bool) -> Result<(), LabError> {
        let until = Instant::now() + PATIENCE;
        while !is_so(&self.exporter.values()) {
            if Instant::now() > until {
                let server = format!("{what} ({} segments wait)", self.waiting());
                return Err(LabError::NotReady { server, seconds: PATIENCE.as_secs(), log: self.pg.log_end() });
            }
            tokio::time::sleep(BEAT).await;
        }
        Ok(())
    }

    /// The secret of the archiver is no longer right.
    pub(crate) fn break_the_archiver(&self) -> Result<(), LabError> {
        self.archiver.break_credentials()
    }

    /// It is right again, and nobody writes any more; returns when some of what waited has been archived.
    pub(crate) async fn repair(&self) -> Result<(), LabError> {
        self.writes.set(false);
        self.archiver.mend_credentials()?;
        // An archiver that gave up for a while is woken by the next segment.
        self.pg.sql("select pg_switch_wal()").await?;
        let archived = |values: &Values| values.archiver.map_or(0, |archiver| archiver.archived);
        let before = archived(&self.exporter.values());
        self.until("an archiver that works again", |values| archived(values) >= before + 2).await
    }

    /// Nothing waits any more.
    pub(crate) async fn drained(&self) -> Result<(), LabError> {
        self.until("an empty backlog", |values| values.ready == 0).await
    }

    /// A base backup, and the WAL that makes it whole.
    pub(crate) async fn back_up(&self) -> Result<String, LabError> {
        let id = self.barman.backup(&self.pg, BaseCompression::None).await?;
        self.pg.switch_and_wait_archived().await?;
        Ok(id)
    }
}

fn configuration(place: (&str, &str), watched: &(String, String), folder: &Path, secrets: &Path, system_id: &str) -> String {
    format!(
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
    archive-timeout: 2s
    policy: {{rpo: 30m, rto: 5m, base-backup-every: 26h, disk-full-critical: 30s}}
prometheus:
  main:
    url: {prometheus}
    range: 10m
    databases: {{{DB}: {{namespace: {NAMESPACE}, cluster: {DB}}}}}
notify:
  alertmanager:
    main: {{url: "{alertmanager}"}}
"#,
        state = folder.join("state").display(),
        endpoint = place.0,
        bucket = place.1,
        secrets = secrets.display(),
        prometheus = watched.0,
        alertmanager = watched.1,
    )
}
