//! What is kept between two looks: that CNPG was there, which Clusters were, and how far each had written.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::client::Lists;
use super::facts::name_of;
use super::wire::Cluster;
use crate::domain::{CnpgBackup, CnpgFact, CnpgGone, KubeName, KubeUid, LastPosition, LiveLocation, Memory, Subject, SystemId};

/// Raised when the meaning of what is kept changes; another number is simply not used.
const VERSION: u32 = 1;
/// A Cluster that is gone is remembered so long: its last segment must be in the archive, and a person may still bring it back.
const GONE_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);
/// More Clusters than this are not remembered.
const MOST: usize = 2_000;

/// Kept between two looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Remembered {
    version: u32,
    /// Groups that were served.
    pub(super) served: BTreeSet<String>,
    /// Clusters, by `namespace/name`.
    clusters: BTreeMap<String, One>,
}

/// One Cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct One {
    subject: Subject,
    cluster: KubeName,
    uid: Option<KubeUid>,
    system_id: Option<SystemId>,
    last_seen: Timestamp,
    gone_since: Option<Timestamp>,
    position: Option<LastPosition>,
    location: Option<LiveLocation>,
    /// Completed Backups at the last look; `None` = not looked at.
    completed: Option<BTreeSet<String>>,
}

impl Remembered {
    /// Reads what was kept; another version or a damaged text: nothing was.
    pub(super) fn of(memory: Option<&Memory>) -> Self {
        let kept: Option<Self> = memory.and_then(|memory| serde_json::from_value(memory.0.clone()).ok());
        kept.filter(|kept| kept.version == VERSION).unwrap_or_default()
    }

    pub(super) fn memory(&self) -> Option<Memory> {
        serde_json::to_value(Self { version: VERSION, ..self.clone() }).ok().map(Memory)
    }

    /// Subjects of Clusters that were there at the last look.
    pub(super) fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.clusters.values().filter(|one| one.gone_since.is_none()).map(|one| &one.subject)
    }

    /// Subjects of Clusters that were there at the last look, in namespaces that this one could not read.
    pub(super) fn unread(&self, lists: &Lists) -> Vec<Subject> {
        let there = self.clusters.values().filter(|one| one.gone_since.is_none());
        there.filter(|one| !lists.clusters.covers(&one.cluster.namespace)).map(|one| one.subject.clone()).collect()
    }

    /// Adds to a fact what only memory knows.
    pub(super) fn complete(&self, fact: &mut CnpgFact) {
        let Some(one) = self.clusters.get(&fact.cluster.to_string()).filter(|one| one.uid == fact.uid) else { return };
        if fact.last_position.is_none() {
            fact.last_position.clone_from(&one.position);
        }
        if let (Some(before), Some(backups)) = (&one.completed, &fact.backups) {
            let gone = |name: &&String| !backups.iter().any(|backup| backup.name == **name);
            fact.backups_gone = Some(before.iter().filter(gone).cloned().collect());
        }
    }

    /// Takes in what this look saw. `looked` says of which namespaces the Clusters were read; the others stay as they were.
    pub(super) fn take(&mut self, facts: &[CnpgFact], looked: impl Fn(&str) -> bool, now: Timestamp) {
        for fact in facts.iter().take(MOST) {
            let before = self.clusters.remove(&fact.cluster.to_string()).filter(|one| one.uid == fact.uid);
            let completed =
                fact.backups.as_ref().map(|backups| backups.iter().filter(|of| done(of)).map(|of| of.name.clone()).collect());
            let one = One {
                subject: fact.subject.clone(),
                cluster: fact.cluster.clone(),
                uid: fact.uid.clone(),
                system_id: fact.system_id.or_else(|| before.as_ref().and_then(|one| one.system_id)),
                last_seen: now,
                gone_since: None,
                position: fact.last_position.clone(),
                location: fact.writer().and_then(|writer| writer.location()).cloned(),
                completed: completed.or_else(|| before.and_then(|one| one.completed)),
            };
            self.clusters.insert(fact.cluster.to_string(), one);
        }
        let there: BTreeSet<&KubeName> = facts.iter().map(|fact| &fact.cluster).collect();
        for one in self.clusters.values_mut().filter(|one| !there.contains(&one.cluster) && looked(&one.cluster.namespace)) {
            one.gone_since.get_or_insert(now);
        }
        self.clusters.retain(|_, one| one.gone_since.is_none_or(|since| now.duration_since(since) < GONE_FOR));
    }

    /// Clusters that were there and are not.
    pub(super) fn gone(&self) -> Vec<CnpgGone> {
        let one = |one: &One| {
            Some(CnpgGone {
                subject: one.subject.clone(),
                cluster: one.cluster.clone(),
                uid: one.uid.clone(),
                system_id: one.system_id,
                last_seen: one.last_seen,
                gone_since: one.gone_since?,
                last_position: one.position.clone(),
                location: one.location.clone(),
            })
        };
        self.clusters.values().filter_map(one).collect()
    }
}

fn done(backup: &CnpgBackup) -> bool {
    backup.phase.as_deref() == Some("completed")
}

/// Whether a Cluster of this list was seen under this name.
pub(super) fn is_there(clusters: &[Cluster], name: &KubeName) -> bool {
    clusters.iter().any(|cluster| name_of(&cluster.metadata) == *name)
}
