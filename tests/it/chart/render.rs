//! helm, and what it makes of the chart.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

pub(super) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(super) fn chart() -> PathBuf {
    root().join("deploy/helm/dalsegno")
}

/// helm, or nothing and a visible line when it is absent.
pub(super) fn helm() -> Option<PathBuf> {
    lab::need("chart", lab::Tool::Helm)
}

/// A release `own` in namespace `backup` with these values: the documents, or what helm says.
pub(super) fn rendered(helm: &Path, values: &str) -> Result<Vec<Value>, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.yaml");
    std::fs::write(&file, values).unwrap();
    let mut command = Command::new(helm);
    command.args(["template", "own", "--kube-version", "1.30.0", "--namespace", "backup", "--values"]).arg(&file).arg(chart());
    // Nothing of the machine's own helm is read.
    let output = command.env("HELM_CONFIG_HOME", folder.path()).env("HELM_DATA_HOME", folder.path()).output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(documents(&String::from_utf8(output.stdout).unwrap()))
}

/// The documents of a YAML stream.
pub(super) fn documents(text: &str) -> Vec<Value> {
    let parts = text.split("\n---");
    let parsed = parts.map(|part| {
        serde_saphyr::from_str::<Value>(part.trim_start_matches("---")).unwrap_or_else(|error| panic!("{error}:\n{part}"))
    });
    parsed.filter(|value| value.as_object().is_some_and(|map| !map.is_empty())).collect()
}

/// The one document of a kind.
pub(super) fn one<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    let found: Vec<&Value> = documents.iter().filter(|document| document["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{kind}: {documents:#?}");
    found[0]
}

pub(super) fn kinds(documents: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = documents.iter().map(|document| document["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    kinds
}

/// A configuration, and whatever else.
pub(super) fn with_configuration(more: &str) -> String {
    format!(
        "configuration:\n  dalsegno.yaml: |\n    site: home\n    stores:\n      r2: {{endpoint: 'https://acc.r2.cloudflarestorage.com', bucket: b}}\n      \
         minio: {{endpoint: 'http://minio.minio.svc:9000/', bucket: c}}\n{more}"
    )
}
