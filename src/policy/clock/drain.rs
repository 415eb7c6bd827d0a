//! The end of an outage: when it was, and whether it is behind us.

use super::tracks::{Step, Track};
use crate::domain::{Outage, Subject};
use crate::policy::ground::{Ground, done};

/// The last time, over by now, in which nothing was archived for at least `grace` although at least two files waited all the while:
/// its two ends.
pub(super) fn outage(gone: &[Step], backlog: &Track, segment: f64, grace: f64) -> Option<(f64, f64)> {
    let mut end: Option<f64> = None;
    let mut found: Option<(f64, f64)> = None;
    // From now backwards: a step without growth while something waits belongs to an outage that ends where the next step begins.
    for step in gone.iter().rev() {
        let waits = |at: f64| backlog.at(at).is_some_and(|bytes| bytes >= 2.0 * segment);
        let still = step.by == Some(0.0) && waits(step.from) && waits(step.to);
        if still {
            let until = *end.get_or_insert(step.to);
            if until - step.from >= grace {
                found = Some((step.from, until));
            }
            continue;
        }
        if found.is_some() {
            break;
        }
        end = None;
    }
    found
}

/// Whether an outage is behind us: a base backup was begun after its end, and the WAL from it on is unbroken. Only the archive itself
/// can show that; where it was not seen, it is not shown.
pub(super) fn closed(ground: &Ground, subject: &Subject, outage: Outage) -> bool {
    let (Some(archive), Some(until)) = (ground.archive_of(subject), outage.until) else { return false };
    done(archive)
        .into_iter()
        .filter(|backup| backup.begin_time.is_some_and(|begin| begin >= until))
        .any(|backup| archive.windows.iter().any(|window| window.backup == backup.id && window.broken_at.is_none()))
}
