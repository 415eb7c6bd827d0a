//! The third family: checked settings, from which `app` builds its objects.

use std::path::PathBuf;
use std::time::Duration;

use super::channels::NotifySettings;
use crate::domain::{Attention, Isolation};
use crate::providers::objectstore::config::StoreSettings;
use crate::providers::postgres::config::PostgresSettings;

/// Everything that can be used. What could not is in [`super::Loaded`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which site this is; may be empty.
    pub site: String,
    /// Which environment this is; may be empty.
    pub environment: String,
    /// Holds `ledger.sqlite` and `drills/`.
    pub state_folder: PathBuf,
    /// Stores, by name.
    pub stores: Vec<StoreSettings>,
    /// Databases, by name; the store of each is in `stores`.
    pub postgres: Vec<PostgresSettings>,
    /// How drills are run here.
    pub drill: DrillSettings,
    /// Who is told.
    pub notify: NotifySettings,
    /// How long a pass may take.
    pub pass: PassSettings,
    /// What people decided about alerts.
    pub attention: Attention,
}

/// How drills are run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrillSettings {
    /// Sandboxes are made below it.
    pub folder: PathBuf,
    /// The user PostgreSQL is started as when we are root.
    pub user: Option<String>,
    /// Folders with PostgreSQL's binaries, tried first, in this order.
    pub postgres: Vec<PathBuf>,
    /// The least isolation that a drill must show.
    pub isolation: Isolation,
}

/// How long a pass may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassSettings {
    /// The whole of it.
    pub deadline: Duration,
    /// One provider.
    pub provider_deadline: Duration,
}
