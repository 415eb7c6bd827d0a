//! What is said of a clock: the finding of its regime, as near as the harm is.

use super::super::ground::{DAY, Ground, HOUR, say};
use super::drain;
use crate::domain::{Clock, Finding, Held, NoNumber, Severity, Subject, Within, bytes_in_words, duration_in_words};

/// Full within three days: over a weekend nobody looks, and enlarging a volume may need somebody else.
const WARNING_WITHIN: f64 = 72.0 * HOUR;
/// Full within a day: nobody should sleep over it.
const CRITICAL_WITHIN: f64 = 24.0 * HOUR;
/// An archive that takes nothing for so long is critical whatever is free: what was written since exists once.
const FAILS_FOR: f64 = DAY;
/// A slot that fills the volume in a week is worth a look today; one that needs longer is not told.
const SLOT_WITHIN: f64 = 7.0 * DAY;

/// How near the harm of a full volume is; `None` = further away than anybody is told of.
fn nearness(ground: &Ground, subject: &Subject, full: &Within) -> Option<Severity> {
    let policy = ground.policy(subject);
    if full.middle <= policy.full_critical_seconds.unwrap_or(CRITICAL_WITHIN) {
        Some(Severity::Critical)
    } else if full.low <= policy.full_warning_seconds.unwrap_or(WARNING_WITHIN) {
        Some(Severity::Warning)
    } else {
        None
    }
}

pub(super) fn finding(ground: &Ground, subject: &Subject, clock: &Clock) -> Option<Finding> {
    // A Cluster that is put to sleep writes nothing, and its numbers are old.
    if ground.cluster_of(subject).is_some_and(|cluster| cluster.hibernated) {
        return None;
    }
    match clock.held {
        Held::NotKnown | Held::Not => None,
        // Where an API server shows the archiver, the rule that knows its causes says it, with this clock.
        Held::ArchivingFails => ground.cluster_of(subject).is_none().then(|| failing(ground, subject, clock)),
        Held::ArchivingIsSlower => Some(slower(ground, subject, clock)),
        Held::Slot => slot(ground, subject, clock),
        Held::Draining => Some(draining(ground, subject, clock)),
    }
}

/// `full in 7–12 h` and what that rests on, or why there is no number.
pub(in crate::policy) fn when(clock: &Clock) -> String {
    match (&clock.full_in, clock.no_number) {
        (Some(within), _) => format!("the volume is full in {within}"),
        (None, Some(why)) => format!("when the volume is full cannot be said: {}", why.as_str()),
        (None, None) => "when the volume is full is not known".to_owned(),
    }
}

/// What it rests on, one fact a line.
fn evidence(clock: &Clock) -> Vec<String> {
    let since = clock.since.map(|since| format!("since {since}"));
    let grounds = Some(clock.grounds()).filter(|text| !text.is_empty());
    let lag = clock.lag_seconds.map(|seconds| format!("the oldest WAL that waits is {} old", duration_in_words(seconds)));
    let known =
        (clock.samples > 0).then(|| format!("from {} samples over {}", clock.samples, duration_in_words(clock.history_seconds)));
    since.into_iter().chain(grounds).chain(lag).chain(known).collect()
}

/// Archiving fails: for the rule that says so, with the hours. At least a warning; critical when the volume is full within a day, when
/// almost nothing is free, or when nothing was archived for longer than the RPO allows or a day.
pub(in crate::policy) fn failing(ground: &Ground, subject: &Subject, clock: &Clock) -> Finding {
    let lasts = clock.since.map_or(0.0, |since| ground.age(since));
    let allowed = ground.policy(subject).rpo_seconds.unwrap_or(FAILS_FOR).max(ground.archiving_grace(subject));
    let near = clock.full_in.as_ref().and_then(|full| nearness(ground, subject, full));
    let severity = if near == Some(Severity::Critical) || almost_full(clock) || lasts >= allowed {
        Severity::Critical
    } else {
        Severity::Warning
    };
    Finding {
        evidence: evidence(clock),
        cause: "archive_command does not succeed, so PostgreSQL keeps every segment".to_owned(),
        ..say(
            "wal-archiving-failing-disk-clock",
            severity,
            subject,
            format!("WAL has not left the volume for {}; {}", duration_in_words(lasts), when(clock)),
        )
    }
}

/// Where no number is said, little that is free speaks for itself.
fn almost_full(clock: &Clock) -> bool {
    const FREE: f64 = 0.15;
    let (Some(free), Some(capacity)) = (clock.free_bytes, clock.capacity_bytes) else { return false };
    clock.full_in.is_none() && free < capacity * FREE
}

fn slower(ground: &Ground, subject: &Subject, clock: &Clock) -> Finding {
    let near = clock.full_in.as_ref().and_then(|full| nearness(ground, subject, full));
    let rpo = ground.policy(subject).rpo_seconds;
    let over = rpo.filter(|rpo| clock.lag_seconds.is_some_and(|lag| lag > *rpo));
    let severity = if near == Some(Severity::Critical) || over.is_some() { Severity::Critical } else { Severity::Warning };
    let made = clock.made_per_second.unwrap_or_default() * HOUR;
    let gone = clock.gone_per_second.unwrap_or_default() * HOUR;
    let lag = clock.lag_seconds.map_or_else(String::new, |seconds| format!(", {} behind", duration_in_words(seconds)));
    let held = bytes_in_words(to_bytes(clock.held_bytes.unwrap_or_default()));
    let mut evidence = evidence(clock);
    evidence.extend(over.map(|rpo| format!("the RPO is {}", duration_in_words(rpo))));
    Finding {
        evidence,
        cause: format!(
            "{}/h of WAL are made and {}/h are archived; nothing is counted as failed",
            bytes_in_words(to_bytes(made)),
            bytes_in_words(to_bytes(gone))
        ),
        ..say(
            "wal-archive-lag-growing",
            severity,
            subject,
            format!("archiving works and falls behind: {held} wait{lag}; {}", when(clock)),
        )
    }
}

fn slot(ground: &Ground, subject: &Subject, clock: &Clock) -> Option<Finding> {
    let near = clock.full_in.as_ref().and_then(|full| nearness(ground, subject, full));
    let severity = match (near, &clock.full_in, clock.no_number) {
        (Some(severity), _, _) => severity,
        (None, Some(full), _) if full.low > SLOT_WITHIN => return None,
        (None, None, Some(NoNumber::Flat | NoNumber::Shrinking | NoNumber::Drains)) => return None,
        _ => Severity::Warning,
    };
    let held = bytes_in_words(to_bytes(clock.held_bytes.unwrap_or_default()));
    let ends = if clock.no_number == Some(NoNumber::Bounded) {
        "max_slot_wal_keep_size ends that, and the reader of the slot must then be made anew".to_owned()
    } else {
        when(clock)
    };
    Some(Finding {
        evidence: evidence(clock),
        cause: "the reader of a replication slot is gone or too slow; the archiver is not the reason".to_owned(),
        ..say("wal-held-by-slot", severity, subject, format!("a replication slot holds {held} of WAL, and more and more; {ends}"))
    })
}

/// Critical until the free space outgrows what is held; then it waits for a base backup.
fn draining(ground: &Ground, subject: &Subject, clock: &Clock) -> Finding {
    let held = clock.held_bytes.unwrap_or_default();
    let gone = clock.gone_per_second.unwrap_or_default();
    let few = super::regime::FEW;
    let left = clock.ready.map_or(held > few * super::DEFAULT_SEGMENT, |ready| ready > few);
    let tight = clock.free_bytes.is_none_or(|free| free < held);
    let closed = clock.outage.is_some_and(|outage| drain::closed(ground, subject, outage));
    let (severity, summary) = if left {
        let end =
            clock.drained_in.map_or_else(|| "when it is gone cannot be said".to_owned(), |within| format!("gone in {within}"));
        let severity = if tight { Severity::Critical } else { Severity::Warning };
        let rate = bytes_in_words(to_bytes(gone * HOUR));
        (severity, format!("archiving works again: {} wait, {rate}/h leave, {end}", bytes_in_words(to_bytes(held))))
    } else if ground.archive_of(subject).is_some() {
        (Severity::Warning, "the backlog of an outage is archived; no base backup followed it yet".to_owned())
    } else {
        (Severity::Info, "the backlog of an outage is archived; whether its chain is whole was not seen".to_owned())
    };
    let mut evidence = evidence(clock);
    if let Some(outage) = clock.outage {
        let until = outage.until.map_or_else(String::new, |until| format!(" until {until}"));
        evidence.push(format!("nothing was archived from {}{until}", outage.from));
    }
    evidence.push(if closed {
        "a base backup followed the outage".to_owned()
    } else {
        "no base backup is known that was begun after it".to_owned()
    });
    Finding {
        evidence,
        cause: "segments that an outage left behind are archived one after the other; until then a lost volume loses them"
            .to_owned(),
        ..say("wal-archive-draining", severity, subject, summary)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes for people; saturates")]
fn to_bytes(value: f64) -> u64 {
    value.max(0.0) as u64
}
