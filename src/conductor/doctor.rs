//! The doctor: whether each provider can be reached, with which rights, and the fix.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::look::Look;
use super::look::look_in_waves;
use crate::domain::{
    ArchiveFact, Cx, ExitCode, Fact, Gap, Observation, Placeholder, Right, Setting, StoreFact, age, bytes_in_words,
    duration_in_words,
};
use crate::ledger::LedgerError;

/// Whether a provider can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// It answered all that was asked.
    Reachable,
    /// It answered some of it.
    Partly,
    /// It did not answer, or not to us.
    Unreachable,
    /// Its configuration holds a placeholder, so it was not asked.
    NotAsked,
}

impl Reach {
    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reachable => "reachable",
            Self::Partly => "PARTLY",
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

/// All of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// Providers, the unreachable ones first.
    pub providers: Vec<Examined>,
    /// 0 when all were reached, 3 when not, 1 for a placeholder.
    pub exit: ExitCode,
}

/// Looks at each provider that `only` names, or at all.
pub async fn examine(
    looks: &[Look],
    placeholders: &[Placeholder],
    only: Option<&str>,
    limit: Duration,
    cx: &Cx,
) -> Result<Examination, LedgerError> {
    let named = |name: &str| only.is_none_or(|only| name == only || name.rsplit('/').next() == Some(only));
    // A provider of the second wave needs what the first saw, so all of them look; only the named ones are shown.
    let seen = look_in_waves(looks, Vec::new(), None, cx, || limit, async |_| Ok(())).await?;
    let mut providers: Vec<Examined> = seen
        .observations
        .iter()
        .filter(|(provider, _)| named(&provider.0))
        .map(|(provider, observation)| examined(provider.0.clone(), observation, cx))
        .collect();
    for placeholder in placeholders.iter().filter(|placeholder| named(&placeholder.subject.to_string())) {
        providers.push(Examined {
            provider: placeholder.subject.to_string(),
            reach: Reach::NotAsked,
            seen: Vec::new(),
            fixes: vec![(
                format!("{} is the placeholder {} ({})", placeholder.key_path, placeholder.value, placeholder.at),
                "fill it in, then: dalsegno config check".to_owned(),
            )],
        });
    }
    providers.sort_by(|a, b| b.reach.cmp(&a.reach).then_with(|| a.provider.cmp(&b.provider)));
    let mut exit = ExitCode::Fine;
    for provider in &providers {
        exit = exit.worse(match provider.reach {
            Reach::Reachable => ExitCode::Fine,
            Reach::Partly | Reach::Unreachable => ExitCode::CouldNotLook,
            Reach::NotAsked => ExitCode::Findings,
        });
    }
    Ok(Examination { providers, exit })
}

fn examined(provider: String, observation: &Observation, cx: &Cx) -> Examined {
    let facts: Vec<&Fact> = observation.facts.iter().filter(|fact| !matches!(fact, Fact::Sample(_))).collect();
    let reach = match (facts.is_empty(), observation.gaps.is_empty()) {
        (false, true) => Reach::Reachable,
        (false, false) => Reach::Partly,
        (true, _) => Reach::Unreachable,
    };
    let seen = facts.iter().flat_map(|fact| words(fact, cx)).collect();
    let fixes = observation.gaps.iter().map(|gap: &Gap| (gap.detail.clone(), gap.hint.clone())).collect();
    Examined { provider, reach, seen, fixes }
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
        format!("{} at {}, bucket {}, region {}", store.dialect.as_str(), store.endpoint, store.bucket, store.region),
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
        format!("{}: {} objects, {}", archive.place, archive.objects, bytes_in_words(archive.bytes)),
        format!(
            "{} base backups, {} segments, newest {}",
            archive.backups.len(),
            archive.segments,
            newest.map_or_else(|| "none".to_owned(), |at| age(at, cx.now))
        ),
    ]
}
