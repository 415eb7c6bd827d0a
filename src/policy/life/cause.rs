//! One cause, one message: what a store's own trouble explains about everything that lies on it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::EXPLAINED_AFTER;
use super::step::Sight;
use crate::domain::{Alert, Change, Finding, FindingKey, Severity, Silence, Subject, SubjectKind};

/// Trouble of a store that stops everybody who uses it.
const STOPS_ALL: &[&str] = &[
    "object-store-outage",
    "s3-auth-failed",
    "s3-bucket-missing",
    "s3-clock-skew",
    "s3-encryption-unsupported",
    "s3-name-unresolved",
    "s3-permissions-incomplete",
    "s3-region-invalid",
    "s3-tls-failed",
];
/// What follows from it on what lies on that store: nothing is archived, no backup ends. Damage (gaps, a second writer) does not follow.
const FOLLOWS: &[&str] = &[
    "backup-pending-overdue",
    "backup-running-stale",
    "base-backup-failed",
    "base-backup-interrupted",
    "base-backup-too-old",
    "base-backup-wal-not-archived",
    "drill-undecided",
    "wal-archive-lag-growing",
    "wal-archive-silent",
    "wal-archiver-stalled-uncounted",
    "wal-freshness-unproven",
];
/// What follows too, and is held back only while its harm is far: a volume that is full within a day is said, whatever the cause.
const FOLLOWS_WHILE_FAR: &[&str] = &["wal-archiving-failing-disk-clock"];

/// Alerts that explain others: present, or over for no longer than what they explain needs to recover.
pub(super) fn roots(
    now: Timestamp,
    changes: &[Change],
    before: &BTreeMap<FindingKey, Alert>,
) -> BTreeMap<Subject, (FindingKey, Option<Timestamp>)> {
    let mut roots = BTreeMap::new();
    for alert in before.values().filter(|alert| is_root(&alert.finding) && !alert.present) {
        roots.insert(alert.finding.subject.clone(), (alert.key(), Some(alert.turned)));
    }
    for change in changes {
        match change {
            Change::New { finding } | Change::Still { finding, .. } if is_root(finding) => {
                roots.insert(finding.subject.clone(), (finding.key(), None));
            }
            Change::Cleared { finding, .. } if is_root(finding) => {
                roots.insert(finding.subject.clone(), (finding.key(), Some(now)));
            }
            _ => {}
        }
    }
    roots
}

fn is_root(finding: &Finding) -> bool {
    finding.subject.kind() == SubjectKind::Store && STOPS_ALL.contains(&finding.code.as_str())
}

/// By which alert this one is explained.
pub(super) fn explained_by(
    key: &FindingKey,
    sight: &Sight<'_>,
    known: Option<&Alert>,
    rests_on: &BTreeMap<Subject, Subject>,
    roots: &BTreeMap<Subject, (FindingKey, Option<Timestamp>)>,
    now: Timestamp,
) -> Option<FindingKey> {
    let Sight::Seen { finding, .. } = sight else { return None };
    let far = finding.severity < Severity::Critical && FOLLOWS_WHILE_FAR.contains(&key.code.as_str());
    if !far && !FOLLOWS.contains(&key.code.as_str()) && !finding.could_not_look {
        return None;
    }
    let (root, over) = roots.get(rests_on.get(&key.subject)?)?;
    match over {
        None => Some(root.clone()),
        // Only what was explained while it lasted goes on being so for a while.
        Some(over) => {
            let was = known.and_then(|alert| alert.quiet.as_ref());
            let explained = matches!(was, Some(Silence::Explained { by }) if by == root);
            let fresh: SignedDuration = now.duration_since(*over);
            (explained && fresh < EXPLAINED_AFTER).then(|| root.clone())
        }
    }
}
