//! The same objects over another seam: writing down what is seen, or answering from what was written down.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use super::{App, AppError, stores};
use crate::archive::Catalogue;
use crate::conductor::{ExitRule, LEDGER_FILE, Pass, PassOutcome, Swept, pass, remember, remembered, without_ledger};
use crate::config;
use crate::domain::{Cx, Evidence, Quiet, RunId, Subject};
use crate::ledger::Ledger;
use crate::policy::Proof;
use crate::process::Process;
use crate::providers::objectstore::config::StoreSettings;
use crate::providers::objectstore::keep::KeepArchive;
use crate::reader::{ArchiveReader, Pace};
use crate::store::s3::S3;
use crate::store::{Store, StoreError};
use crate::tap::{ObjectCalls, PassRecorder, PassReplay, Recorder, Recording, TlsCalls};

/// How a recording calls the key that stores are read with. What it is, is never written down.
const READING_KEY: &str = "read";
/// A replay waits for nobody; this only ends what hangs by a mistake of ours.
const REPLAY_LIMIT: Duration = Duration::from_mins(2);

/// Where calls to the outside go.
pub(super) enum Seam {
    /// Out.
    Live,
    /// Out, and into files.
    Recording(PassRecorder),
    /// Nowhere: files answer.
    Replaying(Arc<dyn TlsCalls>, PassReplay),
}

impl App {
    /// The same, with everything that its stores and certificates answer written down.
    fn recording(mut self, recorder: PassRecorder) -> Self {
        let open = |settings: &StoreSettings| {
            let config = stores::config(settings, &settings.read)?;
            let identity = config.identity();
            let live = S3::new(&config).map_err(|error| Store::unopened(&identity, error.to_string()))?;
            let calls = recorder.store(&settings.id.0, READING_KEY, Arc::new(live), Arc::new(KeepArchive));
            Ok::<_, StoreError>(Store::over(identity, calls))
        };
        self.stores = self.settings().stores.iter().map(|settings| (settings.id.clone(), open(settings))).collect();
        self.kubes = super::clusters::recording(std::mem::take(&mut self.kubes), &recorder);
        self.seam = Seam::Recording(recorder);
        self
    }

    /// The configuration of a recording, over one of its passes. Secrets are neither there nor needed.
    pub fn replaying(recording: &Recording, pass: &PassReplay) -> Result<Self, AppError> {
        let loaded = config::load_without_secrets(&[recording.root().join("config.yaml")], &BTreeMap::new())?;
        let mut opened = BTreeMap::new();
        for settings in &loaded.settings.stores {
            let calls: Arc<dyn ObjectCalls> = pass.store(&settings.id.0, READING_KEY, Arc::new(KeepArchive))?;
            let identity = stores::without_authority(settings, &settings.read).identity();
            opened.insert(settings.id.clone(), Ok(Store::over(identity, calls)));
        }
        let kubes = super::clusters::replaying(&loaded.settings, pass)?;
        Ok(Self { loaded, stores: opened, kubes, seam: Seam::Replaying(pass.tls()?, pass.clone()) })
    }

    /// How the certificate of a store's endpoint is looked at.
    pub(super) fn certificates(&self, settings: &StoreSettings) -> Option<Arc<dyn TlsCalls>> {
        match &self.seam {
            Seam::Live => stores::tls(settings),
            Seam::Recording(recorder) => stores::tls(settings).map(|live| recorder.tls(live)),
            Seam::Replaying(tls, _) => Some(Arc::clone(tls)),
        }
    }
}

/// A recording of one look that is being made.
pub struct Making {
    folder: PathBuf,
    recorder: Recorder,
    pass: PassRecorder,
}

impl App {
    /// Begins a recording in a folder that is new or empty; everything that stores and certificates answer from now on is written down.
    pub fn record(self, folder: &Path, now: jiff::Timestamp) -> Result<(Self, Making), AppError> {
        let mut recorder = Recorder::create(folder, &self.settings().site)?;
        let pass = recorder.pass(now)?;
        Ok((self.recording(pass.clone()), Making { folder: folder.to_owned(), recorder, pass }))
    }

    /// Ends it: the configuration with secrets as references, and what only the ledger knows.
    pub async fn end_recording(&self, making: Making, ledger: Option<&Ledger>) -> Result<(), AppError> {
        making.pass.finish()?;
        let config = serde_saphyr::to_string(&self.loaded.written).map_err(|error| AppError::Written(error.to_string()))?;
        let write = |name: &str, text: String| std::fs::write(making.folder.join(name), text).map_err(AppError::Scratch);
        write("config.yaml", config)?;
        if let Some(ledger) = ledger {
            let lines: Vec<String> = self.drills_to_remember(ledger).await?.into_iter().filter_map(remembered).collect();
            write(LEDGER_FILE, lines.concat())?;
        }
        Ok(making.recorder.finish()?)
    }

    /// What decides of each subject: its newest drill, its newest failure, and its newest proof where it lies now.
    async fn drills_to_remember(&self, ledger: &Ledger) -> Result<Vec<Evidence>, AppError> {
        let isolation = self.expected().isolation;
        let counts = |evidence: &Evidence| Proof::from(evidence).counts(isolation);
        let mut found = ledger.last_drills().await?;
        for of in &self.settings().postgres {
            let place = Some(of.place.clone().into());
            found.extend(ledger.last_failed(&of.subject, place.as_ref()).await?);
            found.extend(ledger.last_proof(&of.subject, place.as_ref(), &counts).await?);
        }
        let mut drills: Vec<Evidence> = Vec::new();
        for evidence in found {
            if drills.iter().all(|known| known.run != evidence.run) {
                drills.push(evidence);
            }
        }
        drills.sort_by_key(|drill| drill.ended);
        Ok(drills)
    }
}

/// Plays a recording: earlier passes into an empty ledger, then the last one, whose outcome comes back. Nobody is told, nothing is
/// asked of the network, and the ledger goes with the folder that it is in.
pub async fn replay(folder: &Path, rule: ExitRule) -> Result<PassOutcome, AppError> {
    let recording = Recording::open(folder)?;
    let scratch = tempfile::tempdir().map_err(AppError::Scratch)?;
    let mut last = None;
    let mut opened: Option<Ledger> = None;
    for replayed in recording.passes() {
        let now = replayed.pass.now;
        let ledger = if let Some(ledger) = &opened {
            ledger.clone()
        } else {
            let me = Process::this().map_err(AppError::Process)?;
            let ledger = Ledger::open(scratch.path(), now, me).await?;
            remember(folder, &ledger, now).await?;
            opened.insert(ledger).clone()
        };
        let app = App::replaying(&recording, &replayed)?;
        let (looks, expected, drills) = (app.looks(), app.expected(), scratch.path().join("drills"));
        let nothing_to_sweep = |_: Cx| std::future::ready(Swept::default()).boxed();
        let work = Pass {
            site: &app.settings().site,
            looks: &looks,
            expected: &expected,
            ledger: &ledger,
            budgets: &[],
            provider_limit: REPLAY_LIMIT,
            drills: &drills,
            handed_in: None,
            sweep: &nothing_to_sweep,
            notify: None,
            exit: rule,
        };
        last = Some(pass(&work, &at(now)).await?);
    }
    if let Some(ledger) = opened {
        ledger.close().await;
    }
    let outcome = last.ok_or(AppError::NoPass)?;
    Ok(if folder.join(LEDGER_FILE).exists() { outcome } else { without_ledger(outcome, rule) })
}

/// The catalogues of the last pass of a recording, by subject: for what only shows in the answer to an act.
pub async fn replayed_catalogues(folder: &Path) -> Result<Vec<(Subject, Catalogue)>, AppError> {
    let recording = Recording::open(folder)?;
    let last = recording.passes().last().ok_or(AppError::NoPass)?;
    let app = App::replaying(&recording, &last)?;
    let mut catalogues = Vec::new();
    for settings in &app.settings().postgres {
        let Some(Ok(store)) = app.store(&settings.place.store) else { continue };
        let reader = ArchiveReader::new(store.clone(), settings.place.root(), CancellationToken::new());
        if let Ok(mut catalogue) = reader.list_whole(Pace::Cheap).await {
            reader.read_small(&mut catalogue).await;
            catalogues.push((settings.subject.clone(), catalogue));
        }
    }
    Ok(catalogues)
}

fn at(now: jiff::Timestamp) -> Cx {
    Cx {
        run: RunId::new(),
        now,
        deadline: Instant::now() + REPLAY_LIMIT,
        cancel: CancellationToken::new(),
        progress: Arc::new(Quiet),
    }
}
