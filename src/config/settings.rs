//! The third family: checked settings, from which `app` builds its objects.

use std::path::PathBuf;
use std::time::Duration;

use super::channels::NotifySettings;
use crate::domain::{Attention, Isolation, Mode, Prefix, StoreId};
use crate::providers::cnpg::config::CnpgSettings;
use crate::providers::objectstore::config::StoreSettings;
use crate::providers::postgres::config::PostgresSettings;
use crate::providers::prometheus::config::PrometheusSettings;

/// Everything that can be used. What could not is in [`super::Loaded`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which site this is; may be empty.
    pub site: String,
    /// Which environment this is; may be empty.
    pub environment: String,
    /// Holds `ledger.sqlite` and `drills/`.
    pub state_folder: PathBuf,
    /// Where the ledger is at home.
    pub ledger: LedgerSettings,
    /// Stores, by name.
    pub stores: Vec<StoreSettings>,
    /// Databases, by name; the store of each is in `stores`.
    pub postgres: Vec<PostgresSettings>,
    /// Servers of metrics, by name.
    pub prometheus: Vec<PrometheusSettings>,
    /// CNPG, by Kubernetes cluster.
    pub cnpg: Vec<CnpgSettings>,
    /// How drills are run here.
    pub drill: DrillSettings,
    /// Who is told.
    pub notify: NotifySettings,
    /// How long a pass may take.
    pub pass: PassSettings,
    /// What people decided about alerts.
    pub attention: Attention,
}

/// Where the ledger is at home between passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerSettings {
    /// In the state folder.
    Volume,
    /// In a store.
    Bucket {
        /// Which one. It may be missing among the stores, when it cannot be used.
        store: StoreId,
        /// Our prefix there. It is known also where the key to write with is not.
        prefix: Prefix,
    },
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
    /// Who makes it; `None` = whoever comes.
    pub mode: Option<Mode>,
}
