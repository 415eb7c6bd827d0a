//! What the tests of this suite stand on: a temporary place, a context, plans from texts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dalsegno::domain::{Cx, Permit, Quiet, RunId};
use dalsegno::execution::{Hands, Journal, Outcome, Unwatched, Watch, run};
use dalsegno::runbook::{Plan, check, plan};
use jiff::Timestamp;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::folder_act::{FolderAct, VERBS};

pub(crate) const NOW: &str = "2026-09-30T15:00:00Z";

/// Two scaffolds, a product and looks, in one runbook.
pub(crate) const BOOK: &str = "
runbook: 1
name: bench
purpose: exercises execution
isolation-at-least: none
allows: [backup.start, schedule.pause]
steps:
  - {name: choose, verb: archive.choose, with: {subject: pg/home/prod/app}}
  - {name: pause, verb: schedule.pause}
  - {name: sandbox, verb: sandbox.make}
  - {name: backup, verb: backup.start}
  - {name: server, verb: pg.recover, with: {folder: $(sandbox.folder)}}
  - {name: ask, verb: pg.check, with: {folder: $(server.folder)}, time-limit: 10s}
";

pub(crate) fn now() -> Timestamp {
    NOW.parse().unwrap()
}

pub(crate) fn cx(run: RunId) -> Cx {
    Cx {
        run,
        now: now(),
        deadline: Instant::now() + Duration::from_mins(2),
        cancel: CancellationToken::new(),
        progress: Arc::new(Quiet),
    }
}

pub(crate) fn planned(text: &str) -> Plan {
    // `server.folder` is no output of pg.recover in the declared table, but the bench's folders all have one.
    let checked =
        check(&text.replace("$(server.folder)", "$(sandbox.folder)"), &VERBS).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    plan(&checked, RunId::new(), &BTreeMap::new()).unwrap()
}

/// A place on disk: drills and sandboxes.
pub(crate) struct Bench {
    #[cfg_attr(not(feature = "lab"), expect(dead_code, reason = "the kill test hands it on"))]
    place: PathBuf,
    owned: Option<tempfile::TempDir>,
    pub(crate) drills: PathBuf,
    pub(crate) sandboxes: PathBuf,
}

impl Bench {
    /// A place of its own, removed at the end.
    pub(crate) fn new() -> Self {
        let owned = tempfile::tempdir().unwrap();
        let mut bench = Self::at(owned.path());
        bench.owned = Some(owned);
        bench
    }

    /// A place that somebody else keeps.
    pub(crate) fn at(place: &Path) -> Self {
        let sandboxes = place.join("sandboxes");
        std::fs::create_dir_all(&sandboxes).unwrap();
        Self { place: place.to_owned(), owned: None, drills: place.join("drills"), sandboxes }
    }

    #[cfg(feature = "lab")]
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }
}

/// Runs a plan to its end and hands back the open journal.
pub(crate) async fn run_plan(bench: &Bench, act: &FolderAct, plan: &Plan, cx: &Cx) -> (Outcome, Journal) {
    run_watched(bench, act, plan, cx, &Unwatched).await
}

/// Cancels a moment after a step began.
pub(crate) struct CancelsAt(pub(crate) &'static str, pub(crate) CancellationToken);

impl Watch for CancelsAt {
    fn began(&self, step: &str, _verb: &str) {
        if step == self.0 {
            let cancel = self.1.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                cancel.cancel();
            });
        }
    }
}

pub(crate) async fn run_watched(bench: &Bench, act: &FolderAct, plan: &Plan, cx: &Cx, watch: &dyn Watch) -> (Outcome, Journal) {
    let mut journal = Journal::begin(&bench.drills, plan, json!({}), now()).unwrap();
    let hands = Hands { acts: &[act], guard: &|_, _| Permit::Yes, watch };
    let outcome = run(cx, plan, &hands, &mut journal).await;
    (outcome, journal)
}
