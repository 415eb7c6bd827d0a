//! Observers that answer what a test tells them, and a pass around them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use dalsegno::conductor::{Budget, ExitRule, Look, Notify, Pass, PassOutcome, Swept, pass};
use dalsegno::domain::{
    Cx, Expected, Fact, FactKind, Known, Memory, Observation, Observe, ProviderId, Quiet, RunId, Severity, StoreId, Subject,
};
use dalsegno::ledger::Ledger;
use dalsegno::process::Process;
use futures::FutureExt;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

pub(crate) use crate::policy::scene::{archive, at, db, store, store_subject};

pub(crate) const RULE: ExitRule = ExitRule { threshold: Severity::Warning, by_work: false };

pub(crate) fn now() -> Timestamp {
    crate::policy::scene::now()
}

pub(crate) fn later(minutes: i64) -> Timestamp {
    now().checked_add(SignedDuration::from_mins(minutes)).unwrap()
}

pub(crate) fn cx(now: Timestamp) -> Cx {
    Cx {
        run: RunId::new(),
        now,
        deadline: Instant::now() + Duration::from_mins(1),
        cancel: CancellationToken::new(),
        progress: Arc::new(Quiet),
    }
}

/// What an observer does when it is asked.
#[derive(Clone)]
pub(crate) enum Does {
    Answers(Box<Observation>),
    Hangs,
    Panics,
}

pub(crate) struct Told {
    name: &'static str,
    covers: Vec<(Subject, FactKind)>,
    reads: Vec<FactKind>,
    pub(crate) does: Mutex<Does>,
    pub(crate) known: Mutex<Vec<Known>>,
}

impl Told {
    pub(crate) fn new(name: &'static str, covers: Vec<(Subject, FactKind)>, does: Does) -> Arc<Self> {
        Arc::new(Self { name, covers, reads: Vec::new(), does: Mutex::new(does), known: Mutex::default() })
    }

    pub(crate) fn reading(name: &'static str, covers: Vec<(Subject, FactKind)>, reads: Vec<FactKind>, does: Does) -> Arc<Self> {
        Arc::new(Self { name, covers, reads, does: Mutex::new(does), known: Mutex::default() })
    }

    pub(crate) fn then(&self, does: Does) {
        *self.does.lock().unwrap() = does;
    }
}

#[async_trait]
impl Observe for Told {
    fn name(&self) -> ProviderId {
        ProviderId(self.name.to_owned())
    }

    fn covers(&self, _known: &Known) -> Vec<(Subject, FactKind)> {
        self.covers.clone()
    }

    fn reads(&self) -> &[FactKind] {
        &self.reads
    }

    async fn observe(&self, _: &Cx, known: &Known) -> Observation {
        self.known.lock().unwrap().push(known.clone());
        let does = self.does.lock().unwrap().clone();
        match does {
            Does::Answers(observation) => *observation,
            Does::Hangs => std::future::pending().await,
            Does::Panics => panic!("an observer's own fault"),
        }
    }
}

pub(crate) fn answers(facts: Vec<Fact>) -> Does {
    Does::Answers(Box::new(Observation { facts, ..Observation::default() }))
}

pub(crate) fn the_store() -> Arc<Told> {
    Told::new("store/minio", vec![(store_subject(), FactKind::Store)], answers(vec![Fact::Store(Box::new(store()))]))
}

pub(crate) fn the_archive() -> Arc<Told> {
    let observation = Observation {
        facts: vec![Fact::Archive(Box::new(archive("app")))],
        memory: Some(Memory(serde_json::json!({"last_key": "x"}))),
        ..Observation::default()
    };
    Told::reading(
        "postgres/app",
        vec![(db("app"), FactKind::Archive)],
        vec![FactKind::Store],
        Does::Answers(Box::new(observation)),
    )
}

/// A state folder with a ledger, and what passes work with.
pub(crate) struct Site {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) ledger: Ledger,
    pub(crate) looks: Vec<Look>,
    pub(crate) expected: Expected,
    pub(crate) budgets: Vec<Budget>,
    pub(crate) notify: Option<Notify>,
    pub(crate) swept: Swept,
    pub(crate) limit: Duration,
    pub(crate) exit: ExitRule,
}

impl Site {
    pub(crate) async fn new(observers: Vec<Arc<Told>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path(), now(), Process::this().unwrap()).await.unwrap();
        let looks = observers.into_iter().map(|observer| Look { observer, store: Some(StoreId("minio".into())) }).collect();
        let mut expected = Expected::default();
        expected.rests_on.insert(db("app"), store_subject());
        Self {
            folder,
            ledger,
            looks,
            expected,
            budgets: Vec::new(),
            notify: None,
            swept: Swept::default(),
            limit: Duration::from_secs(30),
            exit: RULE,
        }
    }

    pub(crate) fn drills(&self) -> PathBuf {
        self.folder.path().join("drills")
    }

    pub(crate) async fn pass(&self, now: Timestamp) -> PassOutcome {
        let drills = self.drills();
        let sweep = |_: Cx| std::future::ready(self.swept.clone()).boxed();
        let work = Pass {
            site: "home",
            looks: &self.looks,
            expected: &self.expected,
            ledger: &self.ledger,
            budgets: &self.budgets,
            provider_limit: self.limit,
            drills: &drills,
            handed_in: None,
            sweep: &sweep,
            notify: self.notify.as_ref(),
            exit: self.exit,
        };
        pass(&work, &cx(now)).await.unwrap()
    }
}

pub(crate) fn codes(outcome: &PassOutcome) -> Vec<&str> {
    outcome.findings.iter().map(|finding| finding.code.as_str()).collect()
}
