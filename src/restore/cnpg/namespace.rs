//! `kube.namespace`: a namespace of ours, made, found again by its label, and taken away.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::api::Api;
use super::objects::{self, is_of, namespaces, policies, text};
use crate::domain::{KubeId, Phase, Receipt, RunId, State, Undone};
use crate::restore::Trouble;
use crate::restore::held::seconds;
use crate::tap::Resource;

/// A drill may take a day; an hour later nobody needs its namespace.
const LONGEST_DRILL: SignedDuration = SignedDuration::from_hours(25);
const LOOK_AGAIN: Duration = Duration::from_millis(300);
/// Kept of an undo's time to say how it went.
const KEPT_BACK: Duration = Duration::from_secs(5);

/// Makes it. A namespace of that name which is not of this step is left as it is.
pub(super) async fn make(
    api: &Api<'_>,
    kube: &KubeId,
    (run, step): (RunId, &str),
    store_port: u16,
    now: Timestamp,
) -> Result<Receipt, Trouble> {
    let began = Instant::now();
    let name = objects::namespace_name(run, step);
    let until = now.checked_add(LONGEST_DRILL).unwrap_or(now);
    let found = match api.get(&namespaces(), None, &name).await? {
        Some(found) => found,
        None => match api.create(&namespaces(), None, &objects::namespace(&name, run, step, until), false).await? {
            Some(made) => made,
            None => api.get(&namespaces(), None, &name).await?.unwrap_or_default(),
        },
    };
    if !is_of(&found, run, step) {
        let hint = format!("see whose it is:  kubectl get namespace {name} --show-labels");
        return Err(Trouble::could_not(format!("refused: namespace {name} is there and is not of this drill"), hint));
    }
    if text(&found, "/metadata/deletionTimestamp").is_some() {
        return Err(Trouble::could_not(format!("namespace {name} is being deleted"), "drill again"));
    }
    let policy = objects::policy(&name, run, step, store_port);
    api.create(&policies(), Some(&name), &policy, false).await?;
    let mut outputs = Map::new();
    outputs.insert("namespace".to_owned(), Value::from(name));
    outputs.insert("uid".to_owned(), json!(text(&found, "/metadata/uid")));
    outputs.insert("kubernetes".to_owned(), json!(kube));
    let phases = vec![Phase { name: "namespace".to_owned(), seconds: seconds(began), bytes: None }];
    Ok(Receipt { outputs, assertions: Vec::new(), phases, notes: Vec::new() })
}

/// What is there of a step, for a process that knows nothing else of it.
pub(super) async fn found(
    api: &Api<'_>,
    of: &Resource,
    at: Option<&str>,
    name: &str,
    run: RunId,
    step: &str,
) -> Result<State, Trouble> {
    Ok(match api.get(of, at, name).await? {
        None => State::Absent,
        Some(found) if is_of(&found, run, step) => State::CouldNot {
            why: format!("{of} {name} was made by a process that is gone"),
            hint: "a drill is never resumed: `dalsegno drill gc` removes it".to_owned(),
        },
        Some(_) => State::Unclear { why: format!("{of} {name} is not of this drill") },
    })
}

/// Takes an object of a step away, guarded by its uid, and looks until it is gone. What is not of this step stays; what does not go is
/// told, and never forced.
pub(super) async fn remove(
    api: &Api<'_>,
    of: &Resource,
    at: Option<&str>,
    name: &str,
    run: RunId,
    step: &str,
) -> Result<Undone, Trouble> {
    let (mut asked, mut whose) = (false, None);
    loop {
        let Some(found) = api.get(of, at, name).await? else {
            return Ok(if asked { Undone::Removed } else { Undone::NothingToDo });
        };
        let uid = text(&found, "/metadata/uid").unwrap_or_default().to_owned();
        // Somebody else's, or another one by now: ours is gone.
        if !is_of(&found, run, step) || whose.as_ref().is_some_and(|whose| *whose != uid) {
            return Ok(if asked { Undone::Removed } else { Undone::NothingToDo });
        }
        if text(&found, "/metadata/deletionTimestamp").is_none() {
            api.delete(of, at, name, &uid).await?;
        }
        (asked, whose) = (true, Some(uid));
        if Instant::now() + KEPT_BACK >= api.until || api.cancel.is_cancelled() {
            return Ok(Undone::Stuck { why: format!("{of} {name} is still there: {}", why_still(&found)) });
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Why it does not go, in the API's words.
fn why_still(object: &Value) -> String {
    let since = text(object, "/metadata/deletionTimestamp");
    let mut words =
        vec![since.map_or_else(|| "it is not being deleted yet".to_owned(), |since| format!("deleted since {since}"))];
    let finalizers: Vec<&str> = ["/metadata/finalizers", "/spec/finalizers"]
        .iter()
        .filter_map(|pointer| object.pointer(pointer)?.as_array())
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !finalizers.is_empty() {
        words.push(format!("finalizers {}", finalizers.join(", ")));
    }
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let told = conditions.into_iter().flatten().filter(|row| text(row, "/status") == Some("True"));
    words.extend(told.filter_map(|row| text(row, "/message")).map(str::to_owned));
    words.join("; ")
}
