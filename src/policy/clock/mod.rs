//! The disk-full clock: free bytes of the volume that holds `pg_wal` against the WAL that is made and not archived.
//!
//! Two regimes fill a volume: archiving fails, and archiving works but slower than WAL is made (nothing is counted as failed then).
//! A replication slot fills it too, whatever the archiver does. [`clock_of`] reads all of it for one database; it says a range, or why
//! there is none, and it never says a number from two samples. See docs/concepts/clock.md.

mod drain;
mod estimate;
mod regime;
mod say;
mod tracks;
mod volume;

use std::collections::BTreeSet;

use jiff::Timestamp;

use self::regime::Ask;
use self::tracks::Tracks;
use self::volume::Room;
use super::ground::{DEFAULT_ARCHIVE_TIMEOUT, Ground};
use crate::domain::{Bootstrap, Clock, CnpgFact, Expected, Finding, Observation, ProviderId, Subject, SubjectKind, metric};

pub(super) use say::{failing, when};

/// PostgreSQL's segment size unless `initdb` was told another.
const DEFAULT_SEGMENT: f64 = 16.0 * 1_048_576.0;

/// The clock of one database. Cheap when nothing is held.
pub(super) fn clock_of(ground: &Ground, subject: &Subject) -> Clock {
    let cluster = ground.cluster_of(subject);
    let tracks = Tracks::of(ground, subject, segment_of(ground, subject, cluster));
    let room = Room::of(&tracks, cluster);
    let policy = ground.policy(subject);
    let ask = Ask {
        ground,
        subject,
        cluster,
        tracks: &tracks,
        room,
        beat: policy.archive_timeout_seconds.unwrap_or(DEFAULT_ARCHIVE_TIMEOUT),
        grace: ground.archiving_grace(subject),
    };
    ask.clock()
}

/// By the archive's own headers, else by how the Cluster was made.
fn segment_of(ground: &Ground, subject: &Subject, cluster: Option<&CnpgFact>) -> f64 {
    let seen = ground.archive_of(subject).and_then(|archive| archive.segment_size).map(|bytes| bytes as f64);
    let made = || match cluster.map(|cluster| &cluster.bootstrap) {
        Some(Bootstrap::Initdb { wal_segment_mb: Some(mb), .. }) => Some(f64::from(*mb) * 1_048_576.0),
        _ => None,
    };
    seen.or_else(made).unwrap_or(DEFAULT_SEGMENT)
}

/// Databases that the clock is asked of: those whose numbers are known, and those that an API server shows.
fn subjects(ground: &Ground) -> BTreeSet<Subject> {
    // A text has no clock: nothing of it runs.
    let clusters = ground.cnpg.iter().filter(|cluster| !cluster.from_text).map(|cluster| &cluster.subject);
    ground.measured(metric::OF_THE_CLOCK).chain(clusters).filter(|subject| subject.kind() == SubjectKind::Pg).cloned().collect()
}

/// The clocks of all databases of a pass: for the screen and for the ledger.
pub fn clocks(now: Timestamp, expected: &Expected, observations: &[(ProviderId, Observation)]) -> Vec<(Subject, Clock)> {
    let ground = Ground::new(now, expected, observations, &[]);
    subjects(&ground)
        .into_iter()
        .map(|subject| {
            let clock = clock_of(&ground, &subject);
            (subject, clock)
        })
        .collect()
}

pub(super) fn judge(ground: &Ground) -> Vec<Finding> {
    subjects(ground).into_iter().filter_map(|subject| say::finding(ground, &subject, &clock_of(ground, &subject))).collect()
}
