//! What a store can and cannot do for us and for its other clients: a round trip in a prefix of our own, step by step.
//!
//! Each step has its own three-valued verdict. Everything is made below `<own prefix>dalsegno-probe/<uuid>/` and removed again;
//! what a killed probe left there is found by the next one and removed when it is ours and older than an hour.

mod consequences;
mod looks;
mod sweep;
mod writes;

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::{Store, StoreError};
use crate::domain::{Dialect, ExitCode, Explained, Prefix, Setting, Verdict};
use crate::tap::TlsCalls;

/// The folder of all probes below our own prefix.
pub const FOLDER: &str = "dalsegno-probe/";

/// How to probe.
#[derive(Clone)]
pub struct Plan {
    /// Nothing is written.
    pub read_only: bool,
    /// Looks at the certificate; `None` = not looked at.
    pub tls: Option<Arc<dyn TlsCalls>>,
    /// The time to judge by.
    pub now: Timestamp,
    /// Names this probe's folder; version 7, so that its age can be read from it.
    pub id: uuid::Uuid,
}

impl Plan {
    /// A plan with a new id.
    pub fn new(now: Timestamp, tls: Option<Arc<dyn TlsCalls>>, read_only: bool) -> Self {
        Self { read_only, tls, now, id: uuid::Uuid::now_v7() }
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Stable word.
    pub step: &'static str,
    /// Proven: it works, or is as it should be. Failed: it was tried and does not. Unknown: it was not, or could not be, tried.
    pub verdict: Verdict,
    /// Whether the store is of no use to us without it.
    pub essential: bool,
    /// What was seen.
    pub seen: String,
    /// What to run or change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What follows for a client of this store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Consequence {
    /// Which client.
    pub client: &'static str,
    /// The setting.
    pub set: String,
    /// Why.
    pub because: String,
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The store's name.
    pub store: String,
    /// Its endpoint.
    pub endpoint: String,
    /// Its bucket.
    pub bucket: String,
    /// The region that was signed with.
    pub region: String,
    /// Its family, as configured or as its answers show.
    pub dialect: Dialect,
    /// Where was written.
    pub folder: Option<String>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// What follows for clients.
    pub consequences: Vec<Consequence>,
    /// Keys that we made and could not remove.
    pub left_over: Vec<String>,
    /// Over the essential steps: failed if one failed, else unknown if one is unknown.
    pub verdict: Verdict,
}

impl Report {
    /// The exit of the command.
    pub const fn exit(&self) -> ExitCode {
        match self.verdict {
            _ if !self.left_over.is_empty() => ExitCode::Stuck,
            Verdict::Proven => ExitCode::Fine,
            Verdict::Failed => ExitCode::Findings,
            Verdict::Unknown => ExitCode::CouldNotLook,
        }
    }
}

/// What later steps and the consequences need to know.
#[derive(Clone, Debug, Default)]
struct Learnt {
    server: Option<String>,
    versioned: bool,
    private_ca: bool,
    checksum_header: Option<bool>,
    checksum_trailer: Option<bool>,
}

/// A probe on its way.
struct Probe<'a> {
    store: &'a Store,
    plan: &'a Plan,
    steps: Vec<Step>,
    learnt: Learnt,
    left_over: Vec<String>,
}

impl Store {
    /// Probes. Never fails as a whole: what could not be tried is a step that says so.
    pub async fn probe(&self, plan: &Plan) -> Report {
        let mut probe = Probe { store: self, plan, steps: Vec::new(), learnt: Learnt::default(), left_over: Vec::new() };
        probe.tls().await;
        let reachable = probe.list().await;
        if reachable {
            probe.look_closer().await;
        }
        let folder = probe.folder();
        match (&folder, reachable) {
            (Some(folder), true) if !plan.read_only => probe.round_trip(folder).await,
            _ => probe.not_tried(reachable, folder.is_some()),
        }
        probe.report(folder)
    }
}

impl Probe<'_> {
    fn folder(&self) -> Option<String> {
        let own: &Prefix = self.store.identity().own_prefix.as_ref()?;
        Some(format!("{own}{FOLDER}{}/", self.plan.id))
    }

    fn not_tried(&mut self, reachable: bool, has_prefix: bool) {
        let why = match (reachable, self.plan.read_only, has_prefix) {
            (false, _, _) => "not tried: the store does not answer a list",
            (_, true, _) => "not tried: nothing is to be written",
            _ => "not tried: only the reading key is configured",
        };
        let hint = (reachable && !self.plan.read_only).then(|| {
            let keys = "access-key-id: …, secret-access-key: …, prefix: dalsegno/";
            format!("set own: to probe writing: own: {{{keys}}} below stores.{}", self.store.id())
        });
        self.steps.push(Step { step: "write", verdict: Verdict::Unknown, essential: false, seen: why.to_owned(), hint });
    }

    fn say(&mut self, step: &'static str, verdict: Verdict, essential: bool, seen: impl Into<String>, hint: Option<String>) {
        self.steps.push(Step { step, verdict, essential, seen: seen.into(), hint });
    }

    /// A step that failed by an error: a refusal that the store stands by is *failed*, no answer is *unknown*.
    fn say_error(&mut self, step: &'static str, essential: bool, error: &StoreError) {
        self.say(step, verdict_of(error), essential, error.to_string(), error.hint());
    }

    fn report(self, folder: Option<String>) -> Report {
        let essential = |verdict| self.steps.iter().any(|step| step.essential && step.verdict == verdict);
        let verdict = if essential(Verdict::Failed) {
            Verdict::Failed
        } else if essential(Verdict::Unknown) {
            Verdict::Unknown
        } else {
            Verdict::Proven
        };
        let identity = self.store.identity();
        let dialect = super::endpoint::dialect_shown(identity.dialect, self.learnt.server.as_deref());
        Report {
            store: identity.id.0.clone(),
            endpoint: identity.endpoint.clone(),
            bucket: identity.bucket.clone(),
            region: identity.region.clone(),
            dialect,
            folder: folder.filter(|_| !self.plan.read_only),
            consequences: consequences::of(dialect, &self.learnt),
            steps: self.steps,
            left_over: self.left_over,
            verdict,
        }
    }
}

/// Whether an error is the store's word, or the lack of one.
fn verdict_of(error: &StoreError) -> Verdict {
    let silent = error.is_passing()
        || matches!(
            error,
            StoreError::Dns { .. } | StoreError::NotRecorded { .. } | StoreError::Config { .. } | StoreError::Guard { .. }
        );
    if silent { Verdict::Unknown } else { Verdict::Failed }
}

/// A setting in words.
fn setting_words<T>(setting: &Setting<T>, set: impl FnOnce(&T) -> String) -> (Verdict, String) {
    match setting {
        Setting::Set(value) => (Verdict::Proven, set(value)),
        Setting::Absent => (Verdict::Proven, "not set".to_owned()),
        Setting::NotImplemented => (Verdict::Proven, "this store does not have it".to_owned()),
        Setting::Denied => (Verdict::Unknown, "this key may not ask".to_owned()),
        Setting::NotAsked => (Verdict::Unknown, "not asked".to_owned()),
    }
}
