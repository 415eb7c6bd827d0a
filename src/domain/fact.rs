//! What was seen, and what could not be looked at.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    AlertRulesFact, ArchiveFact, CnpgFact, CnpgSiteFact, Evidence, RecoveryPoint, Series, StoreFact, StoreId, StorePart, Subject,
    SubjectKind,
};

/// The kinds of facts; a provider names those of the first wave that it needs, a gap names the one that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactKind {
    /// An object store: reachable, rights, clock, certificate, settings.
    Store,
    /// A part of the look at a store that is asked beside its listing. Only gaps are of this kind: the rest of the fact stands.
    StorePart(StorePart),
    /// A PostgreSQL archive in a store.
    Archive,
    /// What could be restored.
    RecoveryPoint,
    /// A number with a time.
    Sample,
    /// A number over time.
    Series,
    /// A CNPG Cluster, as the API server shows it.
    Cnpg,
    /// What a Kubernetes cluster shows of CNPG beside its Clusters.
    CnpgSite,
    /// Alert rules of a Kubernetes cluster.
    AlertRules,
    /// What a drill found.
    Drill,
    /// Whether a channel can be told anything. There is no fact of this kind, only gaps: a channel without its URL.
    Channel,
}

/// One thing that was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "kebab-case")]
pub enum Fact {
    /// A store.
    Store(Box<StoreFact>),
    /// An archive.
    Archive(Box<ArchiveFact>),
    /// A recovery point.
    RecoveryPoint(Box<RecoveryPoint>),
    /// A number.
    Sample(Sample),
    /// A number over time.
    Series(Series),
    /// A CNPG Cluster.
    Cnpg(Box<CnpgFact>),
    /// What a Kubernetes cluster shows of CNPG beside its Clusters.
    CnpgSite(Box<CnpgSiteFact>),
    /// Alert rules of a Kubernetes cluster.
    AlertRules(Box<AlertRulesFact>),
    /// The evidence of a finished drill, taken in from its file.
    Drill(Box<Evidence>),
}

impl Fact {
    /// What kind it is.
    pub const fn kind(&self) -> FactKind {
        match self {
            Self::Store(_) => FactKind::Store,
            Self::Archive(_) => FactKind::Archive,
            Self::RecoveryPoint(_) => FactKind::RecoveryPoint,
            Self::Sample(_) => FactKind::Sample,
            Self::Series(_) => FactKind::Series,
            Self::Cnpg(_) => FactKind::Cnpg,
            Self::CnpgSite(_) => FactKind::CnpgSite,
            Self::AlertRules(_) => FactKind::AlertRules,
            Self::Drill(_) => FactKind::Drill,
        }
    }

    /// A number, now or over time: it shows nothing of whether its subject itself was looked at.
    pub const fn is_number(&self) -> bool {
        matches!(self, Self::Sample(_) | Self::Series(_))
    }

    /// What it is about.
    pub fn subject(&self) -> &Subject {
        match self {
            Self::Store(fact) => &fact.subject,
            Self::Archive(fact) => &fact.subject,
            Self::RecoveryPoint(fact) => &fact.subject,
            Self::Sample(fact) => &fact.subject,
            Self::Series(fact) => &fact.subject,
            Self::Cnpg(fact) => &fact.subject,
            Self::CnpgSite(fact) => &fact.subject,
            Self::AlertRules(fact) => &fact.subject,
            Self::Drill(fact) => &fact.subject,
        }
    }
}

/// The metric under which an observer is told what is left of the day's requests of its store. At or below zero the daily whole
/// listing waits; going on from the last known key does not.
pub const REQUESTS_LEFT: &str = "store_requests_left_count";

/// The code of a gap that is there because the request budget of the day is used up.
pub const BUDGET_USED: &str = "RequestBudgetUsed";

/// The code of a gap that is there because a server of metrics answers and has no series of a database.
pub const SERIES_ABSENT: &str = "SeriesAbsent";

/// A number with a time. `metric` is a word of the closed table in docs/reference/metrics.md and ends in its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What it is about.
    pub subject: Subject,
    /// `archive_objects`, `archive_bytes`, `archive_age_seconds`, `base_backups_count`, …
    pub metric: String,
    /// The value.
    pub value: f64,
    /// When it was taken.
    pub at: Timestamp,
}

/// Why something could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Denied {
    /// The other side refused this verb (`ListObjectsV2`, `GetObject`).
    Denied {
        /// The call that was refused, in the other side's words.
        verb: String,
    },
    /// The other side does not have the call at all (501, 404 of an API).
    AbsentApi,
    /// No answer within the deadline.
    Timeout,
    /// The TLS handshake failed, or the certificate is not trusted.
    Tls,
    /// The name does not resolve.
    Dns,
    /// Nobody listens, or the connection was cut.
    Refused,
    /// An answer came and made no sense.
    Malformed,
    /// An answer came and was not whole.
    Truncated,
    /// We did not ask: a placeholder in the configuration, a missing key, a budget that was used up.
    NotAsked,
    /// The other side answered with an error of its own (5xx, SlowDown, quota).
    Broken,
}

/// Something that should be known and could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// What it is about.
    pub subject: Subject,
    /// What kind of fact is missing.
    pub what: FactKind,
    /// Why.
    #[serde(flatten)]
    pub why: Denied,
    /// The other side's own error code, if it gave one: `InvalidAccessKeyId`, `RequestTimeTooSkewed`.
    pub code: Option<String>,
    /// What happened, with both sides of a mismatch.
    pub detail: String,
    /// What to run or change.
    pub hint: String,
}

/// A positive proof that an empty answer means empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// What it is about.
    pub subject: Subject,
    /// What was shown, for example "the listing of the bucket's root answered 3 prefixes".
    pub shown: String,
}

/// What a provider wants to find again at the next pass: last keys, ETags, counters. Opaque to everybody else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Memory(pub serde_json::Value);

/// Requests made of a store during one observation, by class, and the bytes that came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// LIST and PUT-like calls: what R2 bills as class A.
    pub class_a: u64,
    /// GET and HEAD: class B.
    pub class_b: u64,
    /// DELETE and abort: free on R2.
    pub free: u64,
    /// Bytes received in bodies.
    pub bytes_in: u64,
    /// Bytes sent in bodies.
    pub bytes_out: u64,
}

impl std::ops::AddAssign for Requests {
    fn add_assign(&mut self, other: Self) {
        self.class_a += other.class_a;
        self.class_b += other.class_b;
        self.free += other.free;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
    }
}

/// What was made since an earlier reading of the same meter; never below zero.
impl std::ops::Sub for Requests {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            class_a: self.class_a.saturating_sub(earlier.class_a),
            class_b: self.class_b.saturating_sub(earlier.class_b),
            free: self.free.saturating_sub(earlier.free),
            bytes_in: self.bytes_in.saturating_sub(earlier.bytes_in),
            bytes_out: self.bytes_out.saturating_sub(earlier.bytes_out),
        }
    }
}

/// What one provider saw in one pass. There is no `Result`: what failed is a gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// What was seen.
    pub facts: Vec<Fact>,
    /// What could not be looked at.
    pub gaps: Vec<Gap>,
    /// Positive proofs for empty answers.
    pub controls: Vec<Control>,
    /// To be handed back at the next pass. `None` keeps what was there.
    pub memory: Option<Memory>,
    /// Requests made.
    pub requests: Requests,
}

/// What is known before a provider looks: facts of the first wave, what is left of request budgets, and its own memory of the
/// last pass.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Facts of providers that ran before.
    pub facts: Vec<Fact>,
    /// What this provider left at its last pass.
    pub memory: Option<Memory>,
}

impl Known {
    /// Whether nothing is left of the day's requests of a store. A store without a budget always has some.
    pub fn budget_is_used(&self, store: &StoreId) -> bool {
        self.facts.iter().any(|fact| match fact {
            Fact::Sample(sample) => {
                sample.metric == REQUESTS_LEFT
                    && sample.subject.kind() == SubjectKind::Store
                    && sample.subject.name() == store.0
                    && sample.value <= 0.0
            }
            _ => false,
        })
    }
}
