//! Suite `tap`: what was recorded is replayed the same, and nothing secret is in it.

mod http;
mod record_replay;
mod secrets;
mod tls;
