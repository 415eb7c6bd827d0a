//! A message on its way to a channel: made by the room notify, kept by the ledger until it is delivered.

use serde::{Deserialize, Serialize};

/// A message for one channel. Carries no address: the URL of a channel is a secret and stays in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The channel's name in the configuration.
    pub channel: String,
    /// The same for every attempt, so that a receiver can drop a second one.
    pub key: String,
    /// The body, as it is sent; an address that is a secret is added at sending.
    pub body: String,
    /// It says how everything stands: an older one of the channel that still waits is not sent any more.
    #[serde(default)]
    pub replaces: bool,
}
