//! The doctor: whether each provider can be reached, with which rights, and the fix; and whether a drill could run here.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::look::{CONFIGURATION, Look, look_in_waves};
use crate::domain::{
    ArchiveFact, BackupStatus, Cx, Denied, ExitCode, Fact, FactKind, Gap, Known, Observation, Placeholder, ProviderId, Right,
    Setting, StoreFact, Subject, age, bytes_in_words, duration_in_words, many,
};
use crate::ledger::LedgerError;
use crate::restore::{Candidate, Need, Restorer};

/// How the part that looks at drills is called, for whoever asks for it alone.
pub const DRILLS: &str = "drills";

/// Whether a provider can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// It answered all that was asked.
    Reachable,
    /// It answered some of it.
    Partly,
    /// It answers, and not to us: keys, region or clock.
    Refused,
    /// It did not answer.
    Unreachable,
    /// Something in its configuration cannot be used, so it was not asked.
    NotAsked,
}

impl Reach {
    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reachable => "reachable",
            Self::Partly => "PARTLY",
            Self::Refused => "REFUSED",
            Self::Unreachable => "UNREACHABLE",
            Self::NotAsked => "NOT ASKED",
        }
    }
}

/// One provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examined {
    /// The provider, or the subject that was not asked.
    pub provider: String,
    /// Whether it can be reached.
    pub reach: Reach,
    /// What was seen, in words: rights, clock, certificate, sizes.
    pub seen: Vec<String>,
    /// What could not be looked at, and the fix: (what, hint).
    pub fixes: Vec<(String, String)>,
}

/// Whether a drill could run on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// What is there.
    pub seen: Vec<String>,
    /// What is missing, and the fix: (what, hint).
    pub missing: Vec<(String, String)>,
    /// What could not be looked at, and the fix: (what, hint).
    pub not_known: Vec<(String, String)>,
}

impl Readiness {
    fn of(needs: Vec<Need>) -> Self {
        let mut readiness = Self::default();
        for need in needs {
            match need {
                Need::Met { seen } => readiness.seen.push(seen),
                Need::Unmet { seen, hint } => readiness.missing.push((seen, hint)),
                Need::NotKnown { why, hint } => readiness.not_known.push((why, hint)),
            }
        }
        readiness
    }

    /// The word for people.
    pub fn as_str(&self) -> &'static str {
        match (self.missing.is_empty(), self.not_known.is_empty()) {
            (true, true) => "ready",
            (true, false) => "NOT KNOWN",
            (false, _) => "NOT READY",
        }
    }

    /// Whether all of it is there.
    pub fn is_ready(&self) -> bool {
        self.missing.is_empty() && self.not_known.is_empty()
    }
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// Providers, the unreachable ones first.
    pub providers: Vec<Examined>,
    /// Whether a drill could run here; `None` when it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drills: Option<Readiness>,
    /// 0 when all were reached and drills can run, 3 when not, 1 for a part that its configuration keeps from being asked.
    pub exit: ExitCode,
}

/// What is examined.
pub struct Patient<'a> {
    /// Everybody who can look.
    pub looks: &'a [Look],
    /// Values that nobody filled in.
    pub placeholders: &'a [Placeholder],
    /// The store that each database lies on.
    pub rests_on: &'a BTreeMap<Subject, Subject>,
    /// Who would drill.
    pub restorer: &'a Restorer,
    /// Only what answers to this: a provider, a subject, or [`DRILLS`].
    pub only: Option<&'a str>,
    /// Time for one provider.
    pub limit: Duration,
}

/// Looks at each provider that `only` names, or at all; and at what a drill needs.
pub async fn examine(of: &Patient<'_>, cx: &Cx) -> Result<Examination, LedgerError> {
    // A provider of the second wave needs what the first saw, so all of them look; only the named ones are shown.
    let seen = look_in_waves(of.looks, Vec::new(), None, cx, || of.limit, async |_| Ok(())).await?;
    let configuration = ProviderId(CONFIGURATION.to_owned());
    let (unusable, asked): (Vec<_>, Vec<_>) = seen.observations.iter().partition(|(provider, _)| *provider == configuration);
    let mut providers: Vec<Examined> = asked
        .iter()
        .filter(|(provider, _)| of.means(provider))
        .map(|(provider, observation)| examined(provider.0.clone(), observation, cx))
        .collect();
    let gaps: Vec<&Gap> = unusable.iter().flat_map(|(_, observation)| &observation.gaps).collect();
    providers.extend(not_asked(of, &gaps));
    providers.sort_by(|a, b| b.reach.cmp(&a.reach).then_with(|| a.provider.cmp(&b.provider)));
    let drills = if of.only.is_none_or(|only| only == DRILLS) {
        let facts = asked.iter().flat_map(|(_, observation)| &observation.facts);
        Some(Readiness::of(of.restorer.readiness(&candidates(of.restorer, facts)).await))
    } else {
        None
    };
    let mut exit = ExitCode::Fine;
    for provider in &providers {
        exit = exit.worse(match provider.reach {
            Reach::Reachable => ExitCode::Fine,
            Reach::Partly | Reach::Refused | Reach::Unreachable => ExitCode::CouldNotLook,
            Reach::NotAsked => ExitCode::Findings,
        });
    }
    if drills.as_ref().is_some_and(|drills| !drills.is_ready()) {
        exit = exit.worse(ExitCode::CouldNotLook);
    }
    Ok(Examination { providers, drills, exit })
}

impl Patient<'_> {
    /// Whether this provider, or a subject that it looks at, was asked for.
    fn means(&self, provider: &ProviderId) -> bool {
        let Some(only) = self.only else { return true };
        let named = |name: &str| name == only || name.rsplit('/').next() == Some(only);
        let look = self.looks.iter().find(|look| look.observer.name() == *provider);
        let covers = look.map(|look| look.observer.covers(&Known::default())).unwrap_or_default();
        named(&provider.0) || covers.iter().any(|(subject, _)| subject.answers_to(only))
    }

    fn means_subject(&self, subject: &Subject) -> bool {
        self.only.is_none_or(|only| subject.answers_to(only))
    }
}

/// What its configuration keeps from being asked, each subject once and each cause once.
fn not_asked(of: &Patient<'_>, gaps: &[&Gap]) -> Vec<Examined> {
    let mut rows: BTreeMap<&Subject, Vec<(String, String)>> = BTreeMap::new();
    for placeholder in of.placeholders {
        let what = format!("{} is the placeholder {} ({})", placeholder.key_path, placeholder.value, placeholder.at);
        let hint = "fill it in, then: dalsegno config check".to_owned();
        rows.entry(&placeholder.subject).or_default().push((what, hint));
    }
    for gap in gaps {
        let told = of.placeholders.iter().any(|placeholder| gap.detail.contains(&placeholder.key_path));
        let store = of.rests_on.get(&gap.subject).filter(|store| gaps.iter().any(|other| other.subject == **store));
        if let Some(store) = store {
            let hint = format!("see {store}");
            rows.entry(&gap.subject).or_default().push((format!("its store {} is not asked either", store.name()), hint));
        } else if !told {
            rows.entry(&gap.subject).or_default().push((gap.detail.clone(), gap.hint.clone()));
        }
    }
    let shown = rows.into_iter().filter(|(subject, _)| of.means_subject(subject));
    shown
        .map(|(subject, fixes)| Examined { provider: subject.to_string(), reach: Reach::NotAsked, seen: Vec::new(), fixes })
        .collect()
}

/// What restoring each database takes, by its newest whole base backup.
fn candidates<'a>(restorer: &Restorer, facts: impl Iterator<Item = &'a Fact>) -> Vec<Candidate> {
    let mut archives: BTreeMap<&Subject, &ArchiveFact> = BTreeMap::new();
    for fact in facts {
        if let Fact::Archive(archive) = fact {
            archives.insert(&archive.subject, archive);
        }
    }
    let candidate = |subject: Subject| {
        let backups = archives.get(&subject).map(|archive| archive.backups.as_slice()).unwrap_or_default();
        let newest = backups.iter().rev().find(|backup| backup.status == BackupStatus::Done);
        Candidate {
            major: newest.and_then(|backup| backup.server_version).map(|version| version / 10_000),
            cluster_bytes: newest.and_then(|backup| backup.cluster_size),
            subject,
        }
    };
    restorer.subjects().into_iter().map(candidate).collect()
}

fn examined(provider: String, observation: &Observation, cx: &Cx) -> Examined {
    let facts: Vec<&Fact> = observation.facts.iter().filter(|fact| !matches!(fact, Fact::Sample(_))).collect();
    // A store that answers with a refusal of our keys leaves a fact that holds little more than its name.
    let dark = observation.gaps.iter().find(|gap| facts.is_empty() || gap.what == FactKind::Store);
    let reach = match dark.map(|gap| &gap.why) {
        Some(Denied::Denied { .. }) => Reach::Refused,
        Some(Denied::NotAsked) => Reach::NotAsked,
        Some(_) => Reach::Unreachable,
        None if facts.is_empty() => Reach::Unreachable,
        None if observation.gaps.is_empty() => Reach::Reachable,
        None => Reach::Partly,
    };
    let seen = facts.iter().flat_map(|fact| if dark.is_some() { few_words(fact) } else { words(fact, cx) }).collect();
    let gaps = observation.gaps.iter().map(|gap: &Gap| (gap.detail.clone(), gap.hint.clone()));
    let fixes = gaps.chain(empty_places(observation)).collect();
    Examined { provider, reach, seen, fixes }
}

/// An archive without anything in it was reached, and is most likely another place than the one that is meant.
fn empty_places(observation: &Observation) -> impl Iterator<Item = (String, String)> {
    let empty = observation.facts.iter().filter_map(|fact| match fact {
        Fact::Archive(archive) if archive.objects == 0 => Some(archive),
        _ => None,
    });
    empty.map(move |archive| {
        let shown = observation.controls.iter().find(|control| control.subject == archive.subject);
        let what = shown.map_or_else(|| format!("nothing lies under {}", archive.place), |control| control.shown.clone());
        let name = archive.subject.name();
        let hint = format!(
            "is it the right place? check archive.prefix and archive.server of postgres.{name}; what lies beside it: dalsegno archive list {name}"
        );
        (what, hint)
    })
}

/// Of what does not answer to us: which it is.
fn few_words(fact: &Fact) -> Vec<String> {
    match fact {
        Fact::Store(store) => vec![of_place(store)],
        _ => Vec::new(),
    }
}

fn words(fact: &Fact, cx: &Cx) -> Vec<String> {
    match fact {
        Fact::Store(store) => of_store(store, cx),
        Fact::Archive(archive) => of_archive(archive, cx),
        Fact::RecoveryPoint(_)
        | Fact::Sample(_)
        | Fact::Series(_)
        | Fact::Cnpg(_)
        | Fact::CnpgSite(_)
        | Fact::AlertRules(_)
        | Fact::Drill(_) => Vec::new(),
    }
}

fn of_store(store: &StoreFact, cx: &Cx) -> Vec<String> {
    let right = |right: Right| match right {
        Right::Yes => "yes",
        Right::No => "NO",
        Right::Unknown => "not known",
    };
    let rights = store.rights;
    let mut words = vec![
        of_place(store),
        format!(
            "the reading key may: list {}, read {}, write {}, list uploads {}",
            right(rights.list),
            right(rights.read),
            right(rights.write),
            right(rights.list_uploads)
        ),
    ];
    if let Some(skew) = store.clock_skew_seconds {
        words.push(format!(
            "clock {} {}",
            duration_in_words(skew.abs()),
            if skew < 0.0 { "behind ours" } else { "ahead of ours" }
        ));
    }
    if let Some(certificate) = &store.certificate {
        words.push(format!("certificate {} ends {}", certificate.subject, age(certificate.not_after, cx.now)));
    }
    words.push(format!(
        "versioning {}, object lock {}, lifecycle {}",
        setting(&store.versioning),
        setting(&store.object_lock),
        setting(&store.lifecycle)
    ));
    words
}

fn of_place(store: &StoreFact) -> String {
    format!("{} at {}, bucket {}, region {}", store.dialect.as_str(), store.endpoint, store.bucket, store.region)
}

fn setting<T>(setting: &Setting<T>) -> &'static str {
    match setting {
        Setting::Set(_) => "set",
        Setting::Absent => "not set",
        Setting::NotImplemented => "not offered",
        Setting::Denied => "not allowed to ask",
        Setting::NotAsked => "not asked",
    }
}

fn of_archive(archive: &ArchiveFact, cx: &Cx) -> Vec<String> {
    let newest = archive.newest_segment.as_ref().and_then(|segment| segment.written);
    vec![
        format!("{}: {}, {}", archive.place, many(archive.objects, "object"), bytes_in_words(archive.bytes)),
        format!(
            "{}, {}, newest {}",
            many(archive.backups.len(), "base backup"),
            many(archive.segments, "segment"),
            newest.map_or_else(|| "none".to_owned(), |at| age(at, cx.now))
        ),
    ]
}
