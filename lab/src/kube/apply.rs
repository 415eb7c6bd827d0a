//! Objects put in, looked at, waited for and taken out, whatever their kind.

use std::time::{Duration, Instant};

use kube::api::{Api, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, TypeMeta};
use kube::discovery::{Scope, pinned_kind};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::Cluster;
use crate::LabError;

/// Who applies, in `managedFields`.
const MANAGER: &str = "dalsegno-lab";
/// How long a fresh kind may take until it is served.
const SERVED: Duration = Duration::from_secs(20);

impl Cluster {
    /// Applies every document of a YAML text (server-side apply, forced), status too, and gives what the server made of them.
    /// An object without a namespace goes to `default`.
    pub async fn apply(&self, yaml: &str) -> Result<Vec<Value>, LabError> {
        let client = self.client().await?;
        let mut all = Vec::new();
        for object in documents(yaml)? {
            all.push(apply_value(&client, object).await?);
        }
        Ok(all)
    }

    /// The object; none when there is none.
    pub async fn get(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>, LabError> {
        let api = api(&self.client().await?, api_version, kind, namespace).await?;
        api.get_opt(name).await?.map(|object| value(&object)).transpose()
    }

    /// All objects of a kind in a namespace; an empty namespace is all of them.
    pub async fn list(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, LabError> {
        let api = api(&self.client().await?, api_version, kind, namespace).await?;
        api.list(&ListParams::default()).await?.items.iter().map(value).collect()
    }

    /// A JSON merge patch.
    pub async fn patch(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        patch: Value,
    ) -> Result<Value, LabError> {
        let api = api(&self.client().await?, api_version, kind, namespace).await?;
        value(&api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?)
    }

    /// A JSON merge patch of the status: `{"phase": …}`.
    pub async fn patch_status(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        status: Value,
    ) -> Result<Value, LabError> {
        let api = api(&self.client().await?, api_version, kind, namespace).await?;
        let patch = Patch::Merge(json!({ "status": status }));
        value(&api.patch_status(name, &PatchParams::default(), &patch).await?)
    }

    /// Deletes it; that it is gone already is fine.
    pub async fn delete(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<(), LabError> {
        delete(&self.client().await?, api_version, kind, namespace, name).await
    }

    /// Waits until the object is as wanted (`None` = it is not there) and gives it.
    pub async fn wait_for(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        limit: Duration,
        wanted: impl Fn(Option<&Value>) -> bool,
    ) -> Result<Option<Value>, LabError> {
        let api = api(&self.client().await?, api_version, kind, namespace).await?;
        let until = Instant::now() + limit;
        loop {
            let found = api.get_opt(name).await?.map(|object| value(&object)).transpose()?;
            if wanted(found.as_ref()) {
                return Ok(found);
            }
            if Instant::now() > until {
                let status = found.map(|f| f.get("status").cloned().unwrap_or_default());
                return Err(LabError::NotReady {
                    server: format!("{kind} {namespace}/{name}"),
                    seconds: limit.as_secs(),
                    log: format!("its status is {}", status.map_or_else(|| "absent".to_owned(), |s| s.to_string())),
                });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// The documents of a YAML text, empty ones left out.
pub(crate) fn documents(yaml: &str) -> Result<Vec<Value>, LabError> {
    let all: Vec<Value> = serde_saphyr::from_multiple(yaml).map_err(|e| LabError::Other(format!("YAML for the cluster: {e}")))?;
    Ok(all.into_iter().filter(|one| !one.is_null()).collect())
}

/// Applies one object, its status after it.
pub(crate) async fn apply_value(client: &Client, mut object: Value) -> Result<Value, LabError> {
    let status = object.as_object_mut().and_then(|map| map.remove("status"));
    let object: DynamicObject =
        serde_json::from_value(object).map_err(|e| LabError::Other(format!("an object for the cluster: {e}")))?;
    let types = object.types.clone().unwrap_or_default();
    let name = object.name_any();
    let api = api(client, &types.api_version, &types.kind, object.namespace().as_deref().unwrap_or("default")).await?;
    let mut made = api.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&object)).await?;
    if let Some(status) = status {
        let patch = Patch::Merge(json!({ "status": status }));
        made = match api.patch_status(&name, &PatchParams::default(), &patch).await {
            // A kind without the subresource has its status in the object.
            Err(kube::Error::Api(answer)) if answer.code == 404 => api.patch(&name, &PatchParams::default(), &patch).await?,
            other => other?,
        };
    }
    value(&made)
}

/// Deletes it; that it is gone already is fine.
pub(crate) async fn delete(client: &Client, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<(), LabError> {
    let api = api(client, api_version, kind, namespace).await?;
    match api.delete(name, &DeleteParams::background()).await {
        Err(kube::Error::Api(answer)) if answer.code == 404 => Ok(()),
        other => Ok(other.map(|_| ())?),
    }
}

/// The API of a kind, by what the server says of it; an empty namespace is all namespaces.
pub(crate) async fn api(client: &Client, api_version: &str, kind: &str, namespace: &str) -> Result<Api<DynamicObject>, LabError> {
    let (resource, scope) = resource(client, api_version, kind).await?;
    Ok(match scope {
        Scope::Namespaced if !namespace.is_empty() => Api::namespaced_with(client.clone(), namespace, &resource),
        _ => Api::all_with(client.clone(), &resource),
    })
}

async fn resource(client: &Client, api_version: &str, kind: &str) -> Result<(ApiResource, Scope), LabError> {
    let types = TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() };
    let gvk = GroupVersionKind::try_from(&types).map_err(|e| LabError::Other(format!("{api_version} {kind}: {e}")))?;
    let until = Instant::now() + SERVED;
    loop {
        match pinned_kind(client, &gvk).await {
            Ok((resource, capabilities)) => return Ok((resource, capabilities.scope)),
            Err(e) if Instant::now() > until => return Err(e.into()),
            Err(kube::Error::Discovery(_) | kube::Error::Api(_)) => tokio::time::sleep(Duration::from_millis(100)).await,
            Err(e) => return Err(e.into()),
        }
    }
}

fn value(object: &DynamicObject) -> Result<Value, LabError> {
    serde_json::to_value(object).map_err(|e| LabError::Other(format!("an object of the cluster: {e}")))
}
