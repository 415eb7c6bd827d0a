//! The only place that turns settings into objects.
//!
//! A command asks [`App`] for what it works with; nothing else reads the configuration. This is also the edge where the clock and
//! the environment are read.

mod audits;
mod channels;
mod clusters;
mod drills;
mod error;
mod home;
mod init_cluster;
mod looks;
mod manifests;
mod metrics;
mod probes;
mod recordings;
pub mod rights;
mod stores;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use crate::config;
pub use drills::{Actors, Drills};
pub use error::AppError;
pub use home::{Address, Ask, Book, HomeError, Kept, Person, Rewound, SNAPSHOTS_KEPT, Source, from_bucket};
pub use init_cluster::{ClusterNamed, InitClusterError, configuration_from_cluster, configuration_of};
pub use manifests::{MANIFESTS_SITE, Manifests, look_at_manifests};
pub use probes::{NamedStore, ProbeConsequence, ProbeError, ProbeReport, ProbeStep, probe_named};
pub use recordings::{Making, replay, replayed_catalogues};

use crate::conductor::Budget;
use crate::config::{Loaded, Settings};
use crate::domain::{Expected, StoreId};
/// What the command line shows of the ledger.
pub use crate::ledger::{
    ChangeInRun, HistoryFilter, KeptAck, Ledger, LedgerError, RunKind, RunLine, RunState, ShownFinding, ShownRun, Verified,
};
use crate::store::Store;

/// What runbooks may call.
pub fn verbs() -> Vec<crate::domain::VerbSpec> {
    crate::restore::VERBS.iter().chain(&crate::restore::cnpg::VERBS).copied().collect()
}

/// Settings, and what was opened from them.
pub struct App {
    loaded: Loaded,
    stores: BTreeMap<StoreId, Result<Store, crate::store::StoreError>>,
    kubes: clusters::Kubes,
    seam: recordings::Seam,
}

impl App {
    /// Reads the configuration as a pass does: placeholders and missing secrets cost the parts they stand in.
    pub fn load(named: &[PathBuf]) -> Result<Self, config::ConfigErrors> {
        Self::load_with(&config::sources(named)?, &environment())
    }

    /// The same, from these files and this environment.
    pub fn load_with(sources: &[PathBuf], env: &BTreeMap<String, String>) -> Result<Self, config::ConfigErrors> {
        let loaded = config::load(sources, env)?;
        install_tls();
        let stores = loaded.settings.stores.iter().map(|store| (store.id.clone(), stores::open(store))).collect();
        let kubes = clusters::live(&loaded.settings);
        Ok(Self { loaded, stores, kubes, seam: recordings::Seam::Live })
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.loaded.settings
    }

    /// What `config check` would refuse or warn of, for people to be told.
    pub fn warnings(&self) -> &[config::Mistake] {
        &self.loaded.warnings
    }

    /// The folder of drills: journals and evidence, a folder per run.
    pub fn drills_folder(&self) -> PathBuf {
        self.settings().state_folder.join("drills")
    }

    /// Whether there is a ledger: to look must not make one. In a bucket there always may be one.
    pub fn has_ledger(&self) -> bool {
        self.settings().ledger != config::LedgerSettings::Volume
            || self.settings().state_folder.join(crate::ledger::FILE).exists()
    }

    /// A store that was opened with its reading key.
    fn store(&self, id: &StoreId) -> Option<&Result<Store, crate::store::StoreError>> {
        self.stores.get(id)
    }

    /// What should be known, and how good it must be. Coverage is added by whoever looks, from the observers.
    pub fn expected(&self) -> Expected {
        let settings = self.settings();
        Expected {
            covers: Vec::new(),
            policies: settings.postgres.iter().map(|of| (of.subject.clone(), of.policy)).collect(),
            placeholders: self.loaded.placeholders.clone(),
            rests_on: self.loaded.rests_on.clone(),
            isolation: Some(settings.drill.isolation),
            attention: settings.attention.clone(),
        }
    }

    /// What stores may cost a day.
    pub fn budgets(&self) -> Vec<Budget> {
        let budget = |store: &crate::providers::objectstore::config::StoreSettings| {
            let per_day = store.requests_per_day?;
            Some(Budget { store: store.id.clone(), subject: store.subject.clone(), per_day })
        };
        self.settings().stores.iter().filter_map(budget).collect()
    }

    /// Time for a whole pass, and for one provider in it.
    pub fn limits(&self) -> (Duration, Duration) {
        (self.settings().pass.deadline, self.settings().pass.provider_deadline)
    }
}

/// The environment, as a map: variables that are not UTF-8 cannot be meant for us.
pub fn environment() -> BTreeMap<String, String> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
}

/// Makes ring the one TLS provider of the process. Twice is once.
pub fn install_tls() {
    // The error says that one is installed already, which is what we want.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
