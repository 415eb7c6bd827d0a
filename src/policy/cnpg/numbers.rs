//! The numbers of a Cluster's archiver, and what they say: better than a condition, since they are fresh.

use jiff::Timestamp;

use super::super::ground::{Ground, MINUTE};
use crate::domain::{CnpgFact, bytes_in_words, duration_in_words, metric};

/// Two values this far apart tell a trend: passes run every five minutes, and PostgreSQL tries again every minute.
const TREND: f64 = 4.0 * MINUTE;
/// So many segments wait on a healthy server between two runs of its archiver (maxParallel, a burst, a switchover).
pub(super) const READY_FEW: f64 = 3.0;
/// PostgreSQL tries three times, then waits a minute (NUM_ARCHIVE_RETRIES, pgarch.c). More failures are a second round at least.
const ONE_ROUND: f64 = 3.0;

/// What is known of an archiver. `None` = not known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbers {
    /// The exporter of the primary answered.
    pub(super) exporter: Option<bool>,
    /// Segments that wait.
    pub(super) ready: Option<f64>,
    /// By how much they became more, and in how many seconds.
    pub(super) ready_growth: Option<(f64, f64)>,
    /// Segments archived since the statistics were reset.
    pub(super) archived: Option<f64>,
    /// Failures counted.
    pub(super) failed: Option<f64>,
    /// How many failures came; never negative (a reset is not known).
    pub(super) failed_growth: Option<f64>,
    /// When the last segment was archived.
    pub(super) last_archived: Option<Timestamp>,
    /// When it failed last.
    pub(super) last_failed: Option<Timestamp>,
    /// Seconds since a segment was archived.
    pub(super) silent_for: Option<f64>,
    /// Bytes of pg_wal.
    pub(super) wal_bytes: Option<f64>,
    /// Bytes free on, and of, the volume that holds it.
    pub(super) room: Option<(f64, f64)>,
}

impl Numbers {
    pub(super) fn of(ground: &Ground, cluster: &CnpgFact) -> Self {
        let subject = &cluster.subject;
        let value = |metric| ground.value(subject, metric);
        // The exporter says -1 for never, and 0 where a time is not known.
        let moment = |metric| value(metric).filter(|unix| *unix > 0.0).and_then(moment);
        let growth = |metric| ground.growth(subject, metric, TREND);
        let last_archived = moment(metric::WAL_LAST_ARCHIVED);
        let said = value(metric::WAL_SINCE_ARCHIVAL).filter(|seconds| *seconds >= 0.0);
        let (available, capacity) = if cluster.wal_storage.is_some() {
            (value(metric::WAL_VOLUME_AVAILABLE), value(metric::WAL_VOLUME_CAPACITY))
        } else {
            (value(metric::DATA_VOLUME_AVAILABLE), value(metric::DATA_VOLUME_CAPACITY))
        };
        Self {
            exporter: value(metric::EXPORTER_UP).map(|up| up > 0.0),
            ready: value(metric::WAL_READY),
            ready_growth: growth(metric::WAL_READY),
            archived: value(metric::WAL_ARCHIVED),
            failed: value(metric::WAL_FAILED),
            failed_growth: growth(metric::WAL_FAILED).map(|(more, _)| more).filter(|more| *more >= 0.0),
            last_archived,
            last_failed: moment(metric::WAL_LAST_FAILED),
            silent_for: said.or_else(|| last_archived.map(|at| ground.age(at))),
            wal_bytes: value(metric::WAL_BYTES),
            room: available.zip(capacity),
        }
    }

    /// What waits is getting less: the archiver works, whatever a condition says.
    pub(super) fn draining(&self) -> bool {
        self.ready_growth.is_some_and(|(more, _)| more < 0.0)
    }

    /// The last try failed: nothing was archived after it.
    pub(super) fn last_try_failed(&self) -> bool {
        match (self.last_failed, self.last_archived) {
            (Some(failed), Some(archived)) => failed > archived,
            (Some(_), None) => self.archived.is_none_or(|count| count <= 0.0),
            (None, _) => false,
        }
    }

    /// PostgreSQL fails again and again: more than the one round of tries that a switchover costs.
    pub(super) fn keeps_failing(&self) -> bool {
        self.last_try_failed() && self.failed_growth.is_some_and(|more| more > ONE_ROUND)
    }

    /// More waits than a healthy server lets wait.
    pub(super) fn backlog(&self) -> bool {
        self.ready.is_some_and(|ready| ready > READY_FEW)
    }

    /// Nothing waits: there is nothing that could fail to be archived.
    pub(super) fn nothing_waits(&self) -> bool {
        self.ready.is_some_and(|ready| ready < 1.0)
    }

    /// For people, one fact a line.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(ready) = self.ready {
            let trend = self
                .ready_growth
                .map_or_else(String::new, |(more, seconds)| format!(", {more:+.0} in {}", duration_in_words(seconds)));
            lines.push(format!("{ready:.0} segment(s) wait to be archived{trend}"));
        }
        if let Some(at) = self.last_archived {
            lines.push(format!("last archived {at}"));
        }
        if let Some(at) = self.last_failed {
            lines.push(format!("last failed {at}"));
        }
        if let Some(failed) = self.failed {
            let more = self.failed_growth.map_or_else(String::new, |more| format!(", {more:+.0} since the pass before"));
            lines.push(format!("failures counted: {failed:.0}{more}"));
        }
        if let Some(bytes) = self.wal_bytes {
            lines.push(format!("pg_wal holds {}", words(bytes)));
        }
        if let Some((free, all)) = self.room {
            lines.push(format!("{} of {} are free on its volume", words(free), words(all)));
        }
        lines
    }
}

/// A Unix time of a metric.
fn moment(unix: f64) -> Option<Timestamp> {
    let since = jiff::SignedDuration::try_from_secs_f64(unix).ok()?;
    Timestamp::UNIX_EPOCH.checked_add(since).ok()
}

/// Bytes of a metric for people.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a negative or huge number of bytes saturates")]
fn words(bytes: f64) -> String {
    bytes_in_words(bytes as u64)
}
