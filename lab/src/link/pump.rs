//! One direction of a connection: bytes are read as they come, and written when they are due.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Mode, Shape, State};

/// Chunks in flight: with 64 KiB each, 16 MiB, more than rate times delay of the links we model.
const IN_FLIGHT: usize = 256;
const CHUNK: usize = 64 * 1024;

/// How a direction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The sender closed, or one side is gone.
    Closed,
    /// The link was told to cut it.
    Cut,
}

/// Carries one direction until it ends; `cut` resets after that many bytes.
pub(super) async fn pump(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    shape: Shape,
    cut: Option<u64>,
    state: Arc<Mutex<State>>,
) -> End {
    let (sender, receiver) = mpsc::channel(IN_FLIGHT);
    // The writer decides the end: it drains what the reader left, or cuts while the reader waits.
    let reader = async {
        read(from, sender, shape).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        end = write(to, receiver, cut, state) => end,
        () = reader => End::Closed,
    }
}

async fn read(from: &mut OwnedReadHalf, sender: mpsc::Sender<(Instant, Bytes)>, shape: Shape) {
    let mut free_at = Instant::now();
    loop {
        let mut buffer = BytesMut::with_capacity(CHUNK);
        match from.read_buf(&mut buffer).await {
            Ok(n) if n > 0 => {
                let now = Instant::now();
                if let Some(rate) = shape.bytes_per_second {
                    let took = Duration::from_secs_f64(n as f64 / rate.max(1) as f64);
                    free_at = free_at.max(now) + took;
                } else {
                    free_at = now;
                }
                if sender.send((free_at + shape.one_way, buffer.freeze())).await.is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

async fn write(
    to: &mut OwnedWriteHalf,
    mut receiver: mpsc::Receiver<(Instant, Bytes)>,
    cut: Option<u64>,
    state: Arc<Mutex<State>>,
) -> End {
    let mut left = cut;
    while let Some((due, mut bytes)) = receiver.recv().await {
        if due > Instant::now() {
            tokio::time::sleep_until(due).await;
        }
        let mode = state.lock().unwrap_or_else(PoisonError::into_inner).mode;
        match mode {
            Mode::Refuse => return End::Cut,
            Mode::Hang => std::future::pending().await,
            _ => {}
        }
        if let Some(left) = &mut left {
            let allowed = usize::try_from(*left).unwrap_or(usize::MAX);
            if bytes.len() > allowed {
                bytes.truncate(allowed);
                let _ = to.write_all(&bytes).await;
                let _ = to.flush().await;
                return End::Cut;
            }
            *left -= bytes.len() as u64;
        }
        if to.write_all(&bytes).await.is_err() {
            return End::Closed;
        }
    }
    let _ = to.shutdown().await;
    End::Closed
}
