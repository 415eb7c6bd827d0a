//! Their answers into our words: facts, recovery points, samples, gaps, controls.

use jiff::Timestamp;

use super::config::PostgresSettings;
use crate::domain::{
    ArchiveFact, BUDGET_USED, Control, Denied, Explained, Fact, FactKind, Gap, Mechanism, RecoveryPoint, Sample,
};
use crate::reader::{LookError, ReadEnd};
use crate::store::StoreError;

/// The recovery points of an archive: one per window.
pub(super) fn recovery_points(fact: &ArchiveFact) -> Vec<RecoveryPoint> {
    let stored = |id: &str| fact.backups.iter().find(|backup| backup.id == id).map_or(0, |backup| backup.stored_bytes);
    let point = |window: &crate::domain::Window| RecoveryPoint {
        subject: fact.subject.clone(),
        place: fact.place.clone().into(),
        mechanism: Mechanism::BaseAndWal,
        name: window.backup.clone(),
        from: window.from,
        covered_until: window.covered_until,
        stored_bytes: stored(&window.backup),
    };
    fact.windows.iter().map(point).collect()
}

/// The numbers of an archive.
pub(super) fn samples(fact: &ArchiveFact, now: Timestamp) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut add = |metric: &str, value: f64| {
        samples.push(Sample { subject: fact.subject.clone(), metric: metric.to_owned(), value, at: now });
    };
    add("archive_objects", fact.objects as f64);
    add("archive_bytes", fact.bytes as f64);
    add("base_backups_count", fact.windows.len() as f64);
    if let Some(written) = fact.newest_segment.as_ref().and_then(|segment| segment.written) {
        add("archive_age_seconds", now.duration_since(written).as_secs_f64());
    }
    samples
}

/// All of it as facts.
pub(super) fn all(fact: ArchiveFact, now: Timestamp) -> Vec<Fact> {
    let points = recovery_points(&fact).into_iter().map(|point| Fact::RecoveryPoint(Box::new(point)));
    let samples = samples(&fact, now).into_iter().map(Fact::Sample);
    let mut facts: Vec<Fact> = points.chain(samples).collect();
    facts.insert(0, Fact::Archive(Box::new(fact)));
    facts
}

/// The gap for a listing that failed.
pub(super) fn gap_of_look(settings: &PostgresSettings, error: &LookError) -> Gap {
    match error {
        LookError::Store(error) => gap_of_store(settings, error, ""),
        LookError::Stopped { .. } => gap(
            settings,
            Denied::Timeout,
            error.to_string(),
            "raise pass.provider-deadline: the listing did not end inside it".to_owned(),
        ),
        LookError::TooMuch { .. } => gap(
            settings,
            Denied::Malformed,
            error.to_string(),
            format!(
                "look at the names: dalsegno archive audit {}; give the archive a prefix of its own",
                settings.subject.name()
            ),
        ),
    }
}

/// The gap for a whole listing that waits: what is deleted in the middle of the archive is not seen until then.
pub(super) fn gap_of_budget(settings: &PostgresSettings, listed_whole: Timestamp) -> Gap {
    Gap {
        subject: settings.subject.clone(),
        what: FactKind::Sample,
        why: Denied::NotAsked,
        code: Some(BUDGET_USED.to_owned()),
        detail: format!("the whole listing waits; the last one was at {listed_whole}"),
        hint: format!("raise stores.{}.requests-per-day, or run less often", settings.place.store),
    }
}

/// The gap for small objects that could not be fetched.
pub(super) fn gap_of_read(settings: &PostgresSettings, end: &ReadEnd) -> Option<Gap> {
    let (key, error) = end.failed.first()?;
    let more = end.failed.len() - 1;
    let also = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    Some(gap_of_store(settings, error, &format!("{key}{also}: ")))
}

fn gap_of_store(settings: &PostgresSettings, error: &StoreError, before: &str) -> Gap {
    let (why, code) = error.denied();
    let hint = error.hint().unwrap_or_default();
    Gap { code, ..gap(settings, why, format!("{before}{error}"), hint) }
}

fn gap(settings: &PostgresSettings, why: Denied, detail: String, hint: String) -> Gap {
    Gap { subject: settings.subject.clone(), what: FactKind::Archive, why, code: None, detail, hint }
}

/// Proof that an empty listing means empty: the folder above answered.
pub(super) fn control(settings: &PostgresSettings, neighbours: &[String]) -> Control {
    let place = &settings.place;
    let above = if place.prefix.is_root() { format!("the root of bucket {}", place.bucket) } else { place.prefix.to_string() };
    let names: Vec<&str> = neighbours.iter().take(5).map(String::as_str).collect();
    let found =
        if names.is_empty() { "no folder".to_owned() } else { format!("{} folders: {}", neighbours.len(), names.join(", ")) };
    let shown = format!("the listing of {above} answered {found}; nothing lies under {}", place.root());
    Control { subject: settings.subject.clone(), shown }
}
