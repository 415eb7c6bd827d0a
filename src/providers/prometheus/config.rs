//! The configuration of a Prometheus: fragment (as written) → settings (checked).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::{Complaint, Secret, SecretRef, Span, Subject, SubjectKind, Weight};

/// How far back the clock looks when nothing is written: two of every day of the week.
const RANGE: Duration = Duration::from_hours(14 * 24);
/// Below this there is nothing that could be called a history.
const LEAST_RANGE: Duration = Duration::from_mins(1);

/// A server that answers Prometheus' query API: Prometheus, VictoriaMetrics, Thanos, Mimir.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PrometheusFragment {
    /// Scheme, host, port and what stands before `/api/v1`: `http://prometheus.monitoring:9090`.
    pub url: String,
    /// Where a bearer token is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token: Option<SecretRef>,
    /// A file with CA certificates (PEM) that vouch for it, beside those of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// How labels are called there.
    #[serde(default)]
    pub labels: LabelsFragment,
    /// Labels and values that every series must have: `{kube_cluster: home}` where one server holds several clusters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub only: BTreeMap<String, String>,
    /// How far back is asked. Default: 14d.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Span>,
    /// Databases that no Kubernetes API shows us: the name of a `postgres:` entry → where its pods are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub databases: BTreeMap<String, WhereFragment>,
}

/// How labels are called.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LabelsFragment {
    /// The namespace. Default: namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The pod. Default: pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// The volume claim in the kubelet's series. Default: persistentvolumeclaim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
}

/// Where the pods of a database are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WhereFragment {
    /// The namespace.
    pub namespace: String,
    /// The CNPG Cluster: its pods are called `NAME-1`, `NAME-2`, …
    pub cluster: String,
}

/// How labels are called, ready to be asked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The volume claim.
    pub claim: String,
}

/// A database, and where its pods are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// `pg/<site>/<environment>/<name>`.
    pub subject: Subject,
    /// The namespace.
    pub namespace: String,
    /// The Cluster.
    pub cluster: String,
}

/// A server, ready to be asked.
#[derive(Clone, Debug)]
pub struct PrometheusSettings {
    /// Its name in the configuration.
    pub name: String,
    /// `dalsegno/prometheus/<name>`: what is said of the server itself.
    pub subject: Subject,
    /// Without `/api/v1`.
    pub url: String,
    /// The bearer token.
    pub token: Option<Secret>,
    /// The CA file.
    pub ca_file: Option<PathBuf>,
    /// How labels are called.
    pub labels: Labels,
    /// Labels and values that every series must have.
    pub only: BTreeMap<String, String>,
    /// How far back is asked.
    pub range: Duration,
    /// Databases by configuration.
    pub databases: Vec<Whereabouts>,
}

/// The subject of a server.
pub fn subject(name: &str) -> Subject {
    Subject::new(SubjectKind::Dalsegno, &["prometheus", name])
}

impl PrometheusFragment {
    /// Checks the values. `postgres` gives the subject of a configured database. Settings come back even when there are complaints.
    pub fn settings(
        self,
        name: &str,
        token: Option<Secret>,
        postgres: &dyn Fn(&str) -> Option<Subject>,
    ) -> (PrometheusSettings, Vec<Complaint>) {
        let mut complaints = Vec::new();
        let mut refuse = |key: &str, code: &str, text: String, hint: &str| {
            complaints.push(Complaint::new(Weight::Refused, key, code, text, hint));
        };
        let url = self.url.trim_end_matches('/').to_owned();
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
            refuse("url", "url-invalid", format!("{url:?} is no http:// or https:// URL"), "http://prometheus.monitoring:9090");
        }
        if url.contains("/api/v1") {
            refuse("url", "url-invalid", format!("{url:?} ends in /api/v1"), "leave /api/v1 out");
        }
        if url.contains('@') || url.contains('?') {
            let hint = "put a token into bearer-token; what every series must have belongs into only";
            refuse("url", "url-invalid", "holds a password or a query".to_owned(), hint);
        }
        let label = |given: Option<String>, usual: &str| given.unwrap_or_else(|| usual.to_owned());
        let labels = Labels {
            namespace: label(self.labels.namespace, "namespace"),
            pod: label(self.labels.pod, "pod"),
            claim: label(self.labels.claim, "persistentvolumeclaim"),
        };
        let named = [&labels.namespace, &labels.pod, &labels.claim].into_iter().chain(self.only.keys());
        for label in named.filter(|label| !is_label(label)) {
            refuse("labels", "label-invalid", format!("{label:?} is no label"), "letters, digits and underscores");
        }
        let range = self.range.map_or(RANGE, |span| span.0);
        if range < LEAST_RANGE {
            refuse("range", "range-invalid", format!("{} is below one minute", Span(range)), "14d is the default");
        }
        let mut databases = Vec::new();
        for (database, place) in self.databases {
            match postgres(&database) {
                Some(subject) => {
                    databases.push(Whereabouts { subject, namespace: place.namespace, cluster: place.cluster });
                }
                None => refuse(
                    &format!("databases.{database}"),
                    "database-unknown",
                    format!("there is no database \"{database}\" below postgres:"),
                    "name an entry of postgres:",
                ),
            }
        }
        let settings = PrometheusSettings {
            name: name.to_owned(),
            subject: subject(name),
            url,
            token,
            ca_file: self.ca,
            labels,
            only: self.only,
            range,
            databases,
        };
        (settings, complaints)
    }
}

/// <https://prometheus.io/docs/concepts/data_model/#metric-names-and-labels>
fn is_label(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
