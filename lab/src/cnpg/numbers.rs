//! What an instance's exporter and kubelet say, measured at the real server.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use sqlx::Row;

use super::exporter::{ArchiverValues, Exporter, Values};
use super::spec::Spec;
use crate::LabError;
use crate::kube::{Cluster, Usage};
use crate::postgres::Postgres;

/// pg_stat_archiver, as far as it decides the condition.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Archiver {
    pub(super) values: ArchiverValues,
    pub(super) last_failed_wal: String,
}

/// Asks the server.
pub(super) async fn archiver(pg: &Postgres) -> Result<Archiver, LabError> {
    let row = sqlx::query(
        "select archived_count, failed_count, coalesce(last_archived_wal, '') as archived, coalesce(last_failed_wal, '') as failed, \
         coalesce(extract(epoch from last_archived_time), -1)::float8 as at, coalesce(extract(epoch from last_failed_time), -1)::float8 as fell, \
         coalesce(extract(epoch from stats_reset), 0)::float8 as reset from pg_stat_archiver",
    )
    .fetch_one(pg.pool())
    .await?;
    let now = Timestamp::now().as_millisecond() as f64 / 1000.0;
    let since = |at: f64| if at < 0.0 { -1.0 } else { (now - at).max(0.0) };
    let (at, fell): (f64, f64) = (row.try_get("at")?, row.try_get("fell")?);
    let (archived, failed): (String, String) = (row.try_get("archived")?, row.try_get("failed")?);
    let count = |name: &str| row.try_get::<i64, _>(name).map(|n| u64::try_from(n).unwrap_or_default());
    Ok(Archiver {
        values: ArchiverValues {
            archived: count("archived_count")?,
            failed: count("failed_count")?,
            since_archival: since(at),
            since_failure: since(fell),
            last_archived: at,
            last_failed: fell,
            last_archived_lsn: position(&archived, pg.segment_bytes()),
            last_failed_lsn: position(&failed, pg.segment_bytes()),
            reset: row.try_get("reset")?,
        },
        last_failed_wal: failed,
    })
}

/// The position at which a segment begins, −1 when the name is none.
fn position(name: &str, segment_bytes: u64) -> f64 {
    let part = |from: usize, to: usize| name.get(from..to).and_then(|hex| u64::from_str_radix(hex, 16).ok());
    match (part(8, 16), part(16, 24)) {
        (Some(log), Some(segment)) => ((log << 32) + segment * segment_bytes) as f64,
        _ => -1.0,
    }
}

/// Renews an exporter's numbers at the real server, once; for a server that no Cluster stands for. `wal_volume` is the size of a
/// volume of its own below `pg_wal`, in bytes.
pub async fn measure(pg: &Postgres, exporter: &Exporter, wal_volume: Option<u64>) -> Result<(), LabError> {
    let seen = archiver(pg).await?;
    exporter.set(|values| {
        files(values, pg.segment_bytes(), wal_volume, &pg.data());
        values.archiver = Some(seen.values);
    });
    Ok(())
}

/// Fills in what the files tell.
pub(super) fn files(values: &mut Values, segment_bytes: u64, wal_volume: Option<u64>, data: &Path) {
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let wal = data.join("pg_wal");
    let marks = names(&wal.join("archive_status"));
    let count = |suffix: &str| marks.iter().filter(|name| name.ends_with(suffix)).count() as u64;
    (values.ready, values.done) = (count(".ready"), count(".done"));
    let segments =
        names(&wal).into_iter().filter(|name| name.len() == 24 && name.bytes().all(|b| b.is_ascii_hexdigit())).count() as u64;
    (values.wal_count, values.wal_size) = (segments, segments * segment_bytes);
    values.wal_volume_size = wal_volume;
    values.wal_volume_max = wal_volume.map(|_| 64 * segment_bytes);
}

/// Tells the kubelet of the instance's volumes: sizes as the Cluster asks for them, use as it is.
pub(super) fn volumes(cluster: &Cluster, spec: &Spec, data: &Path) {
    let pod = spec.instance();
    let wal = size(&data.join("pg_wal"));
    let whole = size(data);
    let kubelet = cluster.kubelet();
    let of = |capacity: u64, used: u64| Usage::of(capacity, capacity.saturating_sub(used));
    match spec.wal_storage {
        Some(capacity) => {
            kubelet.set_volume(&spec.namespace, &pod, "pgdata", &pod, of(spec.storage, whole.saturating_sub(wal)));
            kubelet.set_volume(&spec.namespace, &pod, "pg-wal", &format!("{pod}-wal"), of(capacity, wal));
        }
        None => kubelet.set_volume(&spec.namespace, &pod, "pgdata", &pod, of(spec.storage, whole)),
    }
}

/// Bytes of the files below a folder; what vanishes meanwhile counts nothing.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => size(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}
