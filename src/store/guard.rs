//! The one function through which everything that we write to a store goes.
//!
//! It refuses: outside our own prefix; where another tool owns the root that our prefix lies in (Velero's backup location turns
//! invalid by one foreign folder, barman's and pgBackRest's folders are theirs); and where a default retention would hold what we
//! write, because nobody could clean it up.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::error::At;
use super::open::Class;
use super::{Store, StoreError};
use crate::domain::{Prefix, Setting};
use crate::tap::objects::PutAsk;

/// Who owns a folder, told by what lies directly in it.
struct Layout {
    tool: &'static str,
    /// All of these folders must be there …
    all: &'static [&'static str],
    /// … and at least one of these (when there are any).
    any: &'static [&'static str],
}

/// Layouts of tools that own the folder they write to.
const LAYOUTS: &[Layout] = &[
    // https://velero.io/docs/main/api-types/backupstoragelocation/ (unknown top-level folders make it unavailable)
    Layout { tool: "Velero", all: &["backups"], any: &["kopia", "restic", "restores", "metadata", "plugins"] },
    Layout { tool: "Velero", all: &["kopia"], any: &["restores", "restic", "metadata", "plugins"] },
    // https://docs.pgbarman.org: <server>/base and <server>/wals
    Layout { tool: "barman", all: &["wals"], any: &[] },
    Layout { tool: "pgBackRest", all: &["archive", "backup"], any: &[] },
    Layout { tool: "WAL-G", all: &["basebackups_005"], any: &[] },
    Layout { tool: "restic", all: &["data", "keys", "snapshots"], any: &[] },
];

/// Objects that give an owner away when they lie directly in a folder.
const MARKS: &[(&str, &str)] = &[("kopia.repository", "kopia"), ("kopia.repository.f", "kopia")];

/// Proof that the guard looked; the only thing that can write.
#[derive(Clone, Debug)]
pub struct Guarded {
    store: Store,
    own: Prefix,
    /// What could not be looked at before writing, in words.
    pub notes: Vec<String>,
}

impl Store {
    /// Looks whether we may write under our own prefix, and hands out the means to.
    pub async fn guard(&self) -> Result<Guarded, StoreError> {
        let at = self.at("write", "");
        let Some(own) = self.identity().own_prefix.clone() else {
            return Err(refused(
                &at,
                "",
                "no place of our own is configured",
                format!("add `own: {{…, prefix: dalsegno/}}` to store {}", self.id()),
            ));
        };
        if own.is_root() {
            return Err(refused(
                &at,
                "",
                "our own prefix is the whole bucket",
                "give `own.prefix` a folder, for example dalsegno/".to_owned(),
            ));
        }
        for level in levels(&own) {
            if let Some(tool) = self.owner_of(&level).await? {
                let place = if level.is_root() { "the bucket's root".to_owned() } else { format!("\"{level}\"") };
                return Err(refused(
                    &at,
                    own.as_str(),
                    &format!("{place} belongs to {tool}"),
                    "choose a prefix outside of it, or a bucket of its own for dalsegno".to_owned(),
                ));
            }
        }
        let mut notes = Vec::new();
        match self.object_lock().await? {
            Setting::Set(Some((mode, days))) => {
                return Err(refused(
                    &at,
                    own.as_str(),
                    &format!("the bucket holds every new object for {days} days ({mode}); what we write could not be removed"),
                    "use a bucket without a default retention for dalsegno's own data".to_owned(),
                ));
            }
            Setting::Denied => notes.push("whether a default retention holds could not be asked (access denied)".to_owned()),
            Setting::NotAsked => notes.push("whether a default retention holds was not asked".to_owned()),
            Setting::Set(None) | Setting::Absent | Setting::NotImplemented => {}
        }
        Ok(Guarded { store: self.clone(), own, notes })
    }

    /// Which tool owns the folder, told by what lies directly in it.
    pub async fn owner_of(&self, level: &Prefix) -> Result<Option<&'static str>, StoreError> {
        let (folders, objects) = self.list_level(level.as_str(), 1000).await?;
        let names: Vec<&str> = folders.iter().filter_map(|folder| name_in(folder, level)).collect();
        let has = |name: &&str| names.contains(name);
        for layout in LAYOUTS {
            if layout.all.iter().all(has) && (layout.any.is_empty() || layout.any.iter().any(has)) {
                return Ok(Some(layout.tool));
            }
        }
        for object in &objects {
            let name = object.key.strip_prefix(level.as_str()).unwrap_or_default();
            if let Some((_, tool)) = MARKS.iter().find(|(mark, _)| *mark == name) {
                return Ok(Some(tool));
            }
        }
        // A young Velero has nothing but backups/<name>/velero-backup.json.
        if has(&"backups") && self.looks_like_velero(&level.child("backups")).await? {
            return Ok(Some("Velero"));
        }
        Ok(None)
    }

    async fn looks_like_velero(&self, backups: &Prefix) -> Result<bool, StoreError> {
        let mut seen = 0_u32;
        let mut found = false;
        self.list(backups.as_str(), None, &mut |object| {
            seen += 1;
            found = object.key.ends_with("/velero-backup.json");
            if found || seen >= 1000 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        })
        .await?;
        Ok(found)
    }
}

fn name_in<'a>(folder: &'a str, level: &Prefix) -> Option<&'a str> {
    Some(folder.strip_prefix(level.as_str())?.trim_end_matches('/'))
}

/// The bucket's root, every folder above the prefix, and the prefix itself.
fn levels(own: &Prefix) -> Vec<Prefix> {
    let mut levels = vec![Prefix::new("")];
    let mut level = Prefix::new("");
    for part in own.as_str().trim_end_matches('/').split('/') {
        level = level.child(part);
        levels.push(level.clone());
    }
    levels
}

fn refused(at: &At, key: &str, why: &str, hint: String) -> StoreError {
    StoreError::Guard { at: Box::new(At { key: key.to_owned(), detail: why.to_owned(), ..at.clone() }), hint }
}

impl Guarded {
    /// Our own prefix.
    pub const fn own(&self) -> &Prefix {
        &self.own
    }

    /// The store.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Every write asks here, with the whole key.
    fn permit(&self, verb: &'static str, key: &str) -> Result<At, StoreError> {
        let at = self.store.at(verb, key);
        let inside = key.strip_prefix(self.own.as_str());
        let clean = inside
            .is_some_and(|rest| !rest.is_empty() && rest.split('/').all(|part| !part.is_empty() && part != "." && part != ".."));
        if clean {
            return Ok(at);
        }
        Err(refused(
            &at,
            key,
            &format!("the key does not lie under our own prefix \"{}\"", self.own),
            "this is a bug of dalsegno: please report it".to_owned(),
        ))
    }

    /// Writes an object; answers its ETag.
    pub async fn put(&self, ask: PutAsk) -> Result<String, StoreError> {
        let at = self.permit("PutObject", &ask.key)?;
        let len = ask.bytes.len() as u64;
        let answer = self.store.inner.calls.put(&ask).await;
        self.store.count_bytes_out(len);
        self.store.counted(answer, Class::A, &at)
    }

    /// Writes a few bytes under a key, without conditions.
    pub async fn put_bytes(&self, key: &str, bytes: Bytes) -> Result<String, StoreError> {
        self.put(PutAsk { key: key.to_owned(), bytes, ..PutAsk::default() }).await
    }

    /// Removes an object of ours.
    pub async fn delete(&self, key: &str) -> Result<(), StoreError> {
        let at = self.permit("DeleteObject", key)?;
        self.store.counted(self.store.inner.calls.delete(key).await, Class::Free, &at)
    }

    /// Writes an object in equal parts (the last may be smaller), as R2 demands. Aborts the upload when a part fails.
    pub async fn put_parts(&self, key: &str, meta: &BTreeMap<String, String>, parts: Vec<Bytes>) -> Result<String, StoreError> {
        let at = self.permit("CreateMultipartUpload", key)?;
        let upload = self.store.counted(self.store.inner.calls.create_upload(key, meta).await, Class::A, &at)?;
        match self.fill(key, &upload, parts).await {
            Ok(etag) => Ok(etag),
            Err(error) => {
                // The first error is what matters; an upload that stays is found and aborted later.
                let _ = self.abort(key, &upload).await;
                Err(error)
            }
        }
    }

    async fn fill(&self, key: &str, upload: &str, parts: Vec<Bytes>) -> Result<String, StoreError> {
        let at = self.permit("UploadPart", key)?;
        let mut tags = Vec::with_capacity(parts.len());
        for (number, bytes) in (1_i32..).zip(parts) {
            self.store.count_bytes_out(bytes.len() as u64);
            let answer = self.store.inner.calls.upload_part(key, upload, number, bytes).await;
            tags.push((number, self.store.counted(answer, Class::A, &at)?));
        }
        let at = self.permit("CompleteMultipartUpload", key)?;
        let answer = self.store.inner.calls.complete_upload(key, upload, &tags).await;
        self.store.counted(answer, Class::A, &at)
    }

    /// Aborts an unfinished upload of ours.
    pub async fn abort(&self, key: &str, upload_id: &str) -> Result<(), StoreError> {
        let at = self.permit("AbortMultipartUpload", key)?;
        self.store.counted(self.store.inner.calls.abort_upload(key, upload_id).await, Class::Free, &at)
    }
}
