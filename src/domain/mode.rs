//! Who makes the passes of a site, and the mark that keeps the other kind away.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Who makes the passes here: jobs that come and go, or one process that stays. Never both: they would take each other's ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// `dalsegno run`, started by a CronJob, a timer, a person.
    Cronjob,
    /// `dalsegno daemon`.
    Daemon,
}

impl Mode {
    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cronjob => "cronjob",
            Self::Daemon => "daemon",
        }
    }
}

/// Who wrote a ledger last, and until when the other kind must keep away. It ends by itself, so that nobody has to release it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The kind.
    pub mode: Mode,
    /// The host (in a cluster: the pod).
    pub host: String,
    /// Until then another kind refuses to start.
    pub until: Timestamp,
}

impl Holder {
    /// Whether this mark keeps `mode` away at `now`.
    pub fn keeps_away(&self, mode: Mode, now: Timestamp) -> bool {
        self.mode != mode && now < self.until
    }
}
