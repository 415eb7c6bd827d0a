//! The ground a rule stands on: the facts of the pass sorted by kind, with the questions that rules ask of them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::Proof;
use crate::domain::{
    AlertRulesFact, ArchiveFact, BackupStatus, BaseBackup, CnpgFact, CnpgSiteFact, Expected, Fact, FactKind, Finding, Gap,
    Observation, Policy, ProviderId, Sample, Series, Severity, StoreFact, Subject, code,
};

pub(super) const MINUTE: f64 = 60.0;
pub(super) const HOUR: f64 = 60.0 * MINUTE;
pub(super) const DAY: f64 = 24.0 * HOUR;

/// CNPG's default `archive_timeout`, used when the policy names none.
pub(super) const DEFAULT_ARCHIVE_TIMEOUT: f64 = 5.0 * MINUTE;
/// What an upload with retries may add to `archive_timeout` before a segment counts as missing.
const UPLOAD_MARGIN: f64 = 10.0 * MINUTE;
/// The usual interval of base backups, used when the policy names none: nightly.
const DEFAULT_BASE_BACKUP_EVERY: f64 = DAY;

pub(super) struct Ground<'a> {
    pub(super) now: Timestamp,
    pub(super) expected: &'a Expected,
    pub(super) stores: Vec<&'a StoreFact>,
    pub(super) archives: Vec<&'a ArchiveFact>,
    pub(super) cnpg: Vec<&'a CnpgFact>,
    pub(super) cnpg_sites: Vec<&'a CnpgSiteFact>,
    pub(super) alert_rules: Vec<&'a AlertRulesFact>,
    /// The newest sample of this pass, by subject and metric.
    samples: BTreeMap<(&'a Subject, &'a str), &'a Sample>,
    /// Every series, by subject and metric: the longest first.
    series: BTreeMap<(&'a Subject, &'a str), Vec<&'a Series>>,
    pub(super) gaps: Vec<&'a Gap>,
    pub(super) proofs: Vec<Proof>,
    known: BTreeSet<(Subject, FactKind)>,
}

impl<'a> Ground<'a> {
    pub(super) fn new(
        now: Timestamp,
        expected: &'a Expected,
        observations: &'a [(ProviderId, Observation)],
        proofs: &[Proof],
    ) -> Self {
        let mut ground = Self {
            now,
            expected,
            stores: Vec::new(),
            archives: Vec::new(),
            cnpg: Vec::new(),
            cnpg_sites: Vec::new(),
            alert_rules: Vec::new(),
            samples: BTreeMap::new(),
            series: BTreeMap::new(),
            gaps: Vec::new(),
            proofs: proofs.to_vec(),
            known: BTreeSet::new(),
        };
        for observation in observations.iter().map(|(_, observation)| observation) {
            for fact in &observation.facts {
                ground.known.insert((fact.subject().clone(), fact.kind()));
                match fact {
                    Fact::Store(store) => ground.stores.push(store),
                    Fact::Archive(archive) => ground.archives.push(archive),
                    Fact::Drill(evidence) => ground.proofs.push(Proof::from(evidence.as_ref())),
                    Fact::Cnpg(cluster) => ground.cnpg.push(cluster),
                    Fact::CnpgSite(site) => ground.cnpg_sites.push(site),
                    Fact::AlertRules(rules) => ground.alert_rules.push(rules),
                    Fact::Sample(sample) => ground.take_sample(sample),
                    Fact::Series(series) => {
                        ground.series.entry((&series.subject, series.metric.as_str())).or_default().push(series);
                    }
                    Fact::RecoveryPoint(_) => {}
                }
            }
            for gap in &observation.gaps {
                ground.known.insert((gap.subject.clone(), gap.what));
                ground.gaps.push(gap);
            }
        }
        ground.proofs.sort_by_key(|proof| proof.at);
        ground.stores.sort_by(|a, b| a.subject.cmp(&b.subject));
        ground.archives.sort_by(|a, b| a.subject.cmp(&b.subject));
        ground.cnpg.sort_by(|a, b| a.subject.cmp(&b.subject));
        ground.alert_rules.sort_by(|a, b| a.subject.cmp(&b.subject));
        for of_one in ground.series.values_mut() {
            of_one.sort_by_key(|series| std::cmp::Reverse(series.points.len()));
        }
        ground
    }

    /// Two sources may tell the same number in one pass: the newer one stands.
    fn take_sample(&mut self, sample: &'a Sample) {
        let known = self.samples.entry((&sample.subject, sample.metric.as_str())).or_insert(sample);
        if known.at < sample.at {
            *known = sample;
        }
    }

    /// The newest sample that this pass has of a metric. Not a number is not a sample: CNPG's exporter says NaN for what it does not have.
    pub(super) fn sample(&self, subject: &Subject, metric: &str) -> Option<&'a Sample> {
        self.samples.get(&(subject, metric)).copied().filter(|sample| sample.value.is_finite())
    }

    /// Its value.
    pub(super) fn value(&self, subject: &Subject, metric: &str) -> Option<f64> {
        self.sample(subject, metric).map(|sample| sample.value)
    }

    /// What is known of a metric over time: the longest of what the sources tell.
    pub(super) fn series(&self, subject: &Subject, metric: &str) -> Option<&'a Series> {
        self.series.get(&(subject, metric))?.first().copied()
    }

    /// What every source tells of a metric over time.
    pub(super) fn all_series(&self, subject: &Subject, metric: &str) -> Vec<&'a Series> {
        self.series.get(&(subject, metric)).cloned().unwrap_or_default()
    }

    /// Subjects of which a number of these metrics is known, now or over time.
    pub(super) fn measured(&self, metrics: &'static [&'static str]) -> impl Iterator<Item = &'a Subject> {
        let samples = self.samples.keys().filter(|(_, metric)| metrics.contains(metric)).map(|(subject, _)| *subject);
        let series = self.series.keys().filter(|(_, metric)| metrics.contains(metric)).map(|(subject, _)| *subject);
        samples.chain(series)
    }

    /// By how much a metric grew from its value at least `back` seconds ago to its newest, with the seconds between the two. `None` when
    /// nothing that old is known: two passes a minute apart tell nothing about a trend.
    pub(super) fn growth(&self, subject: &Subject, metric: &str, back: f64) -> Option<(f64, f64)> {
        let points = &self.series(subject, metric)?.points;
        let last = points.last().map(|(at, value)| (*at, *value));
        let now = self.sample(subject, metric).map(|sample| (sample.at, sample.value));
        let (at, value) = now.into_iter().chain(last).max_by_key(|(at, _)| *at)?;
        let seconds = |then: Timestamp| at.duration_since(then).as_secs_f64();
        let (then, before) = points.iter().rev().find(|(then, old)| seconds(*then) >= back && old.is_finite())?;
        Some((value - before, seconds(*then)))
    }

    /// The Cluster that a subject is, when its API server was read.
    pub(super) fn cluster_of(&self, subject: &Subject) -> Option<&'a CnpgFact> {
        self.cnpg.iter().find(|cluster| &cluster.subject == subject).copied()
    }

    /// The archive of a subject, when its store was read.
    pub(super) fn archive_of(&self, subject: &Subject) -> Option<&'a ArchiveFact> {
        self.archives.iter().find(|archive| &archive.subject == subject).copied()
    }

    /// Everything that a fact is about.
    #[cfg(feature = "lab")]
    pub(super) fn subjects(&self) -> BTreeSet<Subject> {
        self.known.iter().map(|(subject, _)| subject.clone()).collect()
    }

    /// What should have come back and did not. A placeholder explains its own part, and what rests on it.
    pub(super) fn uncovered(&self) -> Vec<(Subject, FactKind)> {
        let explained = |subject: &Subject| {
            self.has_placeholder(subject) || self.below(subject).is_some_and(|below| self.has_placeholder(&below))
        };
        self.expected.covers.iter().filter(|pair| !self.known.contains(*pair) && !explained(&pair.0)).cloned().collect()
    }

    pub(super) fn has_placeholder(&self, subject: &Subject) -> bool {
        self.expected.placeholders.iter().any(|placeholder| &placeholder.subject == subject)
    }

    /// The store that a subject rests on: by configuration, else by what the facts say.
    pub(super) fn below(&self, subject: &Subject) -> Option<Subject> {
        if let Some(store) = self.expected.rests_on.get(subject) {
            return Some(store.clone());
        }
        let archive = self.archives.iter().find(|archive| &archive.subject == subject)?;
        self.store_of(archive).map(|store| store.subject.clone())
    }

    pub(super) fn store_of(&self, archive: &ArchiveFact) -> Option<&'a StoreFact> {
        self.stores.iter().find(|store| store.store == archive.place.store).copied()
    }

    pub(super) fn archives_on(&self, store: &StoreFact) -> Vec<&'a ArchiveFact> {
        self.archives.iter().filter(|archive| archive.place.store == store.store).copied().collect()
    }

    /// Everything that rests on a store, by configuration or by facts, sorted.
    pub(super) fn dependents(&self, store: &Subject) -> Vec<Subject> {
        let configured = self.expected.rests_on.iter().filter(|(_, below)| *below == store).map(|(above, _)| above.clone());
        let seen = self.archives.iter().filter(|archive| self.below(&archive.subject).as_ref() == Some(store));
        configured.chain(seen.map(|archive| archive.subject.clone())).collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(super) fn policy(&self, subject: &Subject) -> Policy {
        self.expected.policies.get(subject).copied().unwrap_or_default()
    }

    /// How long after a backup's end, or after a later segment, a segment may still be on its way.
    pub(super) fn archiving_grace(&self, subject: &Subject) -> f64 {
        let timeout = self.policy(subject).archive_timeout_seconds.unwrap_or(DEFAULT_ARCHIVE_TIMEOUT);
        // Who switches segments every few seconds uploads them as often: two more switches without it are proof enough.
        timeout + UPLOAD_MARGIN.min(2.0 * timeout)
    }

    pub(super) fn base_backup_every(&self, subject: &Subject) -> f64 {
        self.policy(subject).base_backup_every_seconds.unwrap_or(DEFAULT_BASE_BACKUP_EVERY)
    }

    /// Seconds since; negative for a moment that is still to come.
    pub(super) fn age(&self, then: Timestamp) -> f64 {
        self.now.duration_since(then).as_secs_f64()
    }

    /// Whether that moment is longer ago than `seconds`. Unknown moments are not.
    pub(super) fn older(&self, then: Option<Timestamp>, seconds: f64) -> bool {
        then.is_some_and(|then| self.age(then) > seconds)
    }
}

/// Done base backups, in the order of the fact (oldest first by content).
pub(super) fn done(archive: &ArchiveFact) -> Vec<&BaseBackup> {
    archive.backups.iter().filter(|backup| backup.status == BackupStatus::Done).collect()
}

/// The first segment that any done base backup needs: older ones may be missing freely.
pub(super) fn first_needed(archive: &ArchiveFact) -> Option<&str> {
    done(archive).into_iter().filter_map(|backup| backup.begin_wal.as_deref()).min_by(|a, b| position(a).cmp(position(b)))
}

/// The part of a segment's name behind the timeline: its position in the one line of WAL that timelines share.
pub(super) fn position(segment: &str) -> &str {
    segment.get(8..).unwrap_or(segment)
}

/// The time an id was made from, read as UTC: good to a day, since the clock of the machine may be in any zone.
pub(super) fn id_time(id: &str) -> Option<Timestamp> {
    let civil = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S", id.get(..15)?).ok()?;
    civil.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

/// `then` plus seconds; saturates at the ends of time.
pub(super) fn plus(then: Timestamp, seconds: f64) -> Timestamp {
    SignedDuration::try_from_secs_f64(seconds).ok().and_then(|by| then.checked_add(by).ok()).unwrap_or(Timestamp::MAX)
}

/// A finding with the table's remedy, to be filled in by the rule.
pub(super) fn say(name: &'static str, severity: Severity, subject: &Subject, summary: String) -> Finding {
    Finding {
        code: name.to_owned(),
        severity,
        subject: subject.clone(),
        summary,
        evidence: Vec::new(),
        cause: String::new(),
        remedy: code(name).map(|row| row.remedy.to_owned()).unwrap_or_default(),
        could_not_look: false,
    }
}

/// The first few of a list, and how many more there are.
pub(super) fn some_of(items: &[String]) -> String {
    const SHOWN: usize = 3;
    let head = items.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match items.len().saturating_sub(SHOWN) {
        0 => head,
        more => format!("{head} and {more} more"),
    }
}

/// Names of subjects for a line of text.
pub(super) fn names(subjects: &[Subject]) -> Vec<String> {
    subjects.iter().map(ToString::to_string).collect()
}
