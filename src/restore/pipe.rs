//! One object of the store as a blocking stream: ranged GETs ahead, in order, bounded by bytes.

use std::io::{self, BufRead, Read};

use bytes::{Buf, Bytes, BytesMut};
use futures::StreamExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::retry::Patience;
use super::trouble::Trouble;
use crate::store::Store;

/// Below this a broken read is not cut into smaller ones, but tried again with patience.
const SMALLEST_PIECE: u64 = 64 * 1024;

/// An object to be read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its key in the bucket.
    pub key: String,
    /// Its size by the listing.
    pub size: u64,
}

/// How it is read.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    /// Bytes of one GET.
    pub part_bytes: u64,
    /// GETs at a time.
    pub parts: usize,
}

/// The reading end, for a blocking thread.
pub struct Pipe {
    parts: mpsc::Receiver<Result<Bytes, ()>>,
    current: Bytes,
}

/// Starts reading. The task ends when all is handed over, when the reader is dropped, or with what went wrong: then the reader
/// gets an error too, never a quiet end.
pub fn open(store: Store, source: Source, ahead: Ahead, patience: Patience) -> (Pipe, JoinHandle<Result<(), Trouble>>) {
    let (give, parts) = mpsc::channel(1);
    let task = tokio::spawn(async move {
        let result = hand_over(&store, &source, ahead, &patience, &give).await;
        if result.is_err() {
            let _ = give.send(Err(())).await;
        }
        result
    });
    (Pipe { parts, current: Bytes::new() }, task)
}

async fn hand_over(
    store: &Store,
    source: &Source,
    ahead: Ahead,
    patience: &Patience,
    give: &mpsc::Sender<Result<Bytes, ()>>,
) -> Result<(), Trouble> {
    let head = patience.read(|| store.head(&source.key)).await?;
    if head.size != source.size {
        return Err(changed(source, &format!("{} bytes by the listing, {} now", source.size, head.size)));
    }
    let step = usize::try_from(ahead.part_bytes.max(1)).unwrap_or(usize::MAX);
    let starts = (0..head.size).step_by(step);
    let etag = head.etag.as_str();
    let mut parts = futures::stream::iter(starts)
        .map(|from| part(store, source, from, ahead.part_bytes.min(head.size.saturating_sub(from)), etag, patience))
        .buffered(ahead.parts.max(1));
    while let Some(bytes) = parts.next().await {
        if give.send(Ok(bytes?)).await.is_err() {
            // The reader has seen enough, or has failed and says so itself.
            return Ok(());
        }
    }
    Ok(())
}

/// One range of the object, as it was when it was looked at first. What breaks off is asked for again in smaller pieces, so that a
/// connection which never lives long still brings the whole.
async fn part(store: &Store, source: &Source, from: u64, length: u64, etag: &str, patience: &Patience) -> Result<Bytes, Trouble> {
    let mut have = BytesMut::new();
    let mut piece = length;
    while (have.len() as u64) < length {
        let at = from.saturating_add(have.len() as u64);
        let want = piece.min(length.saturating_sub(have.len() as u64));
        let small = want <= SMALLEST_PIECE;
        let object = match store.get_range(&source.key, at, want).await {
            Ok(object) => object,
            Err(error) if error.is_passing() && !small && !patience.cancel.is_cancelled() => {
                piece = (want / 2).max(SMALLEST_PIECE);
                continue;
            }
            Err(_) => patience.read(|| store.get_range(&source.key, at, want)).await?,
        };
        if object.etag != etag {
            return Err(changed(source, &format!("etag {etag} at first, {} now", object.etag)));
        }
        if object.bytes.len() as u64 != want {
            return Err(changed(source, &format!("{} bytes came for a range of {want}", object.bytes.len())));
        }
        if want == length {
            return Ok(object.bytes);
        }
        have.extend_from_slice(&object.bytes);
    }
    Ok(have.freeze())
}

fn changed(source: &Source, what: &str) -> Trouble {
    Trouble::could_not(format!("{}: the object changed while it was read: {what}", source.key), "run the drill again")
}

impl BufRead for Pipe {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.current.is_empty() {
            match self.parts.blocking_recv() {
                Some(Ok(bytes)) => self.current = bytes,
                Some(Err(())) => return Err(io::Error::other("the object could not be read to its end")),
                None => break,
            }
        }
        Ok(&self.current)
    }

    fn consume(&mut self, count: usize) {
        self.current.advance(count.min(self.current.len()));
    }
}

impl Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let count = ready.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), ready.get(..count)) {
            to.copy_from_slice(from);
        }
        self.consume(count);
        Ok(count)
    }
}
