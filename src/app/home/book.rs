//! The open ledger, and what has to be done with it at the end.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::bring::bring;
use super::head::{self, Seen};
use super::keep::{Keeping, keep};
use super::layout::HEAD;
use super::scratch::Scratch;
use super::{HomeError, effective, evidence, holder, prune, status};
use crate::app::{App, AppError, stores};
use crate::conductor::{self, usual_interval};
use crate::config::LedgerSettings;
use crate::domain::{Explained, Holder, Known, Mode, Prefix, RunId, StoreId};
use crate::ledger::{FILE, Ledger};
use crate::process::{self, Process};
use crate::providers::objectstore::config::StoreSettings;
use crate::store::{Guarded, Store};

/// A mark holds for so many intervals between passes: one may be late, two may be lost.
const INTERVALS: i32 = 3;
/// Where evidence that others handed in is laid.
const HANDED_IN: &str = "handed-in";
/// The copy that is kept.
const COPY: &str = "copy.sqlite";

/// The open ledger. Dropped without [`App::keep`], what a bucket holds stays as it is.
pub struct Book {
    ledger: Ledger,
    home: Home,
}

enum Home {
    Volume,
    Bucket(Box<Bucket>),
}

struct Bucket {
    scratch: Scratch,
    prefix: Prefix,
    seen: Option<Seen>,
    /// The means to write; only a pass has them.
    guarded: Option<Guarded>,
    /// Whether there were drills in the bucket that the pass must take in.
    handed_in: bool,
    warnings: Vec<String>,
}

/// What keeping came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// What could not be done beside it, for people. The ledger itself is kept.
    pub warnings: Vec<String>,
}

impl Deref for Book {
    type Target = Ledger;

    fn deref(&self) -> &Ledger {
        &self.ledger
    }
}

impl Book {
    /// Evidence that others handed in, for the pass to take in.
    pub fn handed_in(&self) -> Option<PathBuf> {
        match &self.home {
            Home::Bucket(bucket) if bucket.handed_in => Some(bucket.scratch.path().join(HANDED_IN)),
            _ => None,
        }
    }

    /// What could not be done when it was brought, for people.
    pub fn warnings(&self) -> &[String] {
        match &self.home {
            Home::Bucket(bucket) => &bucket.warnings,
            Home::Volume => &[],
        }
    }

    /// Closes the ledger; a copy from a bucket goes.
    pub async fn close(self) {
        self.ledger.close().await;
    }
}

/// The store that the ledger is at home in.
struct At {
    settings: StoreSettings,
    prefix: Prefix,
}

impl App {
    /// Opens the ledger to read it; runs of dead processes are closed as interrupted. From a bucket a copy is brought, and nothing of it
    /// is written back.
    pub async fn ledger(&self, now: Timestamp) -> Result<Book, AppError> {
        let Some(at) = self.home()? else {
            return Ok(Book { ledger: self.open(&self.settings().state_folder, now).await?, home: Home::Volume });
        };
        // The key to read with is enough, and is all that a laptop has.
        let reader = stores::open(&at.settings).map_err(HomeError::from)?;
        let bucket = self.bring(&at, &reader, None, now).await?;
        let ledger = self.open(bucket.scratch.path(), now).await?;
        Ok(Book { ledger, home: Home::Bucket(Box::new(bucket)) })
    }

    /// Opens the ledger for passes of this kind. Refused where the other kind holds it.
    pub async fn ledger_for_passes(&self, mode: Mode, take_over: bool, now: Timestamp) -> Result<Book, AppError> {
        if let Some(only) = self.settings().pass.mode.filter(|only| *only != mode) {
            return Err(HomeError::OtherMode { mode: only }.into());
        }
        let state = &self.settings().state_folder;
        let Some(at) = self.home()? else {
            let ledger = self.open(state, now).await?;
            holder::refuse(holder::read(state)?.as_ref().filter(|_| !take_over), mode, now)?;
            return Ok(Book { ledger, home: Home::Volume });
        };
        let own = stores::open_own(&at.settings).ok_or_else(|| self.no_own_key(&at.settings.id))?.map_err(HomeError::from)?;
        let guarded = own.guard().await.map_err(HomeError::from)?;
        let mut bucket = self.bring(&at, &own, Some(guarded), now).await?;
        let marked = bucket.seen.as_ref().and_then(|seen| seen.head.holder.as_ref());
        holder::refuse(marked.filter(|_| !take_over), mode, now)?;
        let ledger = self.open(bucket.scratch.path(), now).await?;
        self.exchange(&mut bucket, &ledger).await;
        Ok(Book { ledger, home: Home::Bucket(Box::new(bucket)) })
    }

    /// At the end of a pass: the ledger goes home, with the configuration and what others read. With a volume only the mark is written.
    /// `every` is the time until the next pass, where it is known.
    pub async fn keep(
        &self,
        book: &mut Book,
        mode: Mode,
        run: RunId,
        every: Option<SignedDuration>,
        now: Timestamp,
    ) -> Result<Kept, AppError> {
        let host = process::host().unwrap_or_default();
        let holder = self.holder(&book.ledger, mode, &host, every, now).await?;
        let Book { ledger, home: Home::Bucket(bucket) } = book else {
            if let Some(holder) = &holder {
                holder::write(&self.settings().state_folder, holder)?;
            }
            return Ok(Kept::default());
        };
        let Some(guarded) = &bucket.guarded else { return Ok(Kept::default()) };
        let copy = bucket.scratch.path().join(COPY);
        remove(&copy)?;
        process::kill::point("home-begun");
        ledger.copy_into(&copy).await?;
        process::kill::point("home-copied");
        let site = &self.settings().site;
        let config = effective::bytes(&self.loaded)?;
        let keeping = Keeping { site, run, now, host: &host, holder, copy: &copy, config };
        let seen = keep(guarded, bucket.seen.as_ref(), keeping).await?;
        let mut warnings = Vec::new();
        let mut warn = |what: &str, error: &dyn std::error::Error| warnings.push(format!("{what}: {error}"));
        let mut expected = self.expected();
        expected.covers = self.looks().iter().flat_map(|look| look.observer.covers(&Known::default())).collect();
        let shown = conductor::status(ledger, &expected, site, now).await?;
        if let Err(error) = status::write(guarded, &self.settings().environment, run, seen.head.serial, &shown).await {
            warn("the status for other sites was not written", &error);
        }
        process::kill::point("home-status-written");
        if let Err(error) = prune::prune(guarded, &seen.head, now).await {
            warn("old snapshots of the ledger stay for now", &error);
        }
        bucket.seen = Some(seen);
        remove(&copy)?;
        Ok(Kept { warnings })
    }

    /// Between two passes of one process: evidence that came meanwhile. Gives what could not be done, for people.
    pub async fn exchange_evidence(&self, book: &mut Book) -> Vec<String> {
        let Book { ledger, home: Home::Bucket(bucket) } = book else { return Vec::new() };
        bucket.warnings.clear();
        self.exchange(bucket, ledger).await;
        bucket.warnings.clone()
    }

    /// Evidence of drills goes into the bucket at once, so that it outlives this machine and the next pass takes it in. Words for people
    /// when it cannot; the evidence then stays in the state folder.
    pub async fn hand_in(&self) -> Option<String> {
        let handed = async {
            let Some(at) = self.home()? else { return Ok(()) };
            let own = stores::open_own(&at.settings).ok_or_else(|| self.no_own_key(&at.settings.id))?.map_err(HomeError::from)?;
            let guarded = own.guard().await.map_err(HomeError::from)?;
            let site = &self.settings().site;
            let there = evidence::listed(&own, &at.prefix, site).await.map_err(HomeError::from)?;
            evidence::hand_in(&guarded, site, &self.drills_folder(), &there).await?;
            Ok::<(), AppError>(())
        };
        let error: AppError = handed.await.err()?;
        let hint = error.hint().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
        let place = self.drills_folder();
        Some(format!("the evidence stays on this machine ({}): {error}{hint}", place.display()))
    }

    /// Where the ledger is at home; `None` = in the state folder.
    fn home(&self) -> Result<Option<At>, HomeError> {
        let LedgerSettings::Bucket { store, prefix } = &self.settings().ledger else { return Ok(None) };
        match self.settings().stores.iter().find(|settings| settings.id == *store) {
            Some(settings) => Ok(Some(At { settings: settings.clone(), prefix: prefix.clone() })),
            None => Err(self.unusable(store)),
        }
    }

    /// Why the store is not among those that can be used: its gap says it.
    fn unusable(&self, store: &StoreId) -> HomeError {
        let subject = crate::providers::objectstore::config::subject(&self.settings().site, &store.0);
        let gap = self.loaded.gaps.iter().find(|gap| gap.subject == subject);
        HomeError::Unusable {
            store: store.0.clone(),
            detail: gap.map_or_else(|| "its configuration is not whole".to_owned(), |gap| gap.detail.clone()),
            hint: gap.map_or_else(|| "dalsegno config check".to_owned(), |gap| gap.hint.clone()),
        }
    }

    fn no_own_key(&self, store: &StoreId) -> HomeError {
        let key = format!("stores.{store}.own");
        let why = self.loaded.warnings.iter().find(|warning| warning.key == key);
        HomeError::Unusable {
            store: store.0.clone(),
            detail: why.map_or_else(|| "it has no key of our own to write with".to_owned(), |why| why.text.clone()),
            hint: why.and_then(|why| why.hint.clone()).unwrap_or_else(|| format!("give {key} its keys; dalsegno config check")),
        }
    }

    async fn bring(&self, at: &At, store: &Store, guarded: Option<Guarded>, now: Timestamp) -> Result<Bucket, AppError> {
        let scratch = Scratch::make(&self.settings().state_folder)?;
        let seen = bring(store, &at.prefix, &scratch.path().join(FILE)).await?;
        let site = &self.settings().site;
        head::must_be_of(seen.as_ref(), site, || head::place(store, &at.prefix, HEAD))?;
        let prefix = at.prefix.clone();
        let mut warnings = Vec::new();
        if seen.is_none() && guarded.is_some() && self.settings().state_folder.join(FILE).exists() {
            // Going over from a volume to a bucket: what is remembered here is the beginning there.
            let old = self.open(&self.settings().state_folder, now).await?;
            old.copy_into(&scratch.path().join(FILE)).await?;
            old.close().await;
            warnings.push("there was no ledger in the bucket; the one in the state folder is where it begins".to_owned());
        }
        Ok(Bucket { scratch, prefix, seen, guarded, handed_in: false, warnings })
    }

    /// Evidence goes both ways. What cannot be exchanged is said, and is tried again by the next pass.
    async fn exchange(&self, bucket: &mut Bucket, ledger: &Ledger) {
        let Some(guarded) = bucket.guarded.clone() else { return };
        let own = guarded.store();
        let site = &self.settings().site;
        let base = bucket.scratch.path().join(HANDED_IN);
        let exchanged = async {
            let there = evidence::listed(own, &bucket.prefix, site).await?;
            let brought = evidence::bring(own, &bucket.prefix, site, ledger, &base, &there).await?;
            evidence::hand_in(&guarded, site, &self.drills_folder(), &there).await?;
            Ok::<usize, HomeError>(brought)
        };
        match exchanged.await {
            Ok(brought) => bucket.handed_in = brought > 0,
            Err(error) => {
                bucket.handed_in = base.exists();
                bucket.warnings.push(format!("evidence of drills was not exchanged with the bucket: {error}"));
            }
        }
    }

    async fn holder(
        &self,
        ledger: &Ledger,
        mode: Mode,
        host: &str,
        every: Option<SignedDuration>,
        now: Timestamp,
    ) -> Result<Option<Holder>, AppError> {
        // A person who runs a pass by hand keeps nobody away; a schedule that says what it is does.
        if mode == Mode::Cronjob && self.settings().pass.mode.is_none() {
            return Ok(None);
        }
        let every = match every {
            Some(every) => every,
            None => usual_interval(ledger).await?,
        };
        let until = now.checked_add(every * INTERVALS).unwrap_or(now);
        Ok(Some(Holder { mode, host: host.to_owned(), until }))
    }

    async fn open(&self, folder: &Path, now: Timestamp) -> Result<Ledger, AppError> {
        let me = Process::this().map_err(AppError::Process)?;
        Ok(Ledger::open(folder, now, me).await?)
    }

    /// A store to write to by hand, for what a person decided.
    pub(super) async fn own_home(&self) -> Result<Option<(Guarded, Prefix)>, HomeError> {
        let Some(at) = self.home()? else { return Ok(None) };
        let own = stores::open_own(&at.settings).ok_or_else(|| self.no_own_key(&at.settings.id))??;
        Ok(Some((own.guard().await?, at.prefix)))
    }
}

fn remove(file: &Path) -> Result<(), HomeError> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(HomeError::File { what: "remove", path: file.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

impl From<HomeError> for AppError {
    fn from(error: HomeError) -> Self {
        Self::Home(Box::new(error))
    }
}
