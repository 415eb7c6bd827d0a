//! Calls of a drill to the API server: what may pass is asked again within a budget, and never counts as failed.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::restore::Trouble;
use crate::tap::{CallError, FailureKind, KubeActs, KubeAsk, KubeDelete, Resource, list_whole};

/// So long in a row an API server may give no usable answer.
pub(super) const PATIENCE: Duration = Duration::from_mins(3);
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// More objects than this under our label are not ours alone.
const MOST: usize = 10_000;
/// What a person does when the API is not there at all.
const WITHOUT: &str = "a drill in the cluster needs its API server; without it:  dalsegno drill pg-restore";

/// The calls, bounded.
pub(super) struct Api<'a> {
    pub(super) kube: &'a dyn KubeActs,
    pub(super) cancel: &'a CancellationToken,
    pub(super) until: Instant,
}

/// Whether it may pass by itself.
fn passes(error: &CallError) -> bool {
    use FailureKind as Kind;
    match error.status {
        Some(status) => matches!(status, 429 | 500..=599),
        None => matches!(error.kind, Kind::Dns | Kind::Refused | Kind::Reset | Kind::Timeout | Kind::Cut),
    }
}

impl Api<'_> {
    async fn asked<T, F>(&self, what: &str, call: impl Fn() -> F) -> Result<Result<T, CallError>, Trouble>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        let began = Instant::now();
        let mut wait = FIRST_WAIT;
        loop {
            let error = match call().await {
                Err(error) if passes(&error) => error,
                other => return Ok(other),
            };
            if began.elapsed() >= PATIENCE || Instant::now() >= self.until {
                return Err(Trouble::could_not(format!("{what}: the API server gave no usable answer: {error}"), WITHOUT));
            }
            tokio::select! {
                () = self.cancel.cancelled() => return Err(Trouble::Cancelled),
                () = tokio::time::sleep(wait) => {}
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// One object; `None` = it is not there.
    pub(super) async fn get(&self, of: &Resource, namespace: Option<&str>, name: &str) -> Result<Option<Value>, Trouble> {
        let what = format!("get {of} {name}");
        match self.asked(&what, || self.kube.get(of, namespace, name)).await? {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.status == Some(404) => Ok(None),
            Err(error) => Err(trouble(&what, &error)),
        }
    }

    /// Every object under a label.
    pub(super) async fn list(&self, of: &Resource, namespace: Option<&str>, labels: &str) -> Result<Vec<Value>, Trouble> {
        let what = format!("list {of}");
        let ask = KubeAsk { namespace: namespace.map(str::to_owned), labels: Some(labels.to_owned()), ..KubeAsk::default() };
        let listed = self.asked(&what, || list_whole(self.kube, of, &ask, MOST)).await?;
        listed.map_err(|error| trouble(&what, &error))
    }

    /// Groups that are served.
    pub(super) async fn serves(&self, group: &str) -> Result<bool, Trouble> {
        let about = self.asked("ask what is served", || self.kube.about()).await?;
        about.map(|about| about.groups.contains_key(group)).map_err(|error| trouble("ask what is served", &error))
    }

    /// Creates; `None` = the name is taken, by an earlier try of ours or by somebody else. With `dry` nothing is kept.
    pub(super) async fn create(
        &self,
        of: &Resource,
        namespace: Option<&str>,
        object: &Value,
        dry: bool,
    ) -> Result<Option<Value>, Trouble> {
        let what = format!("create {of}");
        match self.asked(&what, || self.kube.create(of, namespace, object, dry)).await? {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.status == Some(409) && error.has_code("AlreadyExists") => Ok(None),
            Err(error) => Err(trouble(&what, &error)),
        }
    }

    /// Deletes the object with this uid; another one of its name stays.
    pub(super) async fn delete(&self, of: &Resource, namespace: Option<&str>, name: &str, uid: &str) -> Result<(), Trouble> {
        let what = format!("delete {of} {name}");
        let how = KubeDelete { uid: uid.to_owned(), propagation: "Background" };
        match self.asked(&what, || self.kube.delete(of, namespace, name, &how)).await? {
            // Gone already, or another one by now: both are for the next look.
            Err(error) if !matches!(error.status, Some(404 | 409)) => Err(trouble(&what, &error)),
            _ => Ok(()),
        }
    }

    /// The end of a log; what cannot be read is no words.
    pub(super) async fn log(&self, namespace: &str, pod: &str, container: &str) -> String {
        self.kube.log(namespace, pod, container, 40).await.unwrap_or_default()
    }

    /// Waits a moment, unless cancelled.
    pub(super) async fn rest(&self, time: Duration) -> Result<(), Trouble> {
        tokio::select! {
            () = self.cancel.cancelled() => Err(Trouble::Cancelled),
            () = tokio::time::sleep(time) => Ok(()),
        }
    }
}

fn trouble(what: &str, error: &CallError) -> Trouble {
    let hint = match (error.kind, error.status) {
        (_, Some(401 | 403)) => {
            "give the rights of feature drill (docs/reference/rbac.md):  dalsegno config rbac --format yaml --features cnpg,drill"
        }
        (_, Some(400 | 422)) => "the server refuses the object as it would be made: compare versions of operator and CRDs",
        (FailureKind::Answered, _) => "see what the API server says, then drill again",
        _ => WITHOUT,
    };
    Trouble::could_not(format!("{what}: {error}"), hint)
}
