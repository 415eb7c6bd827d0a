//! The status of a Cluster, as the operator and its instance manager write it.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::{Map, Value, json};

use super::CNPG;
use super::spec::Spec;
use crate::LabError;
use crate::kube::apply::api;

/// The phase of a Cluster that is well.
pub(super) const HEALTHY: &str = "Cluster in healthy state";
/// While the first instance is made.
pub(super) const SETTING_UP: &str = "Setting up primary";
/// While its server starts.
pub(super) const WAITING: &str = "Waiting for the instances to become active";

/// What is written, and what was.
#[derive(Debug, Default)]
pub(super) struct Status {
    now: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    fields: Map<String, Value>,
    conditions: Vec<Value>,
    /// What the API server has.
    sent: Value,
}

impl Status {
    /// Sets a field.
    pub(super) fn set(&self, field: &str, value: impl Into<Value>) {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).fields.insert(field.to_owned(), value.into());
    }

    /// Sets a field unless it has a value.
    pub(super) fn set_once(&self, field: &str, value: impl Into<Value>) {
        let mut written = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        written.fields.entry(field.to_owned()).or_insert_with(|| value.into());
    }

    /// Sets a condition; its time is that of the last change of its status.
    pub(super) fn condition(&self, kind: &str, status: bool, reason: &str, message: &str) {
        let status = if status { "True" } else { "False" };
        let mut written = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let old = written.conditions.iter().position(|c| c.get("type") == Some(&kind.into()));
        let same = old.and_then(|at| written.conditions.get(at)).filter(|c| c.get("status") == Some(&status.into()));
        let since = same.and_then(|c| c.get("lastTransitionTime").cloned()).unwrap_or_else(|| whole_seconds().into());
        let condition =
            json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since});
        match old {
            Some(at) => {
                if let Some(place) = written.conditions.get_mut(at) {
                    *place = condition;
                }
            }
            None => written.conditions.push(condition),
        }
    }

    /// Writes what has changed.
    pub(super) async fn write(&self, client: &Client, spec: &Spec) -> Result<(), LabError> {
        let status = {
            let written = self.now.lock().unwrap_or_else(PoisonError::into_inner);
            let mut all = written.fields.clone();
            all.insert("conditions".to_owned(), Value::Array(written.conditions.clone()));
            let all = Value::Object(all);
            if all == written.sent {
                return Ok(());
            }
            all
        };
        let api = api(client, CNPG, "Cluster", &spec.namespace).await?;
        api.patch_status(&spec.name, &PatchParams::default(), &Patch::Merge(json!({ "status": status }))).await?;
        self.now.lock().unwrap_or_else(PoisonError::into_inner).sent = status;
        Ok(())
    }
}

/// Now, as the API server writes times.
pub(super) fn whole_seconds() -> String {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}
