//! The seam to the outside: live, recording and replaying forms of each kind of call.
//!
//! | seam | trait | live form | recorded as |
//! |---|---|---|---|
//! | object stores | [`ObjectCalls`] | `store::s3` (the only user of the S3 client) | `NNN/store/<store>@<key ref>/` |
//! | HTTP | [`HttpCalls`] | [`http::LiveHttp`] (reqwest) | `NNN/http/<provider>/NNN.json` |
//! | Kubernetes | [`KubeCalls`], [`KubeActs`] | `kube_live` (the only user of the kube client) | `NNN/kube/<context>/` |
//! | TLS | [`TlsCalls`] | [`tls::LiveTls`] | `NNN/tls/<host>_<port>.json` |
//!
//! A provider takes the trait object, so it is replayed without knowing. All forms fail with the same [`CallError`].

pub mod failure;
pub mod format;
pub mod http;
pub mod keep;
pub mod kube;
pub mod kube_files;
pub mod kube_live;
mod kube_record;
mod kube_replay;
mod kube_texts;
pub mod objects;
pub mod record;
mod record_http;
mod record_store;
pub mod replay;
mod replay_store;
pub mod tls;

pub use self::kube::{
    KeepKube, KubeAbout, KubeActs, KubeAsk, KubeCalls, KubeCounts, KubeDelete, KubePage, KubeStream, Resource, list_whole,
};
pub use failure::{Broken, CallError, FailureKind};
pub use format::RecordingError;
pub use http::{HttpAnswer, HttpCalls, HttpRequest};
pub use keep::{Keep, KeepNothing, Kept};
pub use objects::{Answer, ObjectBody, ObjectCalls, Seen};
pub use record::{PassRecorder, Recorder};
pub use replay::{PassReplay, Recording};
pub use tls::{ChainSeen, TlsCalls};
