//! The lab proves itself: each server starts and serves, each fault is what it says, nothing stays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test ends by panicking")]

mod cluster;
mod faults;
mod monitoring;
mod operator;
mod servers;
mod volume;
