//! The configuration of a Kubernetes cluster: fragment (as written) → settings (checked). It holds no secrets of its own.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::{Complaint, KubeId, Subject, SubjectKind, Weight};

/// A Kubernetes cluster and how its API server is reached.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct KubernetesFragment {
    /// A kubeconfig file. Without it the service account of the pod that dalsegno runs in is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of that file. Default: its current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The environment of what runs there, as a part of every subject. Default: the one of this configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
}

/// A Kubernetes cluster, ready to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubernetesSettings {
    /// Its name in the configuration.
    pub id: KubeId,
    /// `cluster/<site>/<name>`.
    pub subject: Subject,
    /// The site.
    pub site: String,
    /// The environment of what runs there.
    pub environment: String,
    /// A kubeconfig file; `None` = from inside.
    pub kubeconfig: Option<PathBuf>,
    /// A context of it.
    pub context: Option<String>,
}

/// The subject of a Kubernetes cluster.
pub fn subject(site: &str, name: &str) -> Subject {
    Subject::new(SubjectKind::Cluster, &[site, name])
}

impl KubernetesFragment {
    /// Checks the values. Settings come back even when there are complaints.
    pub fn settings(self, site: &str, environment: &str, name: &str) -> (KubernetesSettings, Vec<Complaint>) {
        let mut complaints = Vec::new();
        if let (Some(context), None) = (&self.context, &self.kubeconfig) {
            let text = format!("the context \"{context}\" is of no file: kubeconfig is not written");
            let hint = "write kubeconfig: PATH, or leave context out to use the pod's own service account";
            complaints.push(Complaint::new(Weight::Refused, "context", "kubeconfig-missing", text, hint));
        }
        let fits = |text: &String| text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if let Some(written) = self.environment.as_ref().filter(|text| !fits(text)) {
            let text = format!("{written:?} is not a name");
            let hint = "letters, digits, hyphens, underscores and dots: it is a part of every subject";
            complaints.push(Complaint::new(Weight::Refused, "environment", "config-name-invalid", text, hint));
        }
        let settings = KubernetesSettings {
            id: KubeId(name.to_owned()),
            subject: subject(site, name),
            site: site.to_owned(),
            environment: self.environment.unwrap_or_else(|| environment.to_owned()),
            kubeconfig: self.kubeconfig,
            context: self.context,
        };
        (settings, complaints)
    }
}
