//! From catalogue and target to a plan, or to the reason why not.

use jiff::{SignedDuration, Timestamp};

use super::backup_info::BackupInfo;
use super::catalogue::Catalogue;
use super::chain::{Chain, Hole};
use super::codec::Compression;
use super::key::history_key;
use super::name::{SegmentName, SegmentSize};
use super::plan::{HistoryFile, RestorePlan, SegmentRange, Stretch};
use super::refusal::Refusal;
use super::target::RecoveryTarget;
use crate::domain::{EndOfWal, SystemId};

/// A DONE backup with everything in its record that a restore needs.
#[derive(Clone, Copy)]
pub(super) struct Base<'a> {
    pub(super) id: &'a str,
    pub(super) info: &'a BackupInfo,
    pub(super) timeline: u32,
    pub(super) begin: SegmentName,
    pub(super) end: SegmentName,
    pub(super) size: SegmentSize,
    pub(super) system: SystemId,
    pub(super) ended: Timestamp,
    /// Where it is consistent.
    pub(super) lsn: u64,
}

impl<'a> Base<'a> {
    pub(super) fn of(id: &'a str, info: &'a BackupInfo) -> Result<Self, Refusal> {
        let lacks = |field| Refusal::RecordIncomplete { backup: id.to_owned(), field };
        let begin = info.first_segment().ok_or_else(|| lacks("begin_wal"))?;
        let size = info.wal_segment_size().ok_or_else(|| lacks("xlog_segment_size"))?;
        let end = info.last_segment().ok_or_else(|| lacks("end_wal"))?;
        let start = begin.start(size).ok_or_else(|| lacks("begin_wal that fits xlog_segment_size"))?;
        end.number(size).filter(|_| begin <= end).ok_or_else(|| lacks("end_wal that comes after begin_wal"))?;
        Ok(Self {
            id,
            info,
            timeline: info.timeline.unwrap_or(begin.timeline),
            begin,
            end,
            size,
            system: info.system_id.ok_or_else(|| lacks("systemid"))?,
            ended: info.end_time.ok_or_else(|| lacks("end_time"))?,
            lsn: info.end_lsn.or(info.begin_lsn).unwrap_or(start.0),
        })
    }

    pub(super) fn begin_number(&self) -> u64 {
        self.begin.number(self.size).unwrap_or_default()
    }

    pub(super) fn end_number(&self) -> u64 {
        self.end.number(self.size).unwrap_or_default()
    }
}

impl Catalogue {
    /// Plans a restore. `timeline`: a name makes it that one; `None` means the newest that can be reached from the newest base backup
    /// with DONE, unless a history or an abandoned timeline makes that doubtful.
    pub fn choose(&self, target: RecoveryTarget, timeline: Option<u32>) -> Result<RestorePlan, Refusal> {
        let bases = self.bases()?;
        let candidates: Vec<Base<'_>> = match timeline {
            None => bases.clone(),
            Some(named) => bases.iter().filter(|base| self.reachable(base.timeline, base.lsn, named)).copied().collect(),
        };
        let Some(newest) = candidates.first().copied() else { return Err(self.no_way(timeline, &bases)) };
        let base = match target {
            RecoveryTarget::End => newest,
            RecoveryTarget::Time(moment) => base_for(moment, &candidates)?,
        };
        self.one_system(&base)?;
        let path_end = match timeline {
            Some(named) => named,
            None => self.default_timeline(&base)?,
        };
        if self.wals.ends(path_end).is_none() && path_end != base.timeline {
            return Err(Refusal::TimelineUnreachable { timeline: path_end, why: "it has no segment".to_owned() });
        }
        let missing = self.backups.get(base.id).map(|backup| backup.missing(base.info)).unwrap_or_default();
        if !missing.is_empty() {
            let tablespace = !missing.iter().any(|name| name.starts_with("data"));
            return Err(Refusal::BaseIncomplete { backup: base.id.to_owned(), missing, tablespace });
        }
        let chain = self.follow(path_end, base.begin_number(), base.size);
        self.whole(&base, &chain, target)?;
        self.plan(&base, &chain, target)
    }

    /// Usable records, newest first. The newest DONE backup must be usable: an older one behind it would prove the wrong thing.
    fn bases(&self) -> Result<Vec<Base<'_>>, Refusal> {
        let done = self.done_newest_first();
        if done.is_empty() {
            let (_, _, segments, _) = self.counts();
            if segments == 0 && self.backups.is_empty() {
                return Err(Refusal::Empty);
            }
            return Err(Refusal::NoBackup { segments, seen: self.other_backups() });
        }
        let mut bases = Vec::new();
        for (index, (id, info)) in done.into_iter().enumerate() {
            match Base::of(id, info) {
                Ok(base) => bases.push(base),
                Err(refusal) if index == 0 => return Err(refusal),
                Err(_) => {}
            }
        }
        Ok(bases)
    }

    fn other_backups(&self) -> String {
        let words: Vec<String> =
            self.backups.iter().rev().take(3).map(|(id, backup)| format!("{id} {}", backup.word())).collect();
        if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
    }

    fn no_way(&self, timeline: Option<u32>, bases: &[Base<'_>]) -> Refusal {
        let timeline = timeline.unwrap_or_default();
        let why = match self.histories.get(&timeline).map(|object| &object.history) {
            _ if bases.iter().all(|base| base.timeline > timeline) => "all base backups are of later timelines".to_owned(),
            None => format!("{timeline:08X}.history is not in the archive"),
            Some(None) => "its history was not read".to_owned(),
            Some(Some(Err(why))) => format!("its history cannot be read: {why}"),
            Some(Some(Ok(_))) => "its history leaves the timelines of all base backups before these were consistent".to_owned(),
        };
        Refusal::TimelineUnreachable { timeline, why }
    }

    /// Every system seen must be the backup's.
    fn one_system(&self, base: &Base<'_>) -> Result<(), Refusal> {
        let records = self.done_newest_first();
        let of_records =
            records.iter().filter_map(|(id, info)| info.system_id.map(|system| (format!("backup.info of {id}"), system)));
        let of_headers = self.headers.values().filter_map(|header| header.system_id.map(|system| (header.key.clone(), system)));
        match of_records.chain(of_headers).find(|(_, system)| *system != base.system) {
            None => Ok(()),
            Some((other, found)) => {
                Err(Refusal::MixedSystems { backup: base.id.to_owned(), expected: base.system, other, found })
            }
        }
    }

    /// The timeline of the newest chain that the backup reaches.
    pub(super) fn newest_reachable(&self, base: &Base<'_>) -> u32 {
        let timelines = self.wals.timelines();
        let newest = timelines.into_iter().rev().find(|timeline| self.reachable(base.timeline, base.lsn, *timeline));
        newest.unwrap_or(base.timeline)
    }

    fn default_timeline(&self, base: &Base<'_>) -> Result<u32, Refusal> {
        let chosen = self.newest_reachable(base);
        if let Some(timeline) = self.wals.timelines().into_iter().rev().find(|timeline| *timeline > chosen) {
            match self.histories.get(&timeline).map(|object| &object.history) {
                Some(Some(Ok(_))) => {}
                other => {
                    let why = match other {
                        Some(Some(Err(why))) => format!("cannot be read ({why})"),
                        _ => "is not in the archive".to_owned(),
                    };
                    return Err(Refusal::HistoryMissing { timeline, why, backup: base.id.to_owned() });
                }
            }
        }
        let astray = self.orphans(base.size).into_iter().find(|orphan| orphan.timeline >= chosen || orphan.has_segments);
        match astray {
            None => Ok(chosen),
            Some(orphan) => {
                let why = if orphan.has_segments {
                    format!("timeline {} was written after timeline {} had been left", orphan.living, orphan.timeline)
                } else {
                    format!("{} is there and no segment of timeline {}", orphan.key, orphan.timeline)
                };
                let living = if orphan.has_segments { orphan.living } else { chosen };
                Err(Refusal::OrphanTimeline { orphan: orphan.timeline, chosen: living, why })
            }
        }
    }

    /// Whether the chain carries the backup and the target.
    fn whole(&self, base: &Base<'_>, chain: &Chain, target: RecoveryTarget) -> Result<(), Refusal> {
        let backup = base.id.to_owned();
        let hole = chain.holes.first();
        if !chain.reaches(base.end_number()) {
            let first = chain.end.map_or(base.begin_number(), |(_, end)| end + 1);
            let name = segment_text(base.begin.timeline, first, base.size);
            if let Some(refusal) = hole.and_then(|hole| self.odd_refusal(&backup, hole, base.size)) {
                return Err(refusal);
            }
            let (begin, end) = (base.begin.to_string(), base.end.to_string());
            return Err(Refusal::BackupWalMissing { backup, begin, end, first: name, ended: Some(base.ended) });
        }
        match (target, hole) {
            (RecoveryTarget::End, None) => Ok(()),
            (RecoveryTarget::End, Some(hole)) => Err(self.hole_refusal(&backup, hole, base.size)),
            (RecoveryTarget::Time(moment), hole) => {
                // LastModified is cut to whole seconds. Replay must pause at the target, so nothing is promised by the rest of one.
                let within = |until: Timestamp| moment.duration_since(until) < SignedDuration::from_secs(1);
                if chain.end_written.is_some_and(within) {
                    return Ok(());
                }
                let broken_at = hole.map(|hole| segment_text(hole.timeline, hole.first, base.size));
                Err(Refusal::TargetTooLate { target: moment, covered_until: chain.end_written, broken_at })
            }
        }
    }

    fn odd_refusal(&self, backup: &str, hole: &Hole, size: SegmentSize) -> Option<Refusal> {
        let name = SegmentName::from_number(hole.timeline, hole.first, size)?;
        let (backup, segment) = (backup.to_owned(), name.to_string());
        if self.empty_segments.iter().any(|odd| odd.name() == name) {
            return Some(Refusal::EmptySegment { backup, segment });
        }
        self.partials.iter().any(|odd| odd.name() == name).then_some(Refusal::PartialInside { backup, segment })
    }

    fn hole_refusal(&self, backup: &str, hole: &Hole, size: SegmentSize) -> Refusal {
        self.odd_refusal(backup, hole, size).unwrap_or_else(|| Refusal::Hole {
            backup: backup.to_owned(),
            first: segment_text(hole.timeline, hole.first, size),
            last: segment_text(hole.last_timeline, hole.last, size),
            count: hole.count(),
            later_written: hole.later_written,
        })
    }

    fn plan(&self, base: &Base<'_>, chain: &Chain, target: RecoveryTarget) -> Result<RestorePlan, Refusal> {
        let last = chain.stretches.last().map(|stretch| stretch.last);
        let end =
            last.ok_or(Refusal::RecordIncomplete { backup: base.id.to_owned(), field: "begin_wal that is in the archive" })?;
        let files = self.histories.iter().filter(|(timeline, _)| {
            let ancestor = self.history(chain.timeline).is_some_and(|history| history.left(**timeline).is_some());
            **timeline == chain.timeline || ancestor
        });
        let histories = files.filter_map(|(timeline, object)| {
            Some(HistoryFile {
                timeline: *timeline,
                key: history_key(*timeline, object.compression),
                compression: object.compression,
                history: self.history(*timeline)?.clone(),
            })
        });
        Ok(RestorePlan {
            backup: base.id.to_owned(),
            info: base.info.clone(),
            base: self.backups.get(base.id).map(|backup| backup.objects(base.id, base.info)).unwrap_or_default(),
            system_id: base.system,
            segment_size: base.size,
            timeline: chain.timeline,
            path: chain.stretches.clone(),
            ranges: chain.stretches.iter().flat_map(|stretch| self.ranges(stretch, base.size)).collect(),
            histories: histories.collect(),
            end: EndOfWal { timeline: chain.timeline, segment: end.to_string() },
            from: base.ended,
            covered_until: chain.end_written,
            target,
            broken_at: chain.holes.first().and_then(|hole| SegmentName::from_number(hole.timeline, hole.first, base.size)),
        })
    }

    /// Splits a stretch where the compressions change.
    fn ranges(&self, stretch: &Stretch, size: SegmentSize) -> Vec<SegmentRange> {
        let (Some(first), Some(last)) = (stretch.first.number(size), stretch.last.number(size)) else { return Vec::new() };
        let mut ranges = Vec::new();
        let mut from = first;
        while from <= last {
            let Some(name) = SegmentName::from_number(stretch.timeline, from, size) else { break };
            let compressions: Vec<Compression> = self.wals.compressions(name);
            let until = self.wals.same_until(name, size).min(last).max(from);
            let Some(until_name) = SegmentName::from_number(stretch.timeline, until, size) else { break };
            ranges.push(SegmentRange { first: name, last: until_name, compressions });
            from = until + 1;
        }
        ranges
    }
}

/// The newest backup that was consistent before the target.
fn base_for<'a>(moment: Timestamp, candidates: &[Base<'a>]) -> Result<Base<'a>, Refusal> {
    if let Some(base) = candidates.iter().find(|base| base.ended <= moment) {
        return Ok(*base);
    }
    let inside = candidates.iter().find(|base| base.info.begin_time.is_some_and(|begin| begin <= moment));
    if let Some(base) = inside {
        return Err(Refusal::TargetInsideBackup { target: moment, backup: base.id.to_owned(), end: base.ended });
    }
    let earliest = candidates.iter().map(|base| base.ended).min().unwrap_or(moment);
    Err(Refusal::TargetTooEarly { target: moment, earliest })
}

pub(super) fn segment_text(timeline: u32, number: u64, size: SegmentSize) -> String {
    SegmentName::from_number(timeline, number, size).map(|name| name.to_string()).unwrap_or_default()
}
