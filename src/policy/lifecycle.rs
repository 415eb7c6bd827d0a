//! Bucket lifecycle rules against the windows that the archives in it promise.

use super::ground::{DAY, Ground, done, say};
use crate::domain::{ArchiveFact, Finding, LifecycleRule, Setting, Severity, StoreFact, duration_in_words};

/// Classes whose objects cannot be read without a request hours before.
const NOT_READABLE_AT_ONCE: &[&str] = &["GLACIER", "DEEP_ARCHIVE"];

pub(super) fn judge(ground: &Ground) -> Vec<Finding> {
    ground.stores.iter().filter_map(|store| conflicts(ground, store)).collect()
}

fn conflicts(ground: &Ground, store: &StoreFact) -> Option<Finding> {
    let Setting::Set(rules) = &store.lifecycle else { return None };
    let mut evidence = Vec::new();
    let mut cause = String::new();
    let mut certain = false;
    for archive in ground.archives_on(store) {
        let need = needed_seconds(ground, archive);
        for rule in rules.iter().filter(|rule| rule.enabled && covers(rule, archive)) {
            let Some((days, what)) = ends(rule) else { continue };
            if f64::from(days) * DAY > need {
                continue;
            }
            certain |= !rule.narrowed;
            cause = format!(
                "rule \"{}\" {what} after {days} d what lies under \"{}\"; {} needs objects up to {} old",
                rule.id,
                rule.prefix,
                archive.subject,
                duration_in_words(need)
            );
            evidence.push(cause.clone());
        }
    }
    if evidence.is_empty() {
        return None;
    }
    let severity = if certain { Severity::Critical } else { Severity::Warning };
    let doubt = if certain { "" } else { " (the rule is narrowed by tags or sizes, so perhaps not all of it)" };
    Some(Finding {
        evidence,
        cause,
        ..say(
            "lifecycle-conflicts-with-retention",
            severity,
            &store.subject,
            format!("a lifecycle rule of bucket {} takes away what a restore needs{doubt}", store.bucket),
        )
    })
}

/// When a rule ends the use of current objects, and how.
fn ends(rule: &LifecycleRule) -> Option<(i32, &'static str)> {
    let frozen = rule
        .transition
        .as_ref()
        .filter(|(_, class)| NOT_READABLE_AT_ONCE.contains(&class.as_str()))
        .map(|(days, _)| (*days, "freezes"));
    [rule.expire_days.map(|days| (days, "deletes")), frozen].into_iter().flatten().min_by_key(|(days, _)| *days)
}

/// A rule's prefix is plain text, not a folder: `cnpg/pg` covers `cnpg/pg-main/` too.
fn covers(rule: &LifecycleRule, archive: &ArchiveFact) -> bool {
    let root = archive.place.root();
    root.as_str().starts_with(&rule.prefix) || rule.prefix.starts_with(root.as_str())
}

/// The window's oldest moment needs a base backup from before it: retention plus the longest time between two.
fn needed_seconds(ground: &Ground, archive: &ArchiveFact) -> f64 {
    let retention = ground.policy(&archive.subject).retention_seconds;
    let every = ground
        .policy(&archive.subject)
        .base_backup_every_seconds
        .or_else(|| longest_pause(archive))
        .unwrap_or_else(|| ground.base_backup_every(&archive.subject));
    // Without a promised window at least the newest base backup must live until two later ones had a chance.
    retention.map_or(2.0 * every, |retention| retention + every)
}

/// The longest time between the ends of two base backups that follow each other.
fn longest_pause(archive: &ArchiveFact) -> Option<f64> {
    let mut ends: Vec<_> = done(archive).into_iter().filter_map(|backup| backup.end_time).collect();
    ends.sort();
    ends.iter()
        .zip(ends.iter().skip(1))
        .map(|(earlier, later)| later.duration_since(*earlier).as_secs_f64())
        .max_by(f64::total_cmp)
}
