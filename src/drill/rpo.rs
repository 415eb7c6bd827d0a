//! RPO by its two numbers: *data as of* (the newest data that came back) and *covered until* (nothing can be missing up to then).

use jiff::Timestamp;

use super::facts::Facts;
use crate::domain::Rpo;

/// A clock may be off by so much before a moment in the future means that nothing can be said.
const CLOCK_SLACK_SECONDS: f64 = 60.0;

/// RPO as of the drill's beginning: that is when the archive was read. A drill that takes long loses no data by it.
pub(super) fn rpo(facts: Facts<'_>, began: Timestamp) -> Rpo {
    let covered_until = facts.covered_until();
    let seconds = covered_until.map(|until| began.duration_since(until).as_secs_f64());
    Rpo {
        data_as_of: facts.data_as_of(),
        covered_until,
        covered_by: covered_until.map(|_| facts.covered_by()),
        seconds: seconds.filter(|seconds| *seconds >= -CLOCK_SLACK_SECONDS).map(|seconds| seconds.max(0.0)),
    }
}
