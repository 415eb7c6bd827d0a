//! A configuration that fits a cluster: references to what its live objects say, never copies of secrets, which are not even read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::clusters::access;
use crate::domain::{
    ArchiveRef, CnpgFact, Cx, Exit, ExitCode, Explained, Fact, Known, KubeId, LiveLocation, Observation, Observe, normal_endpoint,
};
use crate::providers::cnpg::CnpgClusters;
use crate::providers::cnpg::config::CnpgSettings;
use crate::providers::cnpg::locate::Atlas;
use crate::providers::kubernetes::config::{KubernetesSettings, subject};
use crate::tap::KubeCalls;
use crate::tap::kube_live::{KubeLimits, LiveKube};

/// Variables that say which region requests are signed for.
const REGION: &[&str] = &["AWS_REGION", "AWS_DEFAULT_REGION"];
/// R2's hosts: <https://developers.cloudflare.com/r2/api/s3/api/>.
const R2_HOST: &str = ".r2.cloudflarestorage.com";

/// How a cluster is reached, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNamed {
    /// Its name in the configuration.
    pub name: String,
    /// A kubeconfig file; `None` = as kubectl would find one, or from inside.
    pub kubeconfig: Option<PathBuf>,
    /// A context of it.
    pub context: Option<String>,
}

/// Why no configuration was made.
#[derive(Debug, thiserror::Error)]
pub enum InitClusterError {
    /// The API server did not answer, or not that.
    #[error("{detail}")]
    NotSeen {
        /// What was asked and what came.
        detail: String,
        /// What to do.
        hint: String,
    },
    /// There is nothing to watch.
    #[error("the cluster serves no API of CloudNativePG: there is nothing to watch yet")]
    NotAdopted,
}

impl Explained for InitClusterError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotSeen { .. } => "cluster-not-seen",
            Self::NotAdopted => "cnpg-not-adopted",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotSeen { hint, .. } => hint.clone(),
            Self::NotAdopted => {
                "is it the right context?  kubectl config get-contexts; dalsegno init writes a configuration without a cluster"
                    .to_owned()
            }
        })
    }

    fn exit(&self) -> Exit {
        ExitCode::CouldNotLook
    }
}

/// Looks once and writes what would fit. Lists only; no Secret, log or metric is asked for.
pub async fn configuration_from_cluster(of: &ClusterNamed, cx: &Cx) -> Result<String, InitClusterError> {
    let settings = settings(of);
    let access = access(&settings.kubernetes);
    let found = ClusterNamed { kubeconfig: access.kubeconfig.clone(), ..of.clone() };
    configuration_of(Arc::new(LiveKube::new(access, KubeLimits::default())), &found, cx).await
}

/// The same over any form of the calls.
pub async fn configuration_of(kube: Arc<dyn KubeCalls>, of: &ClusterNamed, cx: &Cx) -> Result<String, InitClusterError> {
    let seen = CnpgClusters::new(settings(of), Atlas::default(), kube).observe(cx, &Known::default()).await;
    let site = seen.facts.iter().find_map(|fact| if let Fact::CnpgSite(site) = fact { Some(site) } else { None });
    match (site, seen.gaps.first()) {
        (Some(site), _) if site.adopted => Ok(written(of, &seen)),
        (_, Some(gap)) => Err(InitClusterError::NotSeen { detail: gap.detail.clone(), hint: gap.hint.clone() }),
        (_, None) => Err(InitClusterError::NotAdopted),
    }
}

fn settings(of: &ClusterNamed) -> CnpgSettings {
    let (site, environment) = ("home", "prod");
    let kubernetes = KubernetesSettings {
        id: KubeId(of.name.clone()),
        subject: subject(site, &of.name),
        site: site.to_owned(),
        environment: environment.to_owned(),
        kubeconfig: of.kubeconfig.clone(),
        context: of.context.clone(),
    };
    CnpgSettings::bare(kubernetes)
}

/// One endpoint and bucket, and who writes there.
#[derive(Default)]
struct Place<'a> {
    endpoint: Option<&'a str>,
    bucket: &'a str,
    region: Option<String>,
    /// `accessKeyId in Secret NAMESPACE/NAME[KEY]`.
    keys: BTreeSet<String>,
    clusters: BTreeSet<String>,
}

fn places<'a>(clusters: &[&'a CnpgFact]) -> Vec<Place<'a>> {
    let mut found: BTreeMap<(String, &str), Place<'a>> = BTreeMap::new();
    for cluster in clusters {
        let read = cluster.externals.iter().filter_map(|external| external.archive.as_ref());
        for archive in cluster.archivers.iter().chain(read) {
            let Some((location, bucket)) = archive.location().and_then(|at| Some((at, at.bucket.as_deref()?))) else { continue };
            let endpoint = location.endpoint.as_deref();
            let place = found.entry((endpoint.map(normal_endpoint).unwrap_or_default(), bucket)).or_default();
            (place.endpoint, place.bucket) = (endpoint, bucket);
            place.region = place.region.take().or_else(|| region(cluster, archive));
            place.keys.extend(keys(cluster, location));
            place.clusters.insert(cluster.cluster.to_string());
        }
    }
    found.into_values().collect()
}

fn keys(cluster: &CnpgFact, location: &LiveLocation) -> impl Iterator<Item = String> {
    location.credentials.iter().map(|(role, key)| format!("{role}: Secret {}/{key}", cluster.cluster.namespace))
}

/// As the sidecar is told; R2 knows one only.
fn region(cluster: &CnpgFact, archive: &ArchiveRef) -> Option<String> {
    let ArchiveRef::Plugin { object_store, location, .. } = archive else { return of_host(archive.location()) };
    let store = cluster.object_stores.iter().find(|store| store.name == *object_store);
    let told = store.and_then(|store| REGION.iter().find_map(|name| store.sidecar_env.get(*name)?.clone()));
    told.or_else(|| of_host(location.as_ref()))
}

fn of_host(location: Option<&LiveLocation>) -> Option<String> {
    let endpoint = location?.endpoint.as_deref()?;
    let rest = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    host.ends_with(R2_HOST).then(|| "auto".to_owned())
}

/// Lower-case letters, digits and single hyphens.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-').to_owned();
    if slug.is_empty() { "store".to_owned() } else { slug }
}

/// A text that stands in YAML for itself, whatever is in it.
fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// A name of a live object inside of a comment: on one line.
fn on_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn written(of: &ClusterNamed, seen: &Observation) -> String {
    let facts = seen.facts.iter();
    let clusters: Vec<&CnpgFact> =
        facts.filter_map(|fact| if let Fact::Cnpg(fact) = fact { Some(fact.as_ref()) } else { None }).collect();
    let name = quoted(&of.name);
    let mut text = format!(
        "# Made from what a cluster shows; check it with: dalsegno config check -c THIS-FILE\n\
         # No Secret was read. Keys are references: give dalsegno keys of its own that may list and get, nothing else.\n\n\
         site: home          # where this runs; part of every subject\n\
         environment: prod   # of what runs in this cluster\n\n\
         kubernetes:\n  {name}: {}\n\n\
         cnpg:\n  {name}:\n    policy: {{rpo: 15m, rto: 30m, base-backup-every: 26h, drill-every: 35d}}   # of every database below\n",
        reached(of)
    );
    for gap in &seen.gaps {
        let _ = writeln!(text, "# could not look: {}", on_one_line(&gap.detail));
    }
    text.push_str(&stores(&clusters));
    let _ = writeln!(text, "\n# Databases that were found; they need no entry of their own:");
    for cluster in &clusters {
        let to: Vec<&LiveLocation> = cluster.archivers.iter().filter_map(ArchiveRef::location).collect();
        let place = |at: &&LiveLocation| format!("{}, server {}", at.destination, at.server);
        let to = if to.is_empty() { "archives nowhere".to_owned() } else { to.iter().map(place).collect::<Vec<_>>().join("; ") };
        let _ = writeln!(text, "#   {}  ({}): {}", cluster.subject, cluster.cluster, on_one_line(&to));
    }
    if clusters.is_empty() {
        text.push_str("#   none yet\n");
    }
    text
}

fn reached(of: &ClusterNamed) -> String {
    let Some(kubeconfig) = &of.kubeconfig else { return "{}   # inside of it: the pod's own service account".to_owned() };
    let context = of.context.as_deref().map_or_else(String::new, |context| format!(", context: {}", quoted(context)));
    format!("{{kubeconfig: {}{context}}}   # {{}} inside of the cluster", quoted(&kubeconfig.display().to_string()))
}

fn stores(clusters: &[&CnpgFact]) -> String {
    let places = places(clusters);
    if places.is_empty() {
        return "\n# No Cluster archives to a bucket that is written out: add stores: when one does.\n".to_owned();
    }
    let mut text = "\nstores:\n".to_owned();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for place in places {
        let slug = slug(place.bucket);
        let numbered = (2..).map(|number| format!("{slug}-{number}"));
        let Some(name) = std::iter::once(slug.clone()).chain(numbered).find(|name| !names.contains(name)) else { continue };
        let env = name.to_ascii_uppercase().replace('-', "_");
        let endpoint = place.endpoint.unwrap_or("https://s3.TBD-REGION.amazonaws.com");
        let _ = writeln!(text, "  {}:", quoted(&name));
        let _ = writeln!(
            text,
            "    # written or read by {}",
            on_one_line(&place.clusters.into_iter().collect::<Vec<_>>().join(", "))
        );
        let _ = writeln!(text, "    endpoint: {}", quoted(endpoint));
        let _ = writeln!(text, "    bucket: {}", quoted(place.bucket));
        let _ = match &place.region {
            Some(region) => writeln!(text, "    region: {}", quoted(region)),
            None => writeln!(text, "    # region: us-east-1"),
        };
        for key in &place.keys {
            let _ = writeln!(text, "    # they use {}", on_one_line(key));
        }
        let _ = writeln!(
            text,
            "    read:\n      access-key-id: {{env: {env}_ACCESS_KEY_ID}}\n      secret-access-key: {{env: {env}_SECRET_ACCESS_KEY}}"
        );
        names.insert(name);
    }
    text
}
