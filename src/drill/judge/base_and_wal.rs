//! What only a base backup with WAL shows: the system that came back, the segment that replay reached, archiving off.

use crate::domain::verb_names::{ARCHIVE_CHOOSE, ARCHIVING_OFF, REPLAY_END, SYSTEM_ID};
use crate::domain::{AssertionResult, RecoveryEnd, RestoredBy, SystemId};
use crate::drill::facts::Facts;
use crate::drill::reason::{REPORT, Reason};

const AUDIT: &str = "find the hole or the damaged segment:  dalsegno archive audit";

/// All of it, when what was restored answers or nothing else says why it does not.
pub(super) fn judge(facts: Facts<'_>, expected: Option<SystemId>, reasons: &mut Vec<Reason>) {
    system(facts, expected, reasons);
    end(facts, reasons);
    if !facts.assertions().any(|assertion| assertion.name == ARCHIVING_OFF) {
        reasons.push(Reason::open("archiving was not read back as off", REPORT));
    }
}

/// What a failed assertion stands for; `None` when it is none of this mechanism.
pub(super) fn failed(assertion: &AssertionResult, words: &str) -> Option<Reason> {
    match assertion.name.as_str() {
        // Our sandbox, not the archive.
        ARCHIVING_OFF => Some(Reason::open(words, REPORT)),
        REPLAY_END => Some(Reason::bad("drill-failed", words, AUDIT)),
        SYSTEM_ID => Some(another_system(words.to_owned())),
        _ => None,
    }
}

/// What was restored, as far as the receipts say; the backup's name beside it.
pub(in crate::drill) fn restored(facts: Facts<'_>, expected: Option<SystemId>) -> Option<(String, RestoredBy)> {
    let by = RestoredBy::BaseAndWal {
        system_expected: expected.or_else(|| facts.system(ARCHIVE_CHOOSE)),
        system_restored: facts.system(facts.answers()),
        segments: facts.number(ARCHIVE_CHOOSE, "segments").unwrap_or(0),
        postgres: facts.text(facts.answers(), "postgres"),
        recovery: recovery(facts),
    };
    Some((facts.text(ARCHIVE_CHOOSE, "backup")?, by))
}

fn recovery(facts: Facts<'_>) -> Option<RecoveryEnd> {
    Some(RecoveryEnd {
        target: target(facts)?,
        timeline: facts.number(ARCHIVE_CHOOSE, "timeline").and_then(|number| u32::try_from(number).ok())?,
        expected_segment: facts.text(ARCHIVE_CHOOSE, "end_segment")?,
        reached_segment: facts.text(facts.answers(), "reached_segment"),
        reached_lsn: facts.text(facts.answers(), "reached_lsn"),
    })
}

/// `end`, or the time that was asked for.
fn target(facts: Facts<'_>) -> Option<String> {
    facts.text(ARCHIVE_CHOOSE, "target")
}

fn another_system(why: String) -> Reason {
    Reason::bad("archive-system-unexpected", why, "see who else writes into that prefix:  dalsegno archive audit")
}

/// The system that came back is the one that was expected, by the configuration and by backup.info.
fn system(facts: Facts<'_>, configured: Option<SystemId>, reasons: &mut Vec<Reason>) {
    let by_backup = facts.system(ARCHIVE_CHOOSE);
    let Some(restored) = facts.system(facts.answers()) else {
        reasons.push(Reason::open("the system identifier of the restored cluster was not read", REPORT));
        return;
    };
    if configured.is_none() && by_backup.is_none() {
        let hint = "name it in the configuration:  postgres.NAME.system-id";
        reasons.push(Reason::open("no system identifier is expected: neither the configuration nor backup.info names one", hint));
    }
    for (expected, by) in [(configured, "the configuration"), (by_backup, "backup.info")] {
        if let Some(expected) = expected.filter(|expected| *expected != restored) {
            let why = format!("another system came back: {by} says {expected}, the restored cluster says {restored}");
            reasons.push(another_system(why));
        }
    }
}

/// Replay reached the end that the catalogue says.
fn end(facts: Facts<'_>, reasons: &mut Vec<Reason>) {
    if !facts.assertions().any(|assertion| assertion.name == REPLAY_END) {
        reasons.push(Reason::open("nobody looked whether replay reached its expected end", REPORT));
    }
    match target(facts).as_deref() {
        None => reasons.push(Reason::open("the target of recovery is not known", REPORT)),
        Some("end") => end_segment(facts, reasons),
        Some(_) => {} // a time: the restore's own assertion says whether replay stopped there
    }
}

fn end_segment(facts: Facts<'_>, reasons: &mut Vec<Reason>) {
    let read = |verb: &str, name: &str| facts.text(verb, name).and_then(|text| Some((Segment::parse(&text)?, text)));
    let expected = read(ARCHIVE_CHOOSE, "end_segment");
    let reached = read(facts.answers(), "reached_segment");
    let (Some((expected, expected_name)), Some((reached, reached_name))) = (expected, reached) else {
        reasons.push(Reason::open("the segment that replay had to reach, or did reach, is not known", REPORT));
        return;
    };
    if reached.timeline != expected.timeline || reached.position < expected.position {
        let why = format!("replay ended at {reached_name}, the archive goes to {expected_name}");
        reasons.push(Reason::bad("drill-failed", why, AUDIT));
    }
}

/// A WAL segment's name: timeline and position, eight and sixteen hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    timeline: u32,
    position: u64,
}

impl Segment {
    fn parse(name: &str) -> Option<Self> {
        if name.len() != 24 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let timeline = u32::from_str_radix(name.get(..8)?, 16).ok()?;
        let position = u64::from_str_radix(name.get(8..)?, 16).ok()?;
        Some(Self { timeline, position })
    }
}
