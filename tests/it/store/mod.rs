//! Suite `store`: against a real SeaweedFS where one is there, and always against a small server of our own that can misbehave.

#![allow(
    clippy::format_push_string,
    clippy::format_collect,
    clippy::large_futures,
    clippy::large_stack_arrays,
    clippy::disallowed_macros,
    reason = "a small server that is read more often than it runs; skips and measurements are said on stderr"
)]

pub mod bucket;
pub mod mock;
pub mod real;

mod endpoint;
mod errors;
mod guard;
mod hostile;
mod probe;
mod reads;
mod speed;
mod wire_headers;
