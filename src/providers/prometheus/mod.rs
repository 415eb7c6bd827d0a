//! Prometheus and everything that speaks its query API: numbers of databases now, and over time at the first look.
//!
//! One instant question tells the newest numbers of all databases. History is asked per database, and only where it is needed: for all
//! of them while they are few, else for those of which something waits now or did of late. A database without series is a gap; a server
//! that does not answer is one gap of its own, whatever rests on it.

mod client;
pub mod config;
mod facts;
mod table;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use client::{Came, Client, NoAnswer};
pub use client::{MOST_POINTS, step};
use config::PrometheusSettings;
use facts::Database;

use crate::domain::metric::{self, SERIES_SEEN};
use crate::domain::{
    Cx, Denied, Fact, FactKind, Gap, Known, Memory, Observation, Observe, ProviderId, SERIES_ABSENT, Sample, Subject,
};
use crate::tap::HttpCalls;

/// Up to this many databases the history of each is asked at every look.
const ASK_ALL: usize = 20;
/// Segments that may wait without anybody asking for the past.
const WAIT_FREELY: f64 = 0.0;
/// WAL that a slot may hold without anybody asking for the past.
const HELD_FREELY: f64 = 256.0 * 1_048_576.0;
/// After something waited, the history is asked for so many seconds more: an outage is over when a base backup followed it.
const ASK_AFTER: f64 = 3.0 * 86_400.0;

/// One server.
pub struct Prometheus {
    settings: PrometheusSettings,
    http: Arc<dyn HttpCalls>,
}

/// What is kept between looks: when something last waited, in Unix seconds.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    waited: BTreeMap<Subject, f64>,
}

impl Prometheus {
    /// Over a seam.
    pub fn new(settings: PrometheusSettings, http: Arc<dyn HttpCalls>) -> Self {
        Self { settings, http }
    }

    fn gap(&self, none: NoAnswer) -> Gap {
        let NoAnswer { why, code, detail, hint } = none;
        Gap { subject: self.settings.subject.clone(), what: FactKind::Sample, why, code, detail, hint }
    }

    fn absent(&self, database: &Database, what: &str) -> Gap {
        let Database { namespace, cluster, .. } = database;
        let pod = &self.settings.labels.pod;
        let name = &self.settings.labels.namespace;
        Gap {
            subject: database.subject.clone(),
            what: FactKind::Series,
            why: Denied::NotAsked,
            code: Some(SERIES_ABSENT.to_owned()),
            detail: format!("{} answers, and has {what}", self.settings.url),
            hint: format!(
                "is a PodMonitor there (kubectl -n {namespace} get podmonitor), and are the labels right?  \
                 curl -G '{}/api/v1/query' --data-urlencode 'query=cnpg_collector_up{{{name}=\"{namespace}\",{pod}=~\"{cluster}-.*\"}}'",
                self.settings.url
            ),
        }
    }

    /// `{__name__=~"a|b",namespace="n"}` with what every series must have.
    fn selector(&self, names: &[&str], more: &[(&str, &str, String)]) -> String {
        let only = self.settings.only.iter().map(|(label, value)| format!("{label}=\"{}\"", quoted(value)));
        let more = more.iter().map(|(label, sign, value)| format!("{label}{sign}\"{}\"", quoted(value)));
        let parts: Vec<String> = std::iter::once(format!("__name__=~\"{}\"", names.join("|"))).chain(only).chain(more).collect();
        format!("{{{}}}", parts.join(","))
    }

    async fn look(&self, cx: &Cx, known: &Known) -> Result<Observation, NoAnswer> {
        let databases = Database::all(&self.settings.databases, &known.facts);
        let client = Client { settings: &self.settings, http: self.http.as_ref() };
        let mut seen = Observation::default();
        let names: Vec<&str> =
            table::exporter_names().into_iter().chain([table::CLAIM_AVAILABLE, table::CLAIM_CAPACITY]).collect();
        let namespaces: BTreeSet<&str> = databases.iter().map(|database| database.namespace.as_str()).collect();
        let anywhere = namespaces.iter().map(|name| escaped(name)).collect::<Vec<_>>().join("|");
        let came = if databases.is_empty() {
            // Nobody is to be asked for; that the server answers at all is still worth knowing.
            client.now("vector(1)", cx.now).await?
        } else {
            client.now(&self.selector(&names, &[(&self.settings.labels.namespace, "=~", anywhere)]), cx.now).await?
        };
        seen.requests.class_b += 1;
        self.take_partial(&came, &mut seen);
        let mut kept: Kept = known.memory.as_ref().and_then(|memory| Kept::deserialize(&memory.0).ok()).unwrap_or_default();
        let mut ask = Vec::new();
        for database in &databases {
            let own = database.own(&came.found, &self.settings.labels);
            if own.is_empty() {
                seen.gaps.push(self.absent(database, "no series of this database"));
                continue;
            }
            let primary = own.primary(database);
            let metrics = own.metrics(primary.as_deref());
            let value = |name: &str| metrics.get(name).and_then(|pairs| pairs.last()).map_or(0.0, |(_, value)| *value);
            let unix = cx.now.as_second() as f64;
            if value(metric::WAL_READY) > WAIT_FREELY || value(metric::WAL_SLOT_RETAINED) > HELD_FREELY {
                kept.waited.insert(database.subject.clone(), unix);
            }
            let of_late = kept.waited.get(&database.subject).is_some_and(|at| unix - at <= ASK_AFTER);
            seen.facts.extend(facts::samples(&database.subject, &metrics, cx.now));
            if databases.len() <= ASK_ALL || of_late {
                ask.push((database, primary));
            }
        }
        for (database, primary) in ask {
            self.history(&client, cx, database, primary.as_deref(), &mut seen).await;
        }
        kept.waited.retain(|subject, _| databases.iter().any(|database| &database.subject == subject));
        seen.memory = serde_json::to_value(&kept).ok().map(Memory);
        seen.facts.push(Fact::Sample(Sample {
            subject: self.settings.subject.clone(),
            metric: SERIES_SEEN.to_owned(),
            value: came.found.len() as f64,
            at: cx.now,
        }));
        Ok(seen)
    }

    /// The past of one database. That it cannot be had costs the past only.
    async fn history(&self, client: &Client<'_>, cx: &Cx, database: &Database, primary: Option<&str>, seen: &mut Observation) {
        let labels = &self.settings.labels;
        let namespace = (labels.namespace.as_str(), "=", database.namespace.clone());
        let pods = format!("{}-[0-9]+", escaped(&database.cluster));
        let claims = format!("{pods}(-wal)?");
        let questions = [
            self.selector(&table::exporter_names(), &[namespace.clone(), (&labels.pod, "=~", pods)]),
            self.selector(&[table::CLAIM_AVAILABLE, table::CLAIM_CAPACITY], &[namespace, (&labels.claim, "=~", claims)]),
        ];
        let mut found = Vec::new();
        for question in questions {
            seen.requests.class_b += 1;
            match client.range(&question, cx.now).await {
                Ok(came) => {
                    self.take_partial(&came, seen);
                    found.extend(came.found);
                }
                Err(none) => {
                    seen.gaps.push(self.gap(none));
                    return;
                }
            }
        }
        let metrics = database.own(&found, labels).metrics(primary);
        if metrics.is_empty() {
            seen.gaps.push(self.absent(database, "no history of this database"));
        }
        seen.facts.extend(facts::series(&database.subject, metrics));
    }

    /// Part of an answer is a gap, and what came is used.
    fn take_partial(&self, came: &Came, seen: &mut Observation) {
        let Some(words) = &came.partial else { return };
        let gap = self.gap(NoAnswer {
            why: Denied::Truncated,
            code: Some("PartialAnswer".to_owned()),
            detail: format!("{}: the answer is not whole: {words}", self.settings.url),
            hint: "see which of its stores do not answer".to_owned(),
        });
        if !seen.gaps.contains(&gap) {
            seen.gaps.push(gap);
        }
    }
}

/// Inside quotes of a selector.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// A name as a regular expression that matches nothing else: names of Kubernetes hold dots and dashes only.
fn escaped(name: &str) -> String {
    name.replace('.', "\\.")
}

#[async_trait]
impl Observe for Prometheus {
    fn name(&self) -> ProviderId {
        ProviderId(format!("prometheus/{}", self.settings.name))
    }

    fn covers(&self, _known: &Known) -> Vec<(Subject, FactKind)> {
        vec![(self.settings.subject.clone(), FactKind::Sample)]
    }

    fn reads(&self) -> &[FactKind] {
        &[FactKind::Cnpg]
    }

    fn discovers(&self) -> bool {
        // Whatever database is asked for, its numbers are here.
        true
    }

    async fn observe(&self, cx: &Cx, known: &Known) -> Observation {
        match self.look(cx, known).await {
            Ok(seen) => seen,
            Err(none) => Observation { gaps: vec![self.gap(none)], ..Observation::default() },
        }
    }
}
