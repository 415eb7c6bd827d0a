//! Lists an archive into a catalogue, and reads its small objects and the first bytes of segments: for whoever watches an archive,
//! and for whoever restores from it, so that both see the same.

mod small;

use std::ops::ControlFlow;

use tokio_util::sync::CancellationToken;

use crate::archive::{Catalogue, Compression, SegmentName, segment_key};
use crate::domain::Prefix;
use crate::store::{ListEnd, Store, StoreError};

/// How a whole listing is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// One page after the other: the fewest requests.
    Cheap,
    /// Folder by folder, so many pages on their way at once: the least time.
    Fast {
        /// How many.
        pages: usize,
    },
}

/// Why an archive could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// The store answered with an error, or not at all.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// We were told to stop.
    #[error("stopped while listing {root}")]
    Stopped {
        /// The archive.
        root: String,
    },
    /// More names than we are ready to keep.
    #[error("{root} holds more backups, timelines or holes than can be kept: {objects} objects were listed")]
    TooMuch {
        /// The archive.
        root: String,
        /// How many there were.
        objects: u64,
    },
}

/// What could be looked at, and what could not.
#[derive(Debug, Default)]
pub struct ReadEnd {
    /// Small objects that could not be fetched: key and error.
    pub failed: Vec<(String, StoreError)>,
    /// How many could.
    pub read: u64,
}

impl ReadEnd {
    fn note<T>(&mut self, key: String, outcome: Result<T, StoreError>) -> Option<T> {
        match outcome {
            Ok(value) => {
                self.read += 1;
                Some(value)
            }
            Err(error) => {
                self.failed.push((key, error));
                None
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.failed.extend(other.failed);
        self.read += other.read;
    }
}

/// Reads one archive.
#[derive(Clone, Debug)]
pub struct ArchiveReader {
    store: Store,
    root: Prefix,
    cancel: CancellationToken,
}

impl ArchiveReader {
    /// For the archive below `root` (`<prefix>/<server>/`).
    pub const fn new(store: Store, root: Prefix, cancel: CancellationToken) -> Self {
        Self { store, root, cancel }
    }

    /// The store.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    fn key(&self, below: &str) -> String {
        format!("{}{below}", self.root.as_str())
    }

    /// Lists all of it into a new catalogue.
    pub async fn list_whole(&self, pace: Pace) -> Result<Catalogue, LookError> {
        let mut catalogue = Catalogue::new();
        match pace {
            Pace::Cheap => self.list(&mut catalogue, "", None).await?,
            Pace::Fast { pages } => {
                self.list(&mut catalogue, "base/", None).await?;
                let prefix = self.key("wals/");
                let end = {
                    let mut add = self.adder(&mut catalogue);
                    self.store.list_by_folder(&prefix, pages, &mut add).await?
                };
                self.judge(&catalogue, &end)?;
            }
        }
        Ok(catalogue)
    }

    /// Lists what can have changed since the catalogue was made: all of `base/`, and on each timeline what comes after its newest
    /// segment. Holes are looked at again, because parallel uploads fill them late.
    pub async fn list_more(&self, catalogue: &mut Catalogue, holes: &[(SegmentName, SegmentName)]) -> Result<(), LookError> {
        let old = catalogue.forget_backups();
        self.list(catalogue, "base/", None).await?;
        catalogue.carry_over(old);
        for (first, last) in holes {
            self.list_between(catalogue, *first, *last).await?;
        }
        let newest = catalogue.newest_segments();
        let Some(((last, compression), older)) = newest.split_last() else { return self.list(catalogue, "wals/", None).await };
        for (name, compression) in older.iter().rev().take(2) {
            // A timeline that was left gets no more segments, unless two primaries live.
            let after = self.key(&segment_key(*name, *compression));
            self.list(catalogue, &format!("wals/{:08X}", name.timeline), Some(&after)).await?;
        }
        // Histories of later timelines sort behind all segments of earlier ones.
        let after = self.key(&segment_key(*last, *compression));
        self.list(catalogue, "wals/", Some(&after)).await
    }

    async fn list_between(&self, catalogue: &mut Catalogue, first: SegmentName, last: SegmentName) -> Result<(), LookError> {
        let prefix = self.key(&format!("wals/{:08X}", first.timeline));
        let start = self.key(&segment_key(first, Compression::None));
        let beyond = self.key(&segment_key(last, Compression::None));
        let root = self.root.as_str().len();
        let stop = |key: &str| key > beyond.as_str() && !key.starts_with(beyond.as_str());
        self.store
            .list(&prefix, before(&start).as_deref(), &mut |object| {
                if stop(&object.key) {
                    return ControlFlow::Break(());
                }
                catalogue.add(object.key.get(root..).unwrap_or_default(), object.size, &object.etag, object.last_modified);
                ControlFlow::Continue(())
            })
            .await?;
        Ok(())
    }

    async fn list(&self, catalogue: &mut Catalogue, below: &str, after: Option<&str>) -> Result<(), LookError> {
        let prefix = self.key(below);
        let end = {
            let mut add = self.adder(catalogue);
            self.store.list(&prefix, after, &mut add).await?
        };
        self.judge(catalogue, &end)
    }

    fn adder<'a>(&'a self, catalogue: &'a mut Catalogue) -> impl FnMut(crate::store::Listed) -> ControlFlow<()> + Send + 'a {
        let root = self.root.as_str().len();
        move |object| {
            if self.cancel.is_cancelled() {
                return ControlFlow::Break(());
            }
            catalogue.add(object.key.get(root..).unwrap_or_default(), object.size, &object.etag, object.last_modified);
            ControlFlow::Continue(())
        }
    }

    fn judge(&self, catalogue: &Catalogue, end: &ListEnd) -> Result<(), LookError> {
        if !end.complete {
            return Err(LookError::Stopped { root: self.root.to_string() });
        }
        if catalogue.overflowed() {
            return Err(LookError::TooMuch { root: self.root.to_string(), objects: catalogue.counts().0 });
        }
        Ok(())
    }

    /// Folders beside the archive: proof that an empty listing means empty, and a hint where it might lie.
    pub async fn neighbours(&self, prefix: &Prefix) -> Result<Vec<String>, StoreError> {
        self.store.list_folders(prefix.as_str()).await
    }
}

/// The key just before this one, to start a listing *at* it: S3's start-after is exclusive.
fn before(key: &str) -> Option<String> {
    let mut text = key.to_owned();
    let last = text.pop()?;
    let code = u32::from(last).checked_sub(1)?;
    text.push(char::from_u32(code)?);
    // All names between "…X-1" and "…X" begin with "…X-1": one more character sorts behind them.
    text.push('~');
    Some(text)
}
