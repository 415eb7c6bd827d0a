//! What a store is built from. A plain struct: `app` maps the settings to it, `probe` fills it from flags.

use std::time::Duration;

use super::endpoint::{default_region, dialect_of};
use crate::domain::{Dialect, Prefix, Secret, StoreId};

/// Which store it is: all of it that is no secret. Enough to replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreIdentity {
    /// Its name in the configuration.
    pub id: StoreId,
    /// Scheme, host and port.
    pub endpoint: String,
    /// The bucket.
    pub bucket: String,
    /// The region to sign with.
    pub region: String,
    /// Which family it belongs to.
    pub dialect: Dialect,
    /// Where we may write; `None` = nowhere.
    pub own_prefix: Option<Prefix>,
}

/// A store to be opened. One pair of keys: reading and own credentials make two stores.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// Its name in the configuration.
    pub id: StoreId,
    /// Scheme, host and port; no path, no bucket.
    pub endpoint: String,
    /// The bucket.
    pub bucket: String,
    /// The region to sign with.
    pub region: String,
    /// Which family it belongs to.
    pub dialect: Dialect,
    /// Authorities in PEM, beside the system's.
    pub ca_pem: Option<Vec<u8>>,
    /// Access key id.
    pub access_key_id: Secret,
    /// Secret access key.
    pub secret_access_key: Secret,
    /// Session token of temporary keys.
    pub session_token: Option<Secret>,
    /// Where we may write; `None` = nowhere.
    pub own_prefix: Option<Prefix>,
    /// Time to connect.
    pub connect_timeout: Duration,
    /// Time to the first byte of an answer.
    pub read_timeout: Duration,
    /// How many times a request is tried, the first included.
    pub attempts: u32,
}

impl StoreConfig {
    /// A configuration with the usual times, which reads only.
    pub fn new(
        id: StoreId,
        endpoint: impl Into<String>,
        bucket: impl Into<String>,
        access_key_id: Secret,
        secret_access_key: Secret,
    ) -> Self {
        let endpoint = endpoint.into();
        let dialect = dialect_of(&endpoint);
        Self {
            id,
            region: default_region(dialect, &endpoint),
            dialect,
            endpoint,
            bucket: bucket.into(),
            ca_pem: None,
            access_key_id,
            secret_access_key,
            session_token: None,
            own_prefix: None,
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(30),
            attempts: 5,
        }
    }

    /// All of it that is no secret.
    pub fn identity(&self) -> StoreIdentity {
        StoreIdentity {
            id: self.id.clone(),
            endpoint: self.endpoint.clone(),
            bucket: self.bucket.clone(),
            region: self.region.clone(),
            dialect: self.dialect,
            own_prefix: self.own_prefix.clone(),
        }
    }
}
