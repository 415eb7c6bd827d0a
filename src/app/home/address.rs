//! Where a machine that has nothing starts from: `s3://BUCKET/PREFIX`, an endpoint, and keys of the environment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::HomeError;
use crate::domain::{Prefix, Secret, StoreId};
use crate::store::{Store, StoreConfig, default_region, dialect_of};

/// Variables that S3 clients read: <https://docs.aws.amazon.com/sdkref/latest/guide/environment-variables.html>.
pub(super) const KEY_ID: &str = "AWS_ACCESS_KEY_ID";
pub(super) const KEY_SECRET: &str = "AWS_SECRET_ACCESS_KEY";
pub(super) const KEY_TOKEN: &str = "AWS_SESSION_TOKEN";
const ENDPOINTS: [&str; 2] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];
const REGIONS: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];

/// A bucket and a prefix in it, and how to get there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The bucket.
    pub bucket: String,
    /// Our prefix.
    pub prefix: Prefix,
    /// Scheme, host and port.
    pub endpoint: String,
    /// The region to sign with.
    pub region: String,
    /// Authorities in PEM, beside the system's.
    pub ca: Option<PathBuf>,
}

impl Address {
    /// Reads `s3://BUCKET/PREFIX`. Without `endpoint` the environment is asked, then it is AWS.
    pub fn parse(
        given: &str,
        endpoint: Option<&str>,
        ca: Option<PathBuf>,
        env: &BTreeMap<String, String>,
    ) -> Result<Self, HomeError> {
        let refuse = |why: &str| HomeError::Address { given: given.to_owned(), why: why.to_owned() };
        let rest = given.strip_prefix("s3://").ok_or_else(|| refuse("it does not begin with s3://"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() || bucket.contains(['@', ':', '?', '#', ' ']) {
            return Err(refuse("it names no bucket"));
        }
        let prefix = Prefix::new(prefix);
        if prefix.is_root() {
            return Err(refuse("it names no prefix, and a ledger never lies in the bucket's root"));
        }
        let set = |names: [&str; 2]| names.iter().find_map(|name| env.get(*name)).filter(|value| !value.is_empty());
        let region = set(REGIONS).cloned();
        let endpoint = match endpoint.or(set(ENDPOINTS).map(String::as_str)) {
            Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
            None => format!("https://s3.{}.amazonaws.com", region.as_deref().unwrap_or("us-east-1")),
        };
        if !["http://", "https://"].iter().any(|scheme| endpoint.starts_with(scheme)) || endpoint.contains('@') {
            return Err(refuse("its endpoint is not http://HOST or https://HOST"));
        }
        let region = region.unwrap_or_else(|| default_region(dialect_of(&endpoint), &endpoint));
        Ok(Self { bucket: bucket.to_owned(), prefix, endpoint, region, ca })
    }

    /// For people: `s3://dr-own/dalsegno/ at https://minio.lan:9000`.
    pub fn shown(&self) -> String {
        format!("s3://{}/{} at {}", self.bucket, self.prefix, self.endpoint)
    }

    /// The store behind it, to read.
    pub(super) fn open(&self, keys: &Keys) -> Result<Store, HomeError> {
        let id = StoreId("the bucket".to_owned());
        let mut config = StoreConfig::new(id, self.endpoint.clone(), self.bucket.clone(), keys.id.clone(), keys.secret.clone());
        config.session_token.clone_from(&keys.token);
        config.region.clone_from(&self.region);
        config.ca_pem = match &self.ca {
            Some(path) => {
                let read = std::fs::read(path);
                Some(read.map_err(|source| HomeError::File { what: "read", path: path.clone(), source })?)
            }
            None => None,
        };
        Ok(Store::open(config)?)
    }
}

/// The keys of the bucket.
pub(super) struct Keys {
    pub(super) id: Secret,
    pub(super) secret: Secret,
    pub(super) token: Option<Secret>,
}
