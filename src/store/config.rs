//! What a store is built from. A plain struct: `app` maps the settings to it, `probe` fills it from flags.

use std::time::Duration;

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
            region: default_region(dialect).to_owned(),
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

/// The family that an endpoint's host name gives away.
pub fn dialect_of(endpoint: &str) -> Dialect {
    let host = endpoint_host(endpoint).map(|(host, _)| host).unwrap_or_default();
    if host.ends_with(".r2.cloudflarestorage.com") {
        Dialect::R2
    } else if host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn") {
        Dialect::Aws
    } else {
        Dialect::Other
    }
}

/// What the configuration says, else what the `Server` header gives away.
pub fn dialect_shown(configured: Dialect, server: Option<&str>) -> Dialect {
    if configured != Dialect::Other {
        return configured;
    }
    let server = server.unwrap_or_default().to_ascii_lowercase();
    let known = [
        ("minio", Dialect::Minio),
        ("seaweedfs", Dialect::Seaweedfs),
        ("amazons3", Dialect::Aws),
        ("garage", Dialect::Garage),
        ("ceph", Dialect::Ceph),
    ];
    known.into_iter().find(|(word, _)| server.contains(word)).map_or(Dialect::Other, |(_, dialect)| dialect)
}

/// The region to sign with when the configuration names none.
pub const fn default_region(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::R2 => "auto",
        Dialect::Garage => "garage",
        _ => "us-east-1",
    }
}

/// Host and port of an endpoint; the port of the scheme when it names none.
pub fn endpoint_host(endpoint: &str) -> Option<(String, u16)> {
    let (scheme, rest) = endpoint.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit('@').next()?;
    let default = if scheme.eq_ignore_ascii_case("http") { 80 } else { 443 };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (authority, default),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| (host.to_ascii_lowercase(), port))
}
