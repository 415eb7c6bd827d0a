//! Whether the volumes of a recovery hold what it will bring.

use super::super::super::ground::{Ground, say};
use super::super::restored::source;
use super::recovering;
use super::source::{archive, base};
use crate::domain::{ArchiveFact, ArchiveRef, BaseBackup, CnpgFact, Finding, Severity, bytes_in_words};

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    too_small(ground, cluster)
}

/// Data, and WAL where it lands: on the data volume when there is no other, and with the plugin's restore even then.
pub(super) fn too_small(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    if !recovering(cluster) {
        return None;
    }
    let (archive, volume) = (archive(ground, cluster)?, cluster.storage?);
    let base = base(cluster, archive)?;
    let data = base.cluster_size?;
    let by_plugin = matches!(source(cluster), Some((_, ArchiveRef::Plugin { .. })));
    let wal = if by_plugin || cluster.wal_storage.is_none() { to_replay(archive, base)? } else { 0 };
    let needed = data.saturating_add(wal);
    if needed <= volume {
        return None;
    }
    let apart =
        cluster.wal_storage.map(|size| format!("walStorage {} is not used while the plugin restores", bytes_in_words(size)));
    let suggested = bytes_in_words(data.saturating_add(data / 5).saturating_add(wal));
    Some(Finding {
        evidence: std::iter::once(format!("base backup {}: cluster_size {data} ({})", base.id, bytes_in_words(data)))
            .chain(std::iter::once(format!(
                "WAL from {} to the end of {}: up to {}",
                base.begin_wal.as_deref().unwrap_or("?"),
                archive.place,
                bytes_in_words(wal)
            )))
            .chain(std::iter::once(format!("spec.storage.size {volume} ({})", bytes_in_words(volume))))
            .chain(apart.filter(|_| by_plugin))
            .collect(),
        cause: format!(
            "{} of data and up to {} of WAL do not fit into {}",
            bytes_in_words(data),
            bytes_in_words(wal),
            bytes_in_words(volume)
        ),
        remedy: format!(
            "set spec.storage.size of {} to at least {suggested}, or restore from a newer base backup",
            cluster.cluster
        ),
        ..say(
            "restore-volume-too-small",
            Severity::Warning,
            &cluster.subject,
            format!(
                "the volume of {} holds {}, the recovery may need {}",
                cluster.cluster,
                bytes_in_words(volume),
                bytes_in_words(needed)
            ),
        )
    })
}

/// Bytes of WAL from the first segment of a base backup to the newest one: an upper bound, wherever the target lies.
fn to_replay(archive: &ArchiveFact, base: &BaseBackup) -> Option<u64> {
    let size = archive.segment_size.filter(|size| *size > 0)?;
    let begin = number(base.begin_wal.as_deref()?, size)?;
    let end = number(&archive.newest_segment.as_ref()?.name, size)?;
    Some(end.saturating_sub(begin).saturating_add(1).saturating_mul(size))
}

/// The position of a segment in the one line of WAL, in segments.
fn number(segment: &str, size: u64) -> Option<u64> {
    let part = |text: Option<&str>| u64::from_str_radix(text?, 16).ok();
    let (log, low) = (part(segment.get(8..16))?, part(segment.get(16..24))?);
    log.checked_mul((1 << 32) / size)?.checked_add(low)
}
