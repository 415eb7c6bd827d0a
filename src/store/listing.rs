//! Listings: page after page, checked, bounded; hostile keys arrive as they are, nonsense is set aside and named.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use jiff::Timestamp;
use tokio::task::JoinSet;

use super::error::At;
use super::keys::printable;
use super::{Store, StoreError};
use crate::tap::objects::{ListAsk, ListPage, WireObject};

/// S3 allows no longer key; what is longer is nonsense and could fill our memory.
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html>
pub const LONGEST_KEY: usize = 1024;
/// So many refused entries are kept with their reason; more are only counted.
const REFUSED_KEPT: usize = 1000;

/// An object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The key as it is: may hold newlines, NUL and `../`.
    pub key: String,
    /// Bytes.
    pub size: u64,
    /// ETag without quotes.
    pub etag: String,
    /// Last modification.
    pub last_modified: Option<Timestamp>,
}

/// How a listing ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListEnd {
    /// Whether it went to the end; false when the reader broke off.
    pub complete: bool,
    /// Pages read.
    pub pages: u64,
    /// Entries that were set aside: the key in printable form, and why. At most 1,000 are kept.
    pub refused: Vec<(String, String)>,
    /// How many entries were set aside.
    pub refused_count: u64,
}

impl ListEnd {
    fn refuse(&mut self, key: &str, why: String) {
        self.refused_count += 1;
        if self.refused.len() < REFUSED_KEPT {
            self.refused.push((printable(key), why));
        }
    }

    fn add(&mut self, other: Self) {
        self.pages += other.pages;
        self.refused_count += other.refused_count;
        let room = REFUSED_KEPT.saturating_sub(self.refused.len());
        self.refused.extend(other.refused.into_iter().take(room));
    }
}

/// Who is shown each object.
pub type Each<'a> = &'a mut (dyn FnMut(Listed) -> ControlFlow<()> + Send);

impl Store {
    /// Lists all keys that start with `prefix` and lie behind `start_after`, in the store's order.
    pub async fn list(&self, prefix: &str, start_after: Option<&str>, each: Each<'_>) -> Result<ListEnd, StoreError> {
        let at = self.at("ListObjectsV2", prefix);
        let mut end = ListEnd::default();
        let mut walk = Walk::new(prefix.to_owned(), start_after.map(str::to_owned));
        loop {
            let page = self.page(&walk.ask()).await?;
            end.pages += 1;
            let next = walk.step(&page, &at)?;
            if show(page, prefix, &mut end, each).is_break() {
                return Ok(end);
            }
            if !next {
                end.complete = true;
                return Ok(end);
            }
        }
    }

    /// The first key under `prefix`, in the store's order; `None` when the listing answered that there is none.
    pub async fn peek(&self, prefix: &str) -> Result<Option<Listed>, StoreError> {
        let page = self.page(&ListAsk { prefix: prefix.to_owned(), max_keys: Some(1), ..ListAsk::default() }).await?;
        Ok(page.objects.into_iter().find_map(|object| check(object, prefix).ok()))
    }

    /// The folders directly below `prefix`, each whole and with its trailing slash.
    pub async fn list_folders(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        Ok(self.list_level(prefix, usize::MAX).await?.0)
    }

    /// One level: folders and objects directly below `prefix`; at most `cap` objects are kept.
    pub async fn list_level(&self, prefix: &str, cap: usize) -> Result<(Vec<String>, Vec<Listed>), StoreError> {
        let at = self.at("ListObjectsV2", prefix);
        let mut walk = Walk { delimiter: true, ..Walk::new(prefix.to_owned(), None) };
        let (mut folders, mut objects, mut end) = (Vec::new(), Vec::new(), ListEnd::default());
        loop {
            let mut page = self.page(&walk.ask()).await?;
            let next = walk.step(&page, &at)?;
            folders.append(&mut page.folders);
            let _ = show(page, prefix, &mut end, &mut |object| {
                if objects.len() < cap {
                    objects.push(object);
                }
                ControlFlow::Continue(())
            });
            if !next {
                folders.dedup();
                return Ok((folders, objects));
            }
        }
    }

    /// Lists several folders at once, `concurrency` pages on their way; objects of one folder come in order, folders mix.
    ///
    /// The pages are read on other threads, so that reading XML is not the limit. At most `concurrency` pages are in memory.
    pub async fn list_parallel(
        &self,
        folders: &[String],
        start_after: Option<&str>,
        concurrency: usize,
        each: Each<'_>,
    ) -> Result<ListEnd, StoreError> {
        let mut waiting: VecDeque<Walk> =
            folders.iter().map(|folder| Walk::new(folder.clone(), start_after.map(str::to_owned))).collect();
        let mut running: JoinSet<(Walk, Result<ListPage, StoreError>)> = JoinSet::new();
        let mut end = ListEnd::default();
        loop {
            while running.len() < concurrency.max(1) {
                let Some(walk) = waiting.pop_front() else { break };
                let store = self.clone();
                running.spawn(async move {
                    let page = store.page(&walk.ask()).await;
                    (walk, page)
                });
            }
            let Some(joined) = running.join_next().await else { break };
            let (mut walk, page) = joined.map_err(|error| self.at("ListObjectsV2", "").malformed(error.to_string()))?;
            let page = page?;
            end.pages += 1;
            if walk.step(&page, &self.at("ListObjectsV2", &walk.prefix))? {
                waiting.push_front(walk.clone());
            }
            if show(page, &walk.prefix, &mut end, each).is_break() {
                return Ok(end);
            }
        }
        end.complete = true;
        Ok(end)
    }

    /// Lists everything under `prefix` by its folders, several at once: what a WAL archive (one folder per 256 segments) wants.
    /// Objects directly below `prefix` come first.
    pub async fn list_by_folder(&self, prefix: &str, concurrency: usize, each: Each<'_>) -> Result<ListEnd, StoreError> {
        let (folders, objects) = self.list_level(prefix, usize::MAX).await?;
        let mut end = ListEnd { pages: 1, ..ListEnd::default() };
        for object in objects {
            if each(object).is_break() {
                return Ok(end);
            }
        }
        let rest = self.list_parallel(&folders, None, concurrency, each).await?;
        end.complete = rest.complete;
        end.add(rest);
        Ok(end)
    }
}

/// A walk over the pages of one prefix.
#[derive(Clone, Debug)]
struct Walk {
    prefix: String,
    start_after: Option<String>,
    token: Option<String>,
    delimiter: bool,
}

impl Walk {
    const fn new(prefix: String, start_after: Option<String>) -> Self {
        Self { prefix, start_after, token: None, delimiter: false }
    }

    fn ask(&self) -> ListAsk {
        ListAsk {
            prefix: self.prefix.clone(),
            start_after: self.start_after.clone(),
            token: self.token.clone(),
            delimiter: self.delimiter.then(|| "/".to_owned()),
            max_keys: None,
        }
    }

    /// Goes on to the next page; false at the end. A store that says "more" and gives no way on would be an endless listing.
    fn step(&mut self, page: &ListPage, at: &At) -> Result<bool, StoreError> {
        if !page.truncated {
            return Ok(false);
        }
        match &page.next {
            None => Err(at.malformed("says that there is more and gives no token for it")),
            Some(token) if self.token.as_ref() == Some(token) => {
                Err(at.malformed("gave the same continuation token twice: the listing would never end"))
            }
            Some(token) => {
                self.token = Some(token.clone());
                Ok(true)
            }
        }
    }
}

fn show(page: ListPage, prefix: &str, end: &mut ListEnd, each: Each<'_>) -> ControlFlow<()> {
    for (key, why) in page.refused {
        end.refuse(&key, why);
    }
    for object in page.objects {
        match check(object, prefix) {
            Ok(listed) => each(listed)?,
            Err((key, why)) => end.refuse(&key, why),
        }
    }
    ControlFlow::Continue(())
}

fn check(object: WireObject, prefix: &str) -> Result<Listed, (String, String)> {
    let WireObject { key, size, etag, last_modified } = object;
    if key.is_empty() {
        return Err((key, "has no key".to_owned()));
    }
    if key.len() > LONGEST_KEY {
        let why = format!("key of {} bytes (S3 allows {LONGEST_KEY})", key.len());
        return Err((key, why));
    }
    if !key.starts_with(prefix) {
        return Err((key, format!("does not lie under \"{}\", which was asked for", printable(prefix))));
    }
    match u64::try_from(size) {
        Ok(size) => Ok(Listed { key, size, etag, last_modified }),
        Err(_) => Err((key, format!("size of {size} bytes"))),
    }
}
