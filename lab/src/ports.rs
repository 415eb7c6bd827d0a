//! Free loopback ports below the kernel's ephemeral range, so that no client socket takes one
//! between our look and the server's bind.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::LabError;

const FIRST: u32 = 15_000;
const COUNT: u32 = 17_000;
static NEXT: AtomicU32 = AtomicU32::new(0);

/// `n` ports that nobody listens on. Processes start at different places, by their pid.
pub(crate) fn free(n: usize) -> Result<Vec<u16>, LabError> {
    let start = std::process::id().wrapping_mul(617);
    let mut held = Vec::with_capacity(n);
    for _ in 0..COUNT {
        let offset = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let Ok(port) = u16::try_from(FIRST + offset) else { continue };
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            held.push((port, listener));
            if held.len() == n {
                return Ok(held.into_iter().map(|(port, _)| port).collect());
            }
        }
    }
    Err(LabError::Other(format!("no {n} free ports on 127.0.0.1")))
}
