//! Channels: changes of findings become one message per pass and channel; the state of a pass becomes one heartbeat.
//!
//! Maps and sends, and keeps nothing: messages wait in the ledger's outbox, which the conductor moves.
//! The body is one JSON object that Slack, Discord and ntfy all take; docs/guide/notifications.md says what each reads of it.

mod body;
mod channel;
mod heartbeat;
mod retry;
mod send;
mod text;

pub use body::{BODY_BYTES, message};
pub use channel::{About, Channel, Heartbeat, undeliverable};
pub use heartbeat::{Signal, ping, signal};
pub use retry::{GIVE_UP_AFTER, Next, next_attempt};
pub use send::{Sent, send};
