//! The exporter of a CNPG instance (port 9187 of its pod): the metrics of the contract, with values that the
//! test sets. Metrics: <https://cloudnative-pg.io/documentation/current/monitoring/>, the plugin's
//! <https://cloudnative-pg.io/plugin-barman-cloud/docs/observability/>.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use crate::LabError;
use crate::webhook::{Manner, Reply, Webhook};

/// What the exporter says. Times are Unix seconds, sizes bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    /// The Cluster's name.
    pub cluster: String,
    /// `cnpg_collector_up`.
    pub up: bool,
    /// Files `.ready` in archive_status.
    pub ready: u64,
    /// Files `.done` there.
    pub done: u64,
    /// Segments in pg_wal.
    pub wal_count: u64,
    /// Their bytes.
    pub wal_size: u64,
    /// Size of the volume of pg_wal; `None` (NaN) without one of its own.
    pub wal_volume_size: Option<u64>,
    /// `max_wal_size` on such a volume; `None` (NaN) without one.
    pub wal_volume_max: Option<u64>,
    /// `wal_keep_size`.
    pub wal_keep: u64,
    /// pg_stat_archiver; `None` when the default queries are off.
    pub archiver: Option<ArchiverValues>,
    /// The server is a replica.
    pub replica: bool,
    /// The instance is fenced.
    pub fenced: bool,
    /// Metrics of the in-tree backup: first recoverability point, last available and last failed backup; 0 for the plugin's.
    pub in_tree: [f64; 3],
    /// The same three as the plugin says them; `None` without the plugin.
    pub plugin: Option<[f64; 3]>,
    /// Lines that are said as they are.
    pub extra: String,
}

/// The numbers of pg_stat_archiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArchiverValues {
    /// Segments that were archived.
    pub archived: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// −1 when nothing was ever archived.
    pub since_archival: f64,
    /// −1 when nothing ever failed.
    pub since_failure: f64,
    /// When last; −1 for never.
    pub last_archived: f64,
    /// When last; −1 for never.
    pub last_failed: f64,
    /// Position at which the last archived segment begins.
    pub last_archived_lsn: f64,
    /// Position at which the last failed segment begins.
    pub last_failed_lsn: f64,
    /// Since when the counters count.
    pub reset: f64,
}

impl Default for ArchiverValues {
    fn default() -> ArchiverValues {
        ArchiverValues {
            archived: 0,
            failed: 0,
            since_archival: -1.0,
            since_failure: -1.0,
            last_archived: -1.0,
            last_failed: -1.0,
            last_archived_lsn: -1.0,
            last_failed_lsn: -1.0,
            reset: 0.0,
        }
    }
}

impl Values {
    /// A primary that is well and idle.
    pub fn of(cluster: &str) -> Values {
        Values {
            cluster: cluster.to_owned(),
            up: true,
            ready: 0,
            done: 1,
            wal_count: 3,
            wal_size: 3 * 16 * 1024 * 1024,
            wal_volume_size: None,
            wal_volume_max: None,
            wal_keep: 512 * 1024 * 1024,
            archiver: Some(ArchiverValues::default()),
            replica: false,
            fenced: false,
            in_tree: [0.0; 3],
            plugin: None,
            extra: String::new(),
        }
    }

    /// The text of `/metrics`.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let number = |on: bool| f64::from(u8::from(on));
        let bytes = |value: Option<u64>| value.map_or(f64::NAN, |v| v as f64);
        family(&mut text, "cnpg_collector_up", "gauge", &[(label("cluster", &self.cluster), number(self.up))]);
        family(&mut text, "cnpg_collector_collection_errors_total", "counter", &[]);
        let one = |name: &str, kind: &str, value: f64, text: &mut String| family(text, name, kind, &[(String::new(), value)]);
        one("cnpg_collector_last_collection_error", "gauge", 0.0, &mut text);
        one("cnpg_collector_fencing_on", "gauge", number(self.fenced), &mut text);
        one("cnpg_collector_manual_switchover_required", "gauge", 0.0, &mut text);
        one("cnpg_collector_replica_mode", "gauge", number(self.replica), &mut text);
        let statuses = [(label("value", "ready"), self.ready as f64), (label("value", "done"), self.done as f64)];
        family(&mut text, "cnpg_collector_pg_wal_archive_status", "gauge", &statuses);
        let wal = [
            ("count", self.wal_count as f64),
            ("size", self.wal_size as f64),
            ("min", 5.0),
            ("max", 64.0),
            ("keep", self.wal_keep as f64),
            ("slots_max", f64::NAN),
            ("volume_size", bytes(self.wal_volume_size)),
            ("volume_max", bytes(self.wal_volume_max)),
        ];
        let wal: Vec<_> = wal.into_iter().map(|(name, value)| (label("value", name), value)).collect();
        family(&mut text, "cnpg_collector_pg_wal", "gauge", &wal);
        let names = ["first_recoverability_point", "last_available_backup_timestamp", "last_failed_backup_timestamp"];
        for (name, value) in names.iter().zip(self.in_tree) {
            one(&format!("cnpg_collector_{name}"), "gauge", value, &mut text);
        }
        for (name, value) in names.iter().zip(self.plugin.into_iter().flatten()) {
            one(&format!("barman_cloud_cloudnative_pg_io_{name}"), "gauge", value, &mut text);
        }
        if let Some(archiver) = &self.archiver {
            let all = [
                ("archived_count", "counter", archiver.archived as f64),
                ("failed_count", "counter", archiver.failed as f64),
                ("seconds_since_last_archival", "gauge", archiver.since_archival),
                ("seconds_since_last_failure", "gauge", archiver.since_failure),
                ("last_archived_time", "gauge", archiver.last_archived),
                ("last_failed_time", "gauge", archiver.last_failed),
                ("last_archived_wal_start_lsn", "gauge", archiver.last_archived_lsn),
                ("last_failed_wal_start_lsn", "gauge", archiver.last_failed_lsn),
                ("stats_reset_time", "gauge", archiver.reset),
            ];
            for (name, kind, value) in all {
                one(&format!("cnpg_pg_stat_archiver_{name}"), kind, value, &mut text);
            }
        }
        text.push_str(&self.extra);
        text
    }
}

fn label(name: &str, value: &str) -> String {
    format!("{{{name}=\"{value}\"}}")
}

/// A metric with its samples: labels and value.
fn family(text: &mut String, name: &str, kind: &str, samples: &[(String, f64)]) {
    let _ = writeln!(text, "# HELP {name} as CNPG's instance manager says it\n# TYPE {name} {kind}");
    for (labels, value) in samples {
        let _ = writeln!(text, "{name}{labels} {value}");
    }
}

/// A running exporter; gone when dropped.
#[derive(Debug)]
pub struct Exporter {
    hook: Webhook,
    values: Arc<Mutex<Values>>,
}

impl Exporter {
    /// Starts one on a free port.
    pub fn start(values: Values) -> Result<Exporter, LabError> {
        let values = Arc::new(Mutex::new(values));
        let shared = Arc::clone(&values);
        let hook = Webhook::strict(Arc::new(move |request| {
            let is_it = request.path_only() == "/metrics" && request.method == "GET";
            let body = if is_it { shared.lock().unwrap_or_else(PoisonError::into_inner).text() } else { String::new() };
            Reply { status: if is_it { 200 } else { 404 }, content_type: "text/plain; version=0.0.4; charset=utf-8", body }
        }))?;
        Ok(Exporter { hook, values })
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.hook.port()
    }

    /// `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        self.hook.url("").trim_end_matches('/').to_owned()
    }

    /// Changes what it says.
    pub fn set(&self, change: impl FnOnce(&mut Values)) {
        change(&mut self.values.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What it says now.
    pub fn values(&self) -> Values {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes how it answers; `Status(200)` is as it should.
    pub fn answer(&self, manner: Manner) {
        self.hook.answer(manner);
    }

    /// How often it was asked.
    pub fn asked(&self) -> usize {
        self.hook.received().len()
    }
}
