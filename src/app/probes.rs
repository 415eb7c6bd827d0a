//! Probing a store: a configured one with its own key, or one that is only named on the command line.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{App, AppError, stores};
use crate::domain::{Dialect, Exit, ExitCode, Explained, Prefix, Secret, StoreId};
use crate::store::probe::Plan;
pub use crate::store::probe::{Consequence as ProbeConsequence, Report as ProbeReport, Step as ProbeStep};
use crate::store::{Store, StoreConfig, StoreError};

/// Where the keys of a store that is not configured come from. Never from argv, which every process of a machine can read.
const KEY_ID: &str = "DALSEGNO_ACCESS_KEY_ID";
const KEY_SECRET: &str = "DALSEGNO_SECRET_ACCESS_KEY";
const KEY_TOKEN: &str = "DALSEGNO_SESSION_TOKEN";

/// A store that is not configured.
#[derive(Clone, Debug)]
pub struct NamedStore {
    /// Scheme, host and port.
    pub endpoint: String,
    /// Its bucket.
    pub bucket: String,
    /// The prefix to write below.
    pub prefix: String,
    /// The region to sign with; the dialect's own when missing.
    pub region: Option<String>,
    /// Its family; by host name when missing.
    pub dialect: Option<Dialect>,
    /// Authorities in PEM.
    pub ca: Option<PathBuf>,
}

/// Why there is nothing to probe.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A key is missing in the environment.
    #[error("{0} is not set")]
    NoKey(&'static str),
    /// The file of authorities cannot be read.
    #[error("cannot read the authority {}", .0.display())]
    Ca(PathBuf, #[source] std::io::Error),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Explained for ProbeError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoKey(_) => "probe-key-missing",
            Self::Ca(..) => "probe-authority-unreadable",
            Self::Store(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoKey(_) => format!("export {KEY_ID}=… {KEY_SECRET}=…  (never as an argument: other users could read it)"),
            Self::Ca(path, _) => format!("ls -l {}", path.display()),
            Self::Store(error) => return error.hint(),
        })
    }

    fn exit(&self) -> Exit {
        ExitCode::Usage
    }
}

impl App {
    /// Probes a configured store: with its own key where it has one; else nothing is written, and the reading key looks.
    pub async fn probe(&self, name: &str, read_only: bool, now: Timestamp) -> Result<ProbeReport, AppError> {
        let all = &self.settings().stores;
        let settings = all.iter().find(|store| store.id.0 == name).ok_or_else(|| {
            let known: Vec<String> = all.iter().map(|store| store.id.0.clone()).collect();
            AppError::not_configured("store", name, &known)
        })?;
        let own = stores::open_own(settings).filter(|_| !read_only);
        // Without a key and a prefix of its own nothing is written, and the probe says what is missing for that.
        let store = own.unwrap_or_else(|| stores::open(settings))?;
        Ok(store.probe(&Plan::new(now, stores::tls(settings), read_only)).await)
    }
}

/// Probes a store without any configuration, with keys of the environment.
pub async fn probe_named(named: &NamedStore, read_only: bool, now: Timestamp) -> Result<ProbeReport, ProbeError> {
    super::install_tls();
    let environment = super::environment();
    let key = |name: &'static str| {
        let value = environment.get(name).filter(|value| !value.is_empty());
        value.map(|value| Secret::new(value.clone())).ok_or(ProbeError::NoKey(name))
    };
    let mut config = StoreConfig::new(
        StoreId("probed".to_owned()),
        named.endpoint.clone(),
        named.bucket.clone(),
        key(KEY_ID)?,
        key(KEY_SECRET)?,
    );
    config.session_token = key(KEY_TOKEN).ok();
    config.own_prefix = Some(Prefix::new(&named.prefix));
    if let Some(dialect) = named.dialect {
        config.dialect = dialect;
        config.region = crate::store::default_region(dialect, &config.endpoint);
    }
    if let Some(region) = &named.region {
        config.region.clone_from(region);
    }
    config.ca_pem = named.ca.as_deref().map(read).transpose()?;
    // A probe is watched by a person: two more tries are enough.
    config.attempts = 3;
    let tls = stores::live_tls(named.ca.as_deref());
    Ok(Store::open(config)?.probe(&Plan::new(now, tls, read_only)).await)
}

fn read(file: &Path) -> Result<Vec<u8>, ProbeError> {
    std::fs::read(file).map_err(|error| ProbeError::Ca(file.to_owned(), error))
}
