//! PostgreSQL archives in an object store: listed incrementally, read sparingly, never written to.

pub mod config;
mod facts;
mod memory;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use config::PostgresSettings;
use memory::Kept;

use crate::archive::{Catalogue, SegmentName};
use crate::domain::{ArchiveFact, Cx, Fact, FactKind, Known, Observation, Observe, ProviderId, Subject};
use crate::reader::{ArchiveReader, LookError, Pace, ReadEnd};
use crate::store::{Store, StoreError};

/// When a pass lists everything. An incremental listing does not see what was deleted.
#[derive(Clone, Copy, Debug)]
pub struct ListingRule {
    /// Up to this many objects a whole listing is a handful of pages: it is made at every pass.
    pub small: u64,
    /// A whole listing at least this often.
    pub whole_every: SignedDuration,
}

impl Default for ListingRule {
    fn default() -> Self {
        Self { small: 10_000, whole_every: SignedDuration::from_hours(24) }
    }
}

/// Holes that are listed again at an incremental pass.
const HOLES_AGAIN: usize = 8;
/// Pages on their way at once when a person waits.
const AUDIT_PAGES: usize = 8;

/// One database's archive.
#[derive(Clone, Debug)]
pub struct PostgresArchive {
    settings: PostgresSettings,
    store: Store,
    rule: ListingRule,
}

/// How far a look goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Names, records and histories.
    Names,
    /// And the first bytes of the first, last and boundary segments: system, timeline and position are proven.
    Headers,
}

impl PostgresArchive {
    /// `store` is read only; it must be the one that the settings' place names.
    pub fn new(settings: PostgresSettings, store: Store) -> Self {
        Self { settings, store, rule: ListingRule::default() }
    }

    /// With another rule for whole listings.
    #[must_use]
    pub const fn listing(mut self, rule: ListingRule) -> Self {
        self.rule = rule;
        self
    }

    /// `pg/<site>/<environment>/<name>`.
    pub const fn subject(&self) -> &Subject {
        &self.settings.subject
    }

    /// What it was built from.
    pub const fn settings(&self) -> &PostgresSettings {
        &self.settings
    }

    fn reader(&self, store: Store, cx: &Cx) -> ArchiveReader {
        ArchiveReader::new(store, self.settings.place.root(), cx.cancel.clone())
    }

    /// Lists and reads all of it, as fast as it goes and without memory: for a person who waits. What could not be looked at comes
    /// back as gaps; without a fact nothing is known. Of a place with nothing in it comes what lies beside.
    pub async fn audit(&self, cx: &Cx, depth: Depth) -> Observation {
        let reader = self.reader(self.store.clone(), cx);
        let mut seen = Observation::default();
        let mut catalogue = match reader.list_whole(Pace::Fast { pages: AUDIT_PAGES }).await {
            Ok(catalogue) => catalogue,
            Err(error) => {
                seen.gaps.push(facts::gap_of_look(&self.settings, &error));
                return seen;
            }
        };
        if catalogue.counts().0 == 0 {
            // Only a help to people here: the listing has answered already that nothing is there.
            let neighbours = reader.neighbours(&self.settings.place.prefix).await;
            seen.controls.extend(neighbours.ok().map(|neighbours| facts::control(&self.settings, &neighbours)));
        }
        let mut end = reader.read_small(&mut catalogue).await;
        settle(&mut catalogue, &mut end);
        seen.gaps.extend(facts::gap_of_read(&self.settings, &end));
        if !seen.gaps.is_empty() {
            return seen;
        }
        if depth == Depth::Headers {
            let headers = reader.read_headers(&mut catalogue).await;
            seen.gaps.extend(facts::gap_of_read(&self.settings, &headers));
        }
        seen.facts.push(Fact::Archive(Box::new(self.fact(&catalogue, cx.now, &[]))));
        seen
    }

    fn fact(&self, catalogue: &Catalogue, now: Timestamp, known: &[String]) -> ArchiveFact {
        catalogue.fact(&self.settings.subject, &self.settings.place, now, self.settings.system_id, known)
    }

    /// Lists what is needed. The moment is that of the last whole listing. One that is due waits while the store's budget of
    /// requests is used up; the first one does not wait, since without it nothing is known.
    async fn list(
        &self,
        cx: &Cx,
        reader: &ArchiveReader,
        kept: Option<Kept>,
        wait: bool,
    ) -> Result<(Catalogue, Timestamp), LookError> {
        if let Some(kept) = kept {
            if wait || !self.whole_is_due(&kept, cx.now) {
                let mut catalogue = kept.catalogue;
                let holes = holes(&self.fact(&catalogue, cx.now, &[]));
                reader.list_more(&mut catalogue, &holes).await?;
                return Ok((catalogue, kept.listed_whole));
            }
            let mut catalogue = reader.list_whole(Pace::Cheap).await?;
            catalogue.carry_over(kept.catalogue);
            return Ok((catalogue, cx.now));
        }
        Ok((reader.list_whole(Pace::Cheap).await?, cx.now))
    }

    fn whole_is_due(&self, kept: &Kept, now: Timestamp) -> bool {
        let age = now.duration_since(kept.listed_whole);
        // A clock that was set back must not put the next whole listing off for years.
        kept.catalogue.counts().0 <= self.rule.small || age >= self.rule.whole_every || age < SignedDuration::ZERO
    }

    async fn look(&self, reader: &ArchiveReader, cx: &Cx, known: &Known) -> Observation {
        let kept = Kept::of(known.memory.as_ref(), &self.settings.place);
        let known_backups = kept.as_ref().map(|kept| kept.backups.clone()).unwrap_or_default();
        let mut seen = Observation::default();
        let wait = known.budget_is_used(&self.settings.place.store);
        if let Some(kept) = kept.as_ref().filter(|kept| wait && self.whole_is_due(kept, cx.now)) {
            seen.gaps.push(facts::gap_of_budget(&self.settings, kept.listed_whole));
        }
        let (mut catalogue, listed_whole) = match self.list(cx, reader, kept, wait).await {
            Ok(listed) => listed,
            Err(error) => {
                seen.gaps.push(facts::gap_of_look(&self.settings, &error));
                return seen;
            }
        };
        if catalogue.counts().0 == 0 {
            match reader.neighbours(&self.settings.place.prefix).await {
                Ok(neighbours) => seen.controls.push(facts::control(&self.settings, &neighbours)),
                Err(error) => {
                    seen.gaps.push(facts::gap_of_look(&self.settings, &error.into()));
                    return seen;
                }
            }
        }
        let mut end = reader.read_small(&mut catalogue).await;
        settle(&mut catalogue, &mut end);
        if let Some(gap) = facts::gap_of_read(&self.settings, &end) {
            // Without its records nobody can judge an archive: no fact, so that nothing is called missing that was not read.
            seen.gaps.push(gap);
            return seen;
        }
        let headers = reader.read_headers(&mut catalogue).await;
        if let Some(gap) = facts::gap_of_read(&self.settings, &headers) {
            seen.gaps.push(gap);
        }
        let fact = self.fact(&catalogue, cx.now, &known_backups);
        seen.facts = facts::all(fact, cx.now);
        seen.memory = Kept::new(&self.settings.place, listed_whole, catalogue).memory();
        seen
    }
}

#[async_trait]
impl Observe for PostgresArchive {
    fn name(&self) -> ProviderId {
        ProviderId(format!("postgres/{}", self.settings.name))
    }

    fn covers(&self, _known: &Known) -> Vec<(Subject, FactKind)> {
        vec![(self.settings.subject.clone(), FactKind::Archive)]
    }

    fn reads(&self) -> &[FactKind] {
        &[]
    }

    async fn observe(&self, cx: &Cx, known: &Known) -> Observation {
        // Other observers ask the same store at the same time: what is counted here is ours alone.
        let store = self.store.metered();
        let mut seen = self.look(&self.reader(store.clone(), cx), cx, known).await;
        seen.requests = store.requests();
        seen
    }
}

/// Places where something was missing at the last pass.
fn holes(fact: &ArchiveFact) -> Vec<(SegmentName, SegmentName)> {
    let name = |text: &str| SegmentName::parse(text);
    let gaps = fact.gaps.iter().rev().filter_map(|gap| Some((name(&gap.first)?, name(&gap.last)?)));
    let of_backups = fact
        .backups
        .iter()
        .rev()
        .filter_map(|backup| Some((name(backup.missing_wal.first()?)?, name(backup.missing_wal.last()?)?)));
    let empty = fact.empty_objects.iter().rev().filter_map(|object| {
        let file = object.key.strip_prefix("wals/")?.split_once('/')?.1;
        let empty = name(file.get(..24)?)?;
        Some((empty, empty))
    });
    gaps.chain(of_backups).chain(empty).take(HOLES_AGAIN).collect()
}

/// One record that is refused while others are read is a fact about that record: an object in a cold class, or with rights of its
/// own. When none can be read, nothing is known.
fn settle(catalogue: &mut Catalogue, end: &mut ReadEnd) {
    let others = end.read > 0 || catalogue.backups().values().any(|backup| backup.info.is_some());
    if !others {
        return;
    }
    let own_fault = |error: &StoreError| {
        matches!(error, StoreError::AccessDenied { .. } | StoreError::NoSuchKey { .. })
            || matches!(error, StoreError::Server { status, .. } if (400..500).contains(status))
    };
    end.failed.retain(|(key, error)| {
        let id = key.strip_prefix("base/").and_then(|rest| rest.strip_suffix("/backup.info"));
        let timeline = key.strip_prefix("wals/").and_then(|rest| u32::from_str_radix(rest.get(..8)?, 16).ok());
        match (id, timeline) {
            (Some(id), _) if matches!(error, StoreError::NoSuchKey { .. }) => catalogue.record_is_gone(id),
            (Some(id), _) if own_fault(error) => catalogue.set_backup_info(id, Err(error.to_string())),
            (None, Some(timeline)) if own_fault(error) => catalogue.set_history(timeline, Err(error.to_string())),
            _ => return true,
        }
        false
    });
}
