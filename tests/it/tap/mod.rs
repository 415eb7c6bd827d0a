//! Suite `tap`: what was recorded is replayed the same, and nothing secret is in it.

#![allow(clippy::format_collect, reason = "a few bytes as hex")]

mod http;
mod record_replay;
mod round_trip;
mod secrets;
mod tls;
