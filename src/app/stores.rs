//! Settings of a store → an open store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::providers::objectstore::config::{Keys, StoreSettings};
use crate::store::{Store, StoreConfig, StoreError};
use crate::tap::TlsCalls;
use crate::tap::tls::LiveTls;

/// How long the TLS look may take.
const TLS_LIMIT: Duration = Duration::from_secs(10);

/// Opens a store with its reading key. Makes no request.
pub(super) fn open(settings: &StoreSettings) -> Result<Store, StoreError> {
    Store::open(config(settings, &settings.read)?)
}

/// Opens a store with its own key, for the prefix that is ours. `None` when the configuration names none.
pub(super) fn open_own(settings: &StoreSettings) -> Option<Result<Store, StoreError>> {
    let own = settings.own.as_ref()?;
    Some(config(settings, &own.keys).and_then(|config| {
        let config = StoreConfig { own_prefix: Some(own.prefix.clone()), ..config };
        Store::open(config)
    }))
}

pub(super) fn config(settings: &StoreSettings, keys: &Keys) -> Result<StoreConfig, StoreError> {
    let mut config = without_authority(settings, keys);
    config.ca_pem = match &settings.ca_file {
        Some(file) => Some(read_ca(file).map_err(|detail| Store::unopened(&config.identity(), detail))?),
        None => None,
    };
    Ok(config)
}

/// The same, with nothing read from a file: a recording is judged where the authority's file is not.
pub(super) fn without_authority(settings: &StoreSettings, keys: &Keys) -> StoreConfig {
    let mut config = StoreConfig::new(
        settings.id.clone(),
        settings.endpoint.clone(),
        settings.bucket.clone(),
        keys.access_key_id.clone(),
        keys.secret_access_key.clone(),
    );
    config.session_token.clone_from(&keys.session_token);
    config.region.clone_from(&settings.region);
    config.dialect = settings.dialect;
    config
}

fn read_ca(file: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|error| format!("cannot read the authority {}: {error}", file.display()))
}

/// How the certificate of a store's endpoint is looked at.
pub(super) fn tls(settings: &StoreSettings) -> Option<Arc<dyn TlsCalls>> {
    live_tls(settings.ca_file.as_deref())
}

/// The live look, with the authorities of a file beside the system's.
pub(super) fn live_tls(ca_file: Option<&Path>) -> Option<Arc<dyn TlsCalls>> {
    let live = match ca_file {
        // A file that cannot be read or parsed was told by `open` already.
        Some(file) => LiveTls::with_ca(&file.display().to_string(), &std::fs::read(file).ok()?, TLS_LIMIT).ok()?,
        None => LiveTls::system(TLS_LIMIT),
    };
    Some(Arc::new(live))
}
