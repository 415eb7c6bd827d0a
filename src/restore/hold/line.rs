//! What goes over the two pipes: one JSON object a line, no secrets.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What we ask of the keeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub enum Order {
    /// Start the postmaster.
    Start(StartOrder),
    /// Stop it; the sandbox stays.
    Stop,
    /// Stop it, remove the sandbox, end.
    Remove,
}

/// How the postmaster is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartOrder {
    /// The program.
    pub postgres: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// User and group to become, when we are root.
    pub user: Option<(u32, u32)>,
    /// Whether to leave the network; when that is not possible it is started nevertheless, and isolation is read from outside.
    pub seal: bool,
    /// Whether to keep it inside of the sandbox; when the kernel cannot, the same holds.
    pub fence: bool,
}

/// What the keeper says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "said", rename_all = "kebab-case")]
pub enum Said {
    /// It holds the sandbox.
    Holding {
        /// Its process.
        pid: i32,
    },
    /// The postmaster was started.
    Started {
        /// Its process.
        pid: i32,
    },
    /// The postmaster ended, asked or not.
    Ended {
        /// Whether it ran at all when it was asked to stop.
        ran: bool,
        /// Its exit status in words.
        status: String,
        /// The signal that ended it, if one did.
        signal: Option<i32>,
    },
    /// The sandbox is gone.
    Removed,
    /// Something was not possible.
    Failed {
        /// Why.
        why: String,
    },
}
