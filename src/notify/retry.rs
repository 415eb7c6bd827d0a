//! When a message that was not taken is tried again: the pauses grow from pass to pass, and end.

use jiff::{SignedDuration, Timestamp};

/// A message is tried for so long, then it is given up.
pub const GIVE_UP_AFTER: SignedDuration = SignedDuration::from_hours(72);
const FIRST: i64 = 60;
const LONGEST: i64 = 3_600;
/// A receiver may ask for a longer pause than ours, up to this.
const LONGEST_ASKED: i64 = 86_400;

/// What becomes of a message after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Tried again at this time, or in the first pass after it.
    At(Timestamp),
    /// Tried for [`GIVE_UP_AFTER`]: no more.
    GiveUp,
}

/// 1, 2, 4, … minutes, an hour at most; never earlier than the receiver asked for (`Retry-After`, in seconds).
pub fn next_attempt(made_at: Timestamp, attempts: i64, now: Timestamp, retry_after: Option<u64>) -> Next {
    if now.duration_since(made_at) >= GIVE_UP_AFTER {
        return Next::GiveUp;
    }
    let doublings = u32::try_from(attempts.clamp(1, 12) - 1).unwrap_or(0);
    let ours = FIRST.saturating_mul(1 << doublings).min(LONGEST);
    let asked = retry_after.map_or(0, |seconds| i64::try_from(seconds).unwrap_or(LONGEST_ASKED).min(LONGEST_ASKED));
    Next::At(now.saturating_add(SignedDuration::from_secs(ours.max(asked))).unwrap_or(Timestamp::MAX))
}
