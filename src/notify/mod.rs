//! Channels: what is to be said becomes one message per pass and channel; the state of a pass becomes one heartbeat.
//!
//! Maps and sends, and keeps nothing: messages wait in the ledger's outbox, which the conductor moves. Two kinds of channels: those
//! that are told what is new to people (webhook, ntfy, mail), and those that are told how everything stands (Alertmanager, Kubernetes
//! Events, Pushgateway), where a newer message takes the place of one that still waits.

mod alertmanager;
mod channel;
mod events;
mod heartbeat;
mod mail;
mod message;
mod ntfy;
mod pushgateway;
pub mod rbac;
mod retry;
mod said;
mod send;
mod test;
mod text;
mod textfile;
mod webhook;

pub use alertmanager::STANDS_FOR;
pub use channel::{About, Channel, Heartbeat, Mail, Way, undeliverable};
pub use heartbeat::{Signal, ping, signal};
pub use message::{message, metrics};
pub use pushgateway::TEXT_FORMAT;
pub use retry::{GIVE_UP_AFTER, Next, next_attempt};
pub use said::{ObjectRef, Said};
pub use send::{Means, Sent, send, try_out};
pub use test::test_message;
pub use webhook::BODY_BYTES;
