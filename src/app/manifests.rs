//! Rendered manifests as something to look at: each environment is a cluster that was never asked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use crate::conductor::Look;
use crate::domain::KubeId;
use crate::providers::cnpg::CnpgClusters;
use crate::providers::cnpg::config::CnpgSettings;
use crate::providers::kubernetes::config::{KubernetesSettings, subject};
use crate::tap::kube_files::{KubeFiles, ManifestsError};

/// The site of manifests whose name says none.
pub const MANIFESTS_SITE: &str = "manifests";

/// Manifests of one environment: `DIR`, `ENVIRONMENT=DIR` or `SITE/ENVIRONMENT=DIR`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifests {
    /// The site.
    pub site: String,
    /// The environment.
    pub environment: String,
    /// A file or a folder.
    pub path: PathBuf,
}

impl FromStr for Manifests {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = match text.split_once('=') {
            Some((name, path)) => (name.to_owned(), path),
            None => (named_after(text), text),
        };
        let (site, environment) = name.split_once('/').unwrap_or((MANIFESTS_SITE, &name));
        let fits =
            |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if !fits(site) || !fits(environment) {
            return Err(format!("{name:?} is no name of an environment; write ENVIRONMENT=DIR, as in prod={path}"));
        }
        Ok(Self { site: site.to_owned(), environment: environment.to_owned(), path: PathBuf::from(path) })
    }
}

/// The folder's own name, or the file's without its end.
fn named_after(path: &str) -> String {
    let stem = PathBuf::from(path.trim_end_matches('/')).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| stem.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))
        .unwrap_or_else(|| "rendered".to_owned())
}

/// One look for each environment. Several paths of one name are one environment. Needs no configuration.
pub fn look_at_manifests(given: &[Manifests]) -> Result<Vec<Look>, ManifestsError> {
    let mut by_name: BTreeMap<(&str, &str), Vec<PathBuf>> = BTreeMap::new();
    for one in given {
        by_name.entry((&one.site, &one.environment)).or_default().push(one.path.clone());
    }
    let (mut looks, mut mistakes) = (Vec::new(), Vec::new());
    for ((site, environment), paths) in by_name {
        match KubeFiles::open(&paths) {
            Ok(files) => {
                let observer = Arc::new(CnpgClusters::of_text(settings(site, environment), Arc::new(files)));
                looks.push(Look { observer, store: None });
            }
            Err(error) => mistakes.extend(error.0),
        }
    }
    if mistakes.is_empty() { Ok(looks) } else { Err(ManifestsError(mistakes)) }
}

fn settings(site: &str, environment: &str) -> CnpgSettings {
    let kubernetes = KubernetesSettings {
        id: KubeId(if site == MANIFESTS_SITE { environment.to_owned() } else { format!("{site}/{environment}") }),
        subject: subject(site, environment),
        site: site.to_owned(),
        environment: environment.to_owned(),
        kubeconfig: None,
        context: None,
    };
    CnpgSettings::bare(kubernetes)
}
