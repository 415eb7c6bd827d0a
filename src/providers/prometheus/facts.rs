//! Their series into our numbers: pods to databases, several series to one.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::config::{Labels, Whereabouts};
use super::table::{CLAIM_AVAILABLE, CLAIM_CAPACITY, IN_RECOVERY, Join, ROWS};
use super::wire::Found;
use crate::domain::{CnpgFact, Fact, Sample, Series, Subject, metric};

/// How a number's source is called; policy prefers it.
const SOURCE: &str = "prometheus";

/// Points of one series: Unix seconds and values.
type Pairs = Vec<(f64, f64)>;

/// A database that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Database {
    pub(super) subject: Subject,
    pub(super) namespace: String,
    pub(super) cluster: String,
    /// The primary's pod, as the API server says.
    pub(super) primary: Option<String>,
}

impl Database {
    /// Those of the configuration, and those that a Kubernetes API shows: the latter know their primary. Who sleeps is not asked.
    pub(super) fn all(configured: &[Whereabouts], facts: &[Fact]) -> Vec<Self> {
        let mut all: BTreeMap<Subject, Self> = configured
            .iter()
            .map(|of| {
                let database = Self {
                    subject: of.subject.clone(),
                    namespace: of.namespace.clone(),
                    cluster: of.cluster.clone(),
                    primary: None,
                };
                (of.subject.clone(), database)
            })
            .collect();
        let live: fn(&Fact) -> Option<&CnpgFact> = |fact| if let Fact::Cnpg(cluster) = fact { Some(cluster) } else { None };
        for cluster in facts.iter().filter_map(live) {
            if cluster.hibernated {
                all.remove(&cluster.subject);
                continue;
            }
            let database = Self {
                subject: cluster.subject.clone(),
                namespace: cluster.cluster.namespace.clone(),
                cluster: cluster.cluster.name.clone(),
                primary: cluster.current_primary.clone(),
            };
            all.insert(cluster.subject.clone(), database);
        }
        all.into_values().collect()
    }

    /// What belongs to it, of a whole answer.
    pub(super) fn own<'a>(&self, found: &'a [Found], labels: &Labels) -> Own<'a> {
        let mut own = Own { pods: Vec::new(), claims: Vec::new() };
        for series in found.iter().filter(|series| series.label(&labels.namespace) == self.namespace) {
            let claim = series.label(&labels.claim);
            let of_kubelet = [CLAIM_AVAILABLE, CLAIM_CAPACITY].contains(&series.label("__name__"));
            if of_kubelet {
                let (pod, wal) = claim.strip_suffix("-wal").map_or((claim, false), |pod| (pod, true));
                if self.is_pod(pod) {
                    own.claims.push((pod, wal, series));
                }
            } else if self.is_pod(series.label(&labels.pod)) {
                own.pods.push((series.label(&labels.pod), series));
            }
        }
        own
    }

    /// CNPG calls the pods of a Cluster by its name and a number.
    fn is_pod(&self, pod: &str) -> bool {
        let number = pod.strip_prefix(&self.cluster).and_then(|rest| rest.strip_prefix('-'));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

/// The series of one database.
pub(super) struct Own<'a> {
    pods: Vec<(&'a str, &'a Found)>,
    /// Pod, whether it is a claim for WAL, series.
    claims: Vec<(&'a str, bool, &'a Found)>,
}

impl<'a> Own<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// Who is the primary: by the API server, else by who is not in recovery, else the only pod there is.
    pub(super) fn primary(&self, database: &Database) -> Option<String> {
        if database.primary.is_some() {
            return database.primary.clone();
        }
        let newest = |series: &Found| series.pairs().last().copied();
        let leads = self.pods.iter().filter(|(_, series)| series.label("__name__") == IN_RECOVERY).filter_map(|(pod, series)| {
            let (at, recovery) = newest(series)?;
            (recovery < 0.5).then_some((at, *pod))
        });
        let by_role = leads.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, pod)| pod.to_owned());
        by_role.or_else(|| {
            let mut names: Vec<&str> = self.pods.iter().map(|(pod, _)| *pod).collect();
            names.sort_unstable();
            names.dedup();
            if let [only] = names.as_slice() { Some((*only).to_owned()) } else { None }
        })
    }

    /// Every metric of ours with its points, oldest first.
    pub(super) fn metrics(&self, primary: Option<&str>) -> BTreeMap<&'static str, Pairs> {
        let mut metrics: BTreeMap<&'static str, Pairs> = BTreeMap::new();
        for row in ROWS {
            let fits = |series: &Found| {
                series.label("__name__") == row.series && row.with.is_none_or(|(label, value)| series.label(label) == value)
            };
            let all: Vec<(&str, Pairs)> =
                self.pods.iter().filter(|(_, series)| fits(series)).map(|(pod, series)| (*pod, series.pairs())).collect();
            let of_primary = || all.iter().filter(|(pod, _)| primary == Some(*pod)).map(|(_, pairs)| pairs);
            let pairs = match row.join {
                Join::Primary => largest(of_primary()),
                Join::Largest => largest(all.iter().map(|(_, pairs)| pairs)),
                Join::Counted => counted(all.iter().map(|(_, pairs)| pairs), largest(of_primary()).last().map(|last| last.1)),
            };
            if !pairs.is_empty() {
                metrics.insert(row.metric, pairs);
            }
        }
        // Without a claim of its own WAL lies on the data volume.
        let own = self.claims.iter().any(|(pod, wal, _)| *wal && Some(*pod) == primary);
        for (name, wal, metric) in [
            (CLAIM_AVAILABLE, own, metric::WAL_VOLUME_AVAILABLE),
            (CLAIM_CAPACITY, own, metric::WAL_VOLUME_CAPACITY),
            (CLAIM_AVAILABLE, false, metric::DATA_VOLUME_AVAILABLE),
            (CLAIM_CAPACITY, false, metric::DATA_VOLUME_CAPACITY),
        ] {
            let of_claim = self
                .claims
                .iter()
                .filter(|(pod, of_wal, series)| Some(*pod) == primary && *of_wal == wal && series.label("__name__") == name);
            let pairs: Vec<Pairs> = of_claim.map(|(_, _, series)| series.pairs()).collect();
            let pairs = largest(pairs.iter());
            // The kubelet measures the file system; the exporter's own word for its size stands only where the kubelet is silent.
            if !pairs.is_empty() {
                metrics.insert(metric, pairs);
            }
        }
        metrics
    }
}

/// Of several series the largest value at each moment.
fn largest<'a>(all: impl Iterator<Item = &'a Pairs>) -> Pairs {
    let mut by_moment: BTreeMap<i64, f64> = BTreeMap::new();
    for (at, value) in all.flatten() {
        by_moment.entry(millis(*at)).and_modify(|known| *known = known.max(*value)).or_insert(*value);
    }
    by_moment.into_iter().map(|(at, value)| (at as f64 / 1_000.0, value)).collect()
}

/// What all of them counted: a counter that is reset, and one that goes on in another pod, both go on here. It ends at the primary's own
/// count where that is possible.
fn counted<'a>(all: impl Iterator<Item = &'a Pairs>, ends_at: Option<f64>) -> Pairs {
    let mut growth: BTreeMap<i64, f64> = BTreeMap::new();
    for pairs in all {
        for (index, (at, value)) in pairs.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|index| pairs.get(index)).map(|(_, value)| *value);
            let more = before.map_or(0.0, |before| (value - before).max(0.0));
            *growth.entry(millis(*at)).or_default() += more;
        }
    }
    let whole: f64 = growth.values().sum();
    let mut sum = ends_at.map_or(0.0, |end| (end - whole).max(0.0));
    growth
        .into_iter()
        .map(|(at, more)| {
            sum += more;
            (at as f64 / 1_000.0, sum)
        })
        .collect()
}

#[expect(clippy::cast_possible_truncation, reason = "Unix milliseconds; saturates")]
fn millis(at: f64) -> i64 {
    (at * 1_000.0).round() as i64
}

/// The newest values as samples of this pass.
pub(super) fn samples(subject: &Subject, metrics: &BTreeMap<&'static str, Pairs>, now: Timestamp) -> Vec<Fact> {
    let sample = |(metric, pairs): (&&'static str, &Pairs)| {
        let (_, value) = pairs.last()?;
        Some(Fact::Sample(Sample { subject: subject.clone(), metric: (*metric).to_owned(), value: *value, at: now }))
    };
    metrics.iter().filter_map(sample).collect()
}

/// The metrics of the clock over time.
pub(super) fn series(subject: &Subject, metrics: BTreeMap<&'static str, Pairs>) -> Vec<Fact> {
    metrics
        .into_iter()
        .filter(|(metric, _)| metric::OF_THE_CLOCK.contains(metric))
        .map(|(metric, pairs)| {
            let points = pairs
                .into_iter()
                .filter_map(|(at, value)| Some((Timestamp::from_millisecond(millis(at)).ok()?, value)))
                .collect();
            Fact::Series(Series { subject: subject.clone(), metric: metric.to_owned(), source: SOURCE.to_owned(), points })
        })
        .collect()
}
