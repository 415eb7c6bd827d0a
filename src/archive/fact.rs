//! What a pass tells the others about an archive.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::backup_info::RecordStatus;
use super::backups::BackupObjects;
use super::catalogue::{Catalogue, MAX_LISTED};
use super::chain::{Chain, Hole};
use super::choose::{Base, segment_text};
use super::key::{history_key, partial_key, segment_key};
use super::name::{SegmentName, SegmentSize};
use super::wals::{Seen, moment};
use crate::domain::{
    ArchiveFact, ArchivePlace, BackupStatus, BaseBackup, EmptyObject, EndOfWal, Keep, OrphanHistory, PartialInside, SegmentSeen,
    Subject, SystemId, SystemSeen, WalGap, Window,
};

/// Names of a list that are told; the rest are counted.
const MAX_NAMES: usize = 64;

/// A timeline that a default restore would follow although the cluster did not.
pub(super) struct Orphan {
    pub(super) timeline: u32,
    pub(super) key: String,
    pub(super) parent: Option<u32>,
    pub(super) written: Option<Timestamp>,
    /// The timeline that went on.
    pub(super) living: u32,
    pub(super) older_written: Option<Timestamp>,
    pub(super) has_segments: bool,
}

impl BackupObjects {
    /// The status, in barman's word.
    pub(super) fn word(&self) -> &'static str {
        match self.status() {
            BackupStatus::Done => "DONE",
            BackupStatus::Started => "STARTED",
            BackupStatus::Failed { .. } => "FAILED",
            BackupStatus::Unreadable { .. } => "unreadable",
            BackupStatus::NoRecord => "without backup.info",
        }
    }

    fn status(&self) -> BackupStatus {
        match (&self.record, &self.info) {
            (None, _) => BackupStatus::NoRecord,
            (Some(_), None) => BackupStatus::Unreadable { why: "was not read".to_owned() },
            (Some(_), Some(Err(why))) => BackupStatus::Unreadable { why: why.clone() },
            (Some(_), Some(Ok(info))) => match info.status {
                RecordStatus::Done => BackupStatus::Done,
                RecordStatus::Started => BackupStatus::Started,
                RecordStatus::Failed => BackupStatus::Failed { error: info.error.clone() },
            },
        }
    }
}

impl Catalogue {
    /// The fact. `known`: ids of base backups that the last pass found.
    pub fn fact(
        &self,
        subject: &Subject,
        place: &ArchivePlace,
        listed_at: Timestamp,
        expected_system: Option<SystemId>,
        known: &[String],
    ) -> ArchiveFact {
        let (objects, bytes, segments, foreign_keys) = self.counts();
        let size = self.segment_size();
        let chains = self.chains();
        let newest_chain = chains.first();
        let vanished = known.iter().filter(|id| !self.backups.contains_key(*id)).cloned();
        let headers = self.headers.values();
        let malformed = headers
            .clone()
            .filter(|header| !header.framed)
            .filter_map(|header| Some((header.key.clone(), header.fault.clone()?)));
        ArchiveFact {
            subject: subject.clone(),
            place: place.clone(),
            listed_at,
            objects,
            bytes,
            segments,
            segment_size: size.map(SegmentSize::bytes),
            backups: self.base_backups(),
            windows: chains.iter().rev().filter_map(|(base, chain)| self.window(base, chain)).collect(),
            gaps: self.gaps(&chains),
            systems: self.systems(),
            expected_system,
            orphan_histories: self.orphans(size.unwrap_or(SegmentSize::DEFAULT)).into_iter().map(Orphan::told).collect(),
            partials_inside: self.partials_inside(size.unwrap_or(SegmentSize::DEFAULT)),
            empty_objects: self.told_empty(),
            framed_objects: self.framed(),
            malformed_objects: malformed.collect(),
            oldest_segment: self.edge(|(first, _)| first, false),
            newest_segment: self.edge(|(_, last)| last, true),
            end: newest_chain.and_then(|(base, chain)| {
                let (timeline, number) = chain.end?;
                Some(EndOfWal { timeline: chain.timeline, segment: segment_text(timeline, number, base.size) })
            }),
            vanished_backups: vanished.collect(),
            known_backups: known.len() as u64,
            foreign_keys,
        }
    }

    /// The chain of each usable base backup, newest first.
    fn chains(&self) -> Vec<(Base<'_>, Chain)> {
        let bases = self.done_newest_first().into_iter().filter_map(|(id, info)| Base::of(id, info).ok());
        let chain_of = |base: &Base<'_>| self.follow(self.newest_reachable(base), base.begin_number(), base.size);
        bases.map(|base| (base, chain_of(&base))).collect()
    }

    fn window(&self, base: &Base<'_>, chain: &Chain) -> Option<Window> {
        let objects = self.backups.get(base.id)?;
        if !objects.missing(base.info).is_empty() || !chain.reaches(base.end_number()) {
            return None;
        }
        Some(Window {
            backup: base.id.to_owned(),
            timeline: chain.timeline,
            from: base.ended,
            covered_until: chain.end_written,
            last_segment: chain.end.map(|(timeline, number)| segment_text(timeline, number, base.size)),
            broken_at: chain.holes.first().map(|hole| segment_text(hole.timeline, hole.first, base.size)),
        })
    }

    fn base_backups(&self) -> Vec<BaseBackup> {
        let mut backups: Vec<BaseBackup> = self.backups.iter().map(|(id, objects)| self.base_backup(id, objects)).collect();
        backups.sort_by(|a, b| (a.timeline, a.begin_lsn, &a.id).cmp(&(b.timeline, b.begin_lsn, &b.id)));
        backups
    }

    fn base_backup(&self, id: &str, objects: &BackupObjects) -> BaseBackup {
        let info = match &objects.info {
            Some(Ok(info)) => Some(info),
            _ => None,
        };
        let done = objects.done();
        BaseBackup {
            id: id.to_owned(),
            status: objects.status(),
            begin_time: info.and_then(|info| info.begin_time),
            end_time: info.and_then(|info| info.end_time),
            begin_wal: info.and_then(|info| info.begin_wal.clone()),
            end_wal: info.and_then(|info| info.end_wal.clone()),
            begin_lsn: info.and_then(|info| info.begin_lsn),
            timeline: info.and_then(|info| info.timeline),
            system_id: info.and_then(|info| info.system_id),
            server_version: info.and_then(|info| info.server_version),
            cluster_size: info.and_then(|info| info.cluster_size),
            stored_bytes: objects.stored_bytes(),
            record_written: objects.record.as_ref().and_then(|seen| seen.written),
            missing: done.map(|info| objects.missing(info)).unwrap_or_default(),
            missing_wal: done.and_then(|info| Base::of(id, info).ok()).map(|base| self.missing_wal(&base)).unwrap_or_default(),
            keep: objects.keep.as_ref().map(|_| Keep::of(objects.keep_word.as_deref().unwrap_or_default())),
            tablespaces: info.map(|info| info.tablespaces.iter().map(|held| (held.name.clone(), held.oid)).collect()),
        }
    }

    /// Segments of `begin_wal..=end_wal` that are not there, the first 64.
    fn missing_wal(&self, base: &Base<'_>) -> Vec<String> {
        let (Some(first), last) = (base.begin.number(base.size), base.end_number()) else { return Vec::new() };
        let spans = self.wals.spans(base.begin.timeline, base.size);
        let mut missing = Vec::new();
        let mut number = first;
        while number <= last && missing.len() < MAX_NAMES {
            let next = spans.get(spans.partition_point(|span| span.last < number));
            if let Some(span) = next.filter(|span| span.first <= number) {
                number = span.last + 1;
            } else {
                missing.push(segment_text(base.begin.timeline, number, base.size));
                number += 1;
            }
        }
        missing
    }

    /// Holes behind the oldest needed segment. What lies there empty or partial is told elsewhere and is no hole.
    fn gaps(&self, chains: &[(Base<'_>, Chain)]) -> Vec<WalGap> {
        let mut found: BTreeMap<(u32, u64), (Hole, SegmentSize, bool)> = BTreeMap::new();
        for (index, (base, chain)) in chains.iter().enumerate() {
            for hole in &chain.holes {
                let entry = found.entry((hole.timeline, hole.last)).or_insert((*hole, base.size, index == 0));
                // An older backup sees the same hole from further back.
                entry.0.first = entry.0.first.min(hole.first);
            }
        }
        let odd = self.odd_names();
        let gaps = found.into_values().filter_map(|(hole, size, cuts_newest)| {
            let (first, last) = without_odd_ends(&hole, size, &odd)?;
            Some(WalGap {
                timeline: hole.timeline,
                first: segment_text(hole.timeline, first, size),
                last: segment_text(hole.last_timeline, last, size),
                count: last - first + 1,
                cuts_newest,
                later_written: hole.later_written,
            })
        });
        gaps.take(MAX_LISTED).collect()
    }

    fn systems(&self) -> Vec<SystemSeen> {
        let mut systems: BTreeMap<SystemId, SystemSeen> = BTreeMap::new();
        let mut note = |system_id: SystemId, place: String, written: Option<Timestamp>| {
            let seen = systems.entry(system_id).or_insert(SystemSeen { system_id, seen_in: Vec::new(), newest: None });
            if seen.seen_in.len() < MAX_NAMES {
                seen.seen_in.push(place);
            }
            seen.newest = seen.newest.max(written);
        };
        for (id, backup) in &self.backups {
            if let Some(system) = backup.done().and_then(|info| info.system_id) {
                note(system, format!("backup.info of {id}"), backup.record.as_ref().and_then(|seen| seen.written));
            }
        }
        for header in self.headers.values() {
            if let Some(system) = header.system_id {
                note(system, header.key.clone(), header.written);
            }
        }
        systems.into_values().collect()
    }

    /// Histories above all segments, and timelines that were left although a parent went on past the switch.
    pub(super) fn orphans(&self, size: SegmentSize) -> Vec<Orphan> {
        let timelines = self.wals.timelines();
        let newest = timelines.last().copied().unwrap_or(0);
        let written_on = |timeline: u32| self.wals.ends(timeline).and_then(|(_, last)| moment(last.written));
        let mut found = Vec::new();
        for (timeline, object) in self.histories.iter().filter(|(timeline, _)| newest != 0 && **timeline > newest) {
            found.push(Orphan {
                timeline: *timeline,
                key: history_key(*timeline, object.compression),
                parent: self.history(*timeline).and_then(|history| history.parent()).map(|parent| parent.timeline),
                written: object.seen.written,
                living: newest,
                older_written: timelines.iter().filter_map(|older| written_on(*older)).max(),
                has_segments: false,
            });
        }
        for timeline in timelines {
            let Some(history) = self.history(timeline) else { continue };
            let own = written_on(timeline);
            let living = history.entries.iter().rev().find_map(|entry| {
                let (_, last) = self.wals.ends(entry.timeline)?;
                let past = last.name.number(size)? > size.number_of(entry.switch);
                let later = moment(last.written).zip(own).is_some_and(|(older, own)| older > own);
                (past && later).then_some((entry.timeline, moment(last.written)))
            });
            if let Some((living, older_written)) = living {
                found.push(Orphan {
                    timeline,
                    key: self
                        .histories
                        .get(&timeline)
                        .map(|object| history_key(timeline, object.compression))
                        .unwrap_or_default(),
                    parent: history.parent().map(|parent| parent.timeline),
                    written: own,
                    living,
                    older_written,
                    has_segments: true,
                });
            }
        }
        found
    }

    /// `.partial` objects without a whole segment of that name, although later ones follow and no timeline was left there.
    fn partials_inside(&self, size: SegmentSize) -> Vec<PartialInside> {
        let left_at = |name: SegmentName| {
            let number = name.number(size);
            let mut histories = self.histories.keys().filter_map(|timeline| self.history(*timeline));
            histories.any(|history| history.left(name.timeline).map(|switch| size.number_of(switch)) == number)
        };
        let inside = self.partials.iter().filter(|odd| {
            let name = odd.name();
            self.wals.compressions(name).is_empty() && self.wals.any_after(name) && !left_at(name)
        });
        let told =
            inside.map(|odd| PartialInside { segment: odd.name().to_string(), key: partial_key(odd.name(), odd.compression) });
        told.take(MAX_LISTED).collect()
    }

    fn told_empty(&self) -> Vec<EmptyObject> {
        let segments = self
            .empty_segments
            .iter()
            .map(|odd| EmptyObject { key: segment_key(odd.name(), odd.compression), written: moment(odd.written) });
        let others = self.empty_objects.iter().map(|(key, written)| EmptyObject { key: key.clone(), written: *written });
        segments.chain(others).take(MAX_LISTED).collect()
    }

    fn framed(&self) -> Vec<String> {
        let segments = self.headers.values().filter(|header| header.framed).map(|header| header.key.clone());
        let unreadable = self.backups.iter().filter_map(|(id, backup)| match &backup.info {
            Some(Err(why)) if why.contains("aws-chunked") => Some(super::backups::record_key(id)),
            _ => None,
        });
        unreadable.chain(segments).collect()
    }

    fn edge(&self, which: impl Fn((Seen, Seen)) -> Seen, newest: bool) -> Option<SegmentSeen> {
        let timelines = self.wals.timelines();
        let timeline = if newest { timelines.last() } else { timelines.first() };
        let seen = which(self.wals.ends(*timeline?)?);
        Some(SegmentSeen {
            name: seen.name.to_string(),
            key: segment_key(seen.name, seen.compression),
            size: u64::from(seen.size),
            written: moment(seen.written),
        })
    }
}

impl Orphan {
    fn told(self) -> OrphanHistory {
        OrphanHistory {
            timeline: self.timeline,
            key: self.key,
            parent: self.parent,
            written: self.written,
            older_timeline_written: self.older_written,
        }
    }
}

/// Takes names that lie there as something else from both ends of a hole; `None` when nothing is left.
fn without_odd_ends(hole: &Hole, size: SegmentSize, odd: &std::collections::HashSet<SegmentName>) -> Option<(u64, u64)> {
    let is_odd = |number: u64| SegmentName::from_number(hole.timeline, number, size).is_some_and(|name| odd.contains(&name));
    let (mut first, mut last) = (hole.first, hole.last);
    while first <= last && is_odd(first) {
        first += 1;
    }
    while last > first && is_odd(last) {
        last -= 1;
    }
    (first <= last).then_some((first, last))
}
