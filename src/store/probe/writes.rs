//! The steps of a probe that write, all through the guard, all below one folder.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::sweep::{NAMES, sweep};
use super::{Probe, verdict_of};
use crate::domain::{Explained, Verdict, sha256_hex};
use crate::store::{Guarded, StoreError};
use crate::tap::objects::{ChecksumForm, PutAsk};

/// Parts of equal size but for the last, as R2 demands; 17 MiB in all.
const PARTS: [usize; 3] = [8 << 20, 8 << 20, 1 << 20];
/// Our own checksum, as metadata: no store computes or refuses it.
const SUM: &str = "sha256";

impl Probe<'_> {
    /// Write, read back, and clean up, whatever happened in between.
    pub(super) async fn round_trip(&mut self, folder: &str) {
        let guarded = match self.store.guard().await {
            Ok(guarded) => guarded,
            Err(error) => {
                // Our own refusal says nothing bad about the store: it was not tried.
                let verdict = if matches!(error, StoreError::Guard { .. }) { Verdict::Unknown } else { verdict_of(&error) };
                return self.say("write", verdict, true, error.to_string(), error.hint());
            }
        };
        for note in &guarded.notes {
            self.say("retention", Verdict::Unknown, false, note.clone(), None);
        }
        match sweep(&guarded, self.plan.now).await {
            Ok((0, stayed)) if stayed.is_empty() => {}
            Ok((removed, stayed)) => {
                let verdict = if stayed.is_empty() { Verdict::Proven } else { Verdict::Failed };
                self.say(
                    "sweep",
                    verdict,
                    false,
                    format!("removed {removed} objects of earlier probes, {} stayed", stayed.len()),
                    None,
                );
                self.left_over.extend(stayed);
            }
            Err(error) => self.say_error("sweep", false, &error),
        }
        if self.put_and_get(&guarded, folder).await {
            self.parts(&guarded, folder).await;
            self.conditional(&guarded, folder).await;
            self.learnt.checksum_header = self.checksum(&guarded, folder, ChecksumForm::Header).await;
            self.learnt.checksum_trailer = self.checksum(&guarded, folder, ChecksumForm::Trailer).await;
        }
        self.clean(&guarded, folder).await;
    }

    async fn put_and_get(&mut self, guarded: &Guarded, folder: &str) -> bool {
        let key = format!("{folder}one");
        let body = pattern(1024, 1);
        let ask = PutAsk { key: key.clone(), bytes: body.clone(), metadata: sum_of(&body), ..PutAsk::default() };
        if let Err(error) = guarded.put(ask).await {
            self.say_error("put", true, &error);
            return false;
        }
        self.say("put", Verdict::Proven, true, "1 KiB, without checksum headers", None);
        match self.store.head(&key).await {
            Ok(head) if head.size == 1024 && head.headers.get("x-amz-meta-sha256") == sum_of(&body).get(SUM) => {
                self.say("head", Verdict::Proven, true, "size and metadata came back", None);
            }
            Ok(head) => {
                self.say("head", Verdict::Failed, true, format!("{} bytes, metadata {:?}", head.size, head.headers), None);
            }
            Err(error) => self.say_error("head", true, &error),
        }
        match self.store.get(&key, 4096).await {
            Ok(object) if object.bytes == body => self.say("get", Verdict::Proven, true, "the bytes are equal", None),
            Ok(object) => {
                self.say("get", Verdict::Failed, true, format!("{} other bytes came back for 1024", object.bytes.len()), None);
            }
            Err(error) => self.say_error("get", true, &error),
        }
        true
    }

    async fn parts(&mut self, guarded: &Guarded, folder: &str) {
        let key = format!("{folder}parts");
        let whole = pattern(PARTS.iter().sum(), 7);
        let mut rest = whole.clone();
        let parts: Vec<Bytes> = PARTS.iter().map(|size| rest.split_to(*size)).collect();
        if let Err(error) = guarded.put_parts(&key, &sum_of(&whole), parts).await {
            return self.say_error("multipart", true, &error);
        }
        self.say("multipart", Verdict::Proven, true, "17 MiB in parts of 8, 8 and 1", None);
        // Across the border of two parts, where a wrong order or a lost part shows.
        let (from, len) = ((8_u64 << 20) - 512, 1024);
        let at = usize::try_from(from).unwrap_or_default();
        match self.store.get_range(&key, from, len).await {
            Ok(object) if whole.get(at..at + 1024) == Some(&object.bytes) => {
                self.say("range", Verdict::Proven, true, "1 KiB across two parts is equal", None);
            }
            Ok(_) => self.say("range", Verdict::Failed, true, "a range across two parts gave other bytes", None),
            Err(error) => self.say_error("range", true, &error),
        }
    }

    async fn conditional(&mut self, guarded: &Guarded, folder: &str) {
        let ask = |n| PutAsk { key: format!("{folder}conditional"), bytes: pattern(64, n), if_absent: true, ..PutAsk::default() };
        if let Err(error) = guarded.put(ask(1)).await {
            return self.say_error("conditional-put", false, &error);
        }
        let hint = Some("keep the ledger on a volume (ledger.home), not in this bucket".to_owned());
        match guarded.put(ask(2)).await {
            Err(StoreError::PreconditionFailed { .. }) => {
                self.say("conditional-put", Verdict::Proven, false, "If-None-Match is honoured (412)", None);
            }
            Ok(_) => self.say("conditional-put", Verdict::Failed, false, "If-None-Match is ignored: it overwrites", hint),
            Err(error) => self.say("conditional-put", verdict_of(&error), false, error.to_string(), hint),
        }
    }

    /// Whether the store takes the checksum that SDKs send by default since January 2025, and stores what was sent.
    async fn checksum(&mut self, guarded: &Guarded, folder: &str, form: ChecksumForm) -> Option<bool> {
        let (step, name) = match form {
            ChecksumForm::Header => ("checksum-header", "header"),
            _ => ("checksum-trailer", "trailer"),
        };
        let key = format!("{folder}{name}");
        let body = pattern(2048, 3);
        let ask = PutAsk { key: key.clone(), bytes: body.clone(), checksum: form, ..PutAsk::default() };
        let hint = || Some("other clients must send none: see what follows below".to_owned());
        match guarded.put(ask).await {
            Ok(_) => {}
            Err(error) if verdict_of(&error) == Verdict::Failed => {
                self.say(step, Verdict::Failed, false, format!("refused: {error}"), hint());
                return Some(false);
            }
            Err(error) => {
                self.say_error(step, false, &error);
                return None;
            }
        }
        match self.store.get(&key, 1 << 20).await {
            Ok(object) if object.bytes == body => {
                self.say(step, Verdict::Proven, false, "taken, and the bytes are equal", None);
                Some(true)
            }
            Ok(object) => {
                let seen =
                    format!("taken, but {} bytes were stored for {}: the framing is inside", object.bytes.len(), body.len());
                self.say(step, Verdict::Failed, false, seen, hint());
                Some(false)
            }
            Err(error) => {
                self.say_error(step, false, &error);
                None
            }
        }
    }

    /// Removes all that this probe can have made, also after a write whose answer was lost.
    async fn clean(&mut self, guarded: &Guarded, folder: &str) {
        let mut stayed = Vec::new();
        let mut why = None;
        for name in NAMES {
            let key = format!("{folder}{name}");
            if let Err(error) = guarded.delete(&key).await
                && !matches!(error, StoreError::NoSuchKey { .. })
            {
                why.get_or_insert(error);
            }
            match self.store.head(&key).await {
                Err(StoreError::NoSuchKey { .. }) => {}
                // Without the right to list, a store answers 403 for what is not there: then the delete's own answer counts.
                Err(StoreError::AccessDenied { .. }) if why.is_none() => {}
                _ => stayed.push(key),
            }
        }
        if let Ok((uploads, _)) = self.store.uploads(folder, 100).await {
            for upload in uploads {
                if guarded.abort(&upload.key, &upload.upload_id).await.is_err() {
                    stayed.push(format!("{} (unfinished upload)", upload.key));
                }
            }
        }
        if stayed.is_empty() {
            let versions = if self.learnt.versioned { "; versioning keeps their old versions" } else { "" };
            return self.say("delete", Verdict::Proven, false, format!("all that was made is gone{versions}"), None);
        }
        let reason = why.map_or_else(|| "they are still there".to_owned(), |error| error.to_string());
        let hint = "intended, if this prefix is locked; else remove them by hand and allow s3:DeleteObject below our own prefix";
        let seen = format!("{} objects stay: {reason}", stayed.len());
        self.say("delete", Verdict::Failed, false, seen, Some(hint.to_owned()));
        self.left_over.extend(stayed);
    }
}

/// Bytes that repeat nowhere near a part's border.
fn pattern(len: usize, seed: u32) -> Bytes {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut bytes = Vec::with_capacity(len + 4);
    while bytes.len() < len {
        // xorshift: any fixed sequence would do, a constant one would hide swapped parts.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    Bytes::from(bytes)
}

fn sum_of(body: &Bytes) -> BTreeMap<String, String> {
    BTreeMap::from([(SUM.to_owned(), sha256_hex(body))])
}
