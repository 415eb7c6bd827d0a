//! The seam to the outside: live, recording and replaying forms of each kind of call.
//!
//! | seam | trait | live form | recorded as |
//! |---|---|---|---|
//! | object stores | [`ObjectCalls`] | `store::s3` (the only user of the S3 client) | `NNN/store/<store>@<key ref>/` |
//! | HTTP | [`HttpCalls`] | [`http::LiveHttp`] (reqwest) | `NNN/http/<provider>/NNN.json` |
//! | TLS | [`TlsCalls`] | [`tls::LiveTls`] | `NNN/tls/<host>_<port>.json` |
//!
//! A provider takes the trait object, so it is replayed without knowing. All forms fail with the same [`CallError`].

pub mod failure;
pub mod http;
pub mod objects;
pub mod tls;

pub use failure::{CallError, FailureKind};
pub use http::{HttpAnswer, HttpCalls, HttpRequest};
pub use objects::{Answer, ObjectBody, ObjectCalls, Seen};
pub use tls::{ChainSeen, TlsCalls};
