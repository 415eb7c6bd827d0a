//! The configuration of an object store: fragment (as written) → input (secrets read) → settings (checked).
//!
//! What each dialect wants to be signed with, and the form of its names: AWS
//! <https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html>, R2
//! <https://developers.cloudflare.com/r2/api/s3/api/#bucket-region>.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::{Complaint, Dialect, Immutability, Prefix, Secret, SecretRef, StoreId, Subject, SubjectKind, Weight};
use crate::store::{default_region, dialect_of};

/// Where R2 may keep a bucket. HeadBucket answers them as `x-amz-bucket-region`; none is a region to sign with.
const R2_PLACES: [&str; 6] = ["wnam", "enam", "weur", "eeur", "apac", "oc"];

/// An S3 bucket: where it is and with which keys it is read.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StoreFragment {
    /// Scheme, host and port: `https://minio.lan:9000`. No path, no default.
    pub endpoint: String,
    /// The bucket's name. No default.
    pub bucket: String,
    /// The region to sign with. Default: `auto` for R2, the one in an AWS host name, else `us-east-1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Which family the store belongs to, when the host name does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// A file with CA certificates (PEM) that vouch for the endpoint, beside those of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// The key to look with. It needs list and get, nothing else.
    pub read: KeysFragment,
    /// The key and the prefix to write with: probes and evidence. Without it nothing is ever written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnFragment>,
    /// What is claimed about objects that cannot be changed; the facts are held against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub immutability: Option<Immutability>,
    /// How many requests a day may cost; above it the daily pass waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub requests_per_day: Option<u64>,
}

/// An S3 key pair, by reference only.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KeysFragment {
    /// Where the access key id is found.
    pub access_key_id: SecretRef,
    /// Where the secret access key is found.
    pub secret_access_key: SecretRef,
    /// Where a session token is found, for temporary keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_token: Option<SecretRef>,
}

/// A key pair that may write, and the only prefix it is used below.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OwnFragment {
    /// Where the access key id is found.
    pub access_key_id: SecretRef,
    /// Where the secret access key is found.
    pub secret_access_key: SecretRef,
    /// Where a session token is found, for temporary keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_token: Option<SecretRef>,
    /// Our prefix: no archive may lie below or above it.
    pub prefix: String,
}

/// A fragment whose secrets were read.
pub struct StoreInput {
    fragment: StoreFragment,
    read: Keys,
    own: Option<Keys>,
}

impl StoreFragment {
    /// Reads the secrets. `read_secret` is given the key below this entry, and keeps what could not be read to itself.
    pub fn input(self, read_secret: &mut dyn FnMut(&str, &SecretRef) -> Secret) -> StoreInput {
        let read = Keys {
            access_key_id: read_secret("read.access-key-id", &self.read.access_key_id),
            secret_access_key: read_secret("read.secret-access-key", &self.read.secret_access_key),
            session_token: self.read.session_token.as_ref().map(|token| read_secret("read.session-token", token)),
        };
        let own = self.own.as_ref().map(|own| Keys {
            access_key_id: read_secret("own.access-key-id", &own.access_key_id),
            secret_access_key: read_secret("own.secret-access-key", &own.secret_access_key),
            session_token: own.session_token.as_ref().map(|token| read_secret("own.session-token", token)),
        });
        StoreInput { fragment: self, read, own }
    }
}

/// An S3 key pair.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Access key id.
    pub access_key_id: Secret,
    /// Secret access key.
    pub secret_access_key: Secret,
    /// Session token, for temporary keys.
    pub session_token: Option<Secret>,
}

/// Where we may write, and with which key.
#[derive(Clone, Debug)]
pub struct Own {
    /// The key pair.
    pub keys: Keys,
    /// The only prefix it is used below.
    pub prefix: Prefix,
}

/// A store, ready to be opened.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// Its name in the configuration.
    pub id: StoreId,
    /// `store/<site>/<name>`.
    pub subject: Subject,
    /// Scheme, host and port. A path in it is a fault that a pass keeps, so that looking can name it.
    pub endpoint: String,
    /// The bucket.
    pub bucket: String,
    /// The region to sign with, never empty.
    pub region: String,
    /// Its family; `other` when neither configuration nor host name tell.
    pub dialect: Dialect,
    /// CA certificates beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// The key to look with.
    pub read: Keys,
    /// The key to write with, and where.
    pub own: Option<Own>,
    /// Claim about immutability.
    pub immutability: Option<Immutability>,
    /// Budget of requests a day.
    pub requests_per_day: Option<u64>,
}

/// The subject of a store.
pub fn subject(site: &str, name: &str) -> Subject {
    Subject::new(SubjectKind::Store, &[site, name])
}

impl StoreInput {
    /// Checks the values. Settings come back even when there are complaints: the caller decides by their weight.
    pub fn settings(self, site: &str, name: &str) -> (StoreSettings, Vec<Complaint>) {
        let Self { fragment, read, own } = self;
        let mut complaints = Vec::new();
        let endpoint = check_endpoint(&fragment.endpoint, &mut complaints);
        let dialect = fragment.dialect.unwrap_or_else(|| dialect_of(&endpoint));
        let region = check_region(fragment.region.as_deref(), dialect, &endpoint, &mut complaints);
        complaints.extend(check_bucket(&fragment.bucket, dialect));
        let own = own.zip(fragment.own.as_ref()).map(|(keys, own)| Own { keys, prefix: Prefix::new(&own.prefix) });
        let settings = StoreSettings {
            id: StoreId(name.to_owned()),
            subject: subject(site, name),
            endpoint,
            bucket: fragment.bucket,
            region,
            dialect,
            ca_file: fragment.ca,
            read,
            own,
            immutability: fragment.immutability,
            requests_per_day: fragment.requests_per_day,
        };
        (settings, complaints)
    }
}

/// Scheme, host, port; gives the endpoint without a trailing slash.
fn check_endpoint(endpoint: &str, complaints: &mut Vec<Complaint>) -> String {
    let mut refuse = |text: String, hint: &str| {
        complaints.push(Complaint::new(Weight::Refused, "endpoint", "s3-endpoint-invalid", text, hint));
    };
    if endpoint.trim() != endpoint || endpoint.contains(char::is_whitespace) {
        refuse(format!("{endpoint:?} holds whitespace"), "write scheme, host and port only, as in https://minio.lan:9000");
        return endpoint.to_owned();
    }
    let Some((scheme, rest)) = endpoint.split_once("://") else {
        refuse(format!("\"{endpoint}\" has no scheme"), &format!("write https://{endpoint} (or http:// without TLS)"));
        return endpoint.to_owned();
    };
    if !matches!(scheme, "http" | "https") {
        refuse(
            format!("\"{scheme}\" is not a scheme of an S3 endpoint"),
            "write http:// or https://; the bucket has a key of its own",
        );
        return endpoint.to_owned();
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        // What stands before the @ may be a password, so the value is not repeated.
        refuse("the endpoint carries a user name or password".to_owned(), "put keys below read:, by reference");
        return format!("{scheme}://{}", authority.rsplit('@').next().unwrap_or_default());
    }
    if rest.contains(['?', '#']) {
        // A query may be a token: not repeated either.
        refuse(
            "the endpoint carries a query or a fragment".to_owned(),
            "write scheme, host and port only, as in https://minio.lan:9000",
        );
        return format!("{scheme}://{authority}");
    }
    if names_no_host(authority) {
        refuse(format!("\"{endpoint}\" names no host"), "write scheme, host and port only, as in https://minio.lan:9000");
        return endpoint.to_owned();
    }
    let port = authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map(|(_, port)| port);
    if port.is_some_and(|port| port.parse::<u16>().map_or(true, |port| port == 0)) {
        refuse(format!("\"{}\" is not a port", port.unwrap_or_default()), "a port is a number from 1 to 65535");
    }
    let path = rest.get(authority.len()..).unwrap_or_default().trim_end_matches('/');
    if !path.is_empty() {
        complaints.push(Complaint::new(
            Weight::RefusedByCheck,
            "endpoint",
            "s3-endpoint-has-path",
            format!("\"{endpoint}\" has the path \"{path}\": objects land below that path and no list finds them"),
            format!("write {scheme}://{authority}; the bucket belongs into bucket:, a prefix into archive.prefix"),
        ));
    }
    endpoint.trim_end_matches('/').to_owned()
}

/// `:9000` has a port and no host.
fn names_no_host(authority: &str) -> bool {
    authority.is_empty() || authority.starts_with(':')
}

/// The region to sign with.
fn check_region(written: Option<&str>, dialect: Dialect, endpoint: &str, complaints: &mut Vec<Complaint>) -> String {
    let Some(region) = written else { return default_region(dialect, endpoint) };
    let mut complain = |weight: Weight, text: String, hint: &str| {
        complaints.push(Complaint::new(weight, "region", "s3-region-invalid", text, hint));
    };
    let bare = region.trim();
    if bare.is_empty() {
        complain(Weight::RefusedByCheck, format!("{region:?} names no region"), "leave the key out, or name the region");
        return default_region(dialect, endpoint);
    }
    if region.contains(char::is_whitespace) {
        let text = format!("{region:?} holds whitespace; a client signs with it as it stands and is refused");
        complain(
            Weight::RefusedByCheck,
            text,
            &format!("write region: {bare} (in a secret: printf %s {bare}, without the newline)"),
        );
        return region.to_owned();
    }
    if dialect != Dialect::R2 {
        return region.to_owned();
    }
    if R2_PLACES.contains(&region.to_ascii_lowercase().as_str()) {
        let text = format!("\"{region}\" is a place, not a signing region; R2 signs with \"auto\"");
        complain(Weight::RefusedByCheck, text, "write region: auto, or leave the key out");
    } else if region == "us-east-1" {
        complain(Weight::Warning, "R2 takes \"us-east-1\" as \"auto\"; other clients may not".to_owned(), "write region: auto");
    } else if region != "auto" {
        complain(
            Weight::RefusedByCheck,
            format!("\"{region}\" is no region of R2; it signs with \"auto\""),
            "write region: auto",
        );
    }
    region.to_owned()
}

/// The rule of names. Ceph and SeaweedFS also take what AWS once took: upper case and underscores.
fn check_bucket(bucket: &str, dialect: Dialect) -> Option<Complaint> {
    let loose = matches!(dialect, Dialect::Ceph | Dialect::Seaweedfs);
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || (loose && c.is_ascii_uppercase());
    let wrong = if bucket.contains("://") || bucket.contains('/') {
        "has a path in it"
    } else if !(3..=63).contains(&bucket.len()) {
        "has not 3 to 63 characters"
    } else if !bucket.chars().all(|c| letter(c) || matches!(c, '.' | '-') || (loose && c == '_')) {
        "holds characters that no bucket name may hold"
    } else if !bucket.starts_with(letter) || !bucket.ends_with(letter) {
        "does not begin and end with a letter or digit"
    } else if bucket.contains("..") || bucket.parse::<std::net::Ipv4Addr>().is_ok() {
        "looks like an address"
    } else {
        return None;
    };
    Some(Complaint::new(
        Weight::Refused,
        "bucket",
        "s3-bucket-name-invalid",
        format!("{bucket:?} {wrong}"),
        "a bucket name has 3 to 63 lower-case letters, digits, dots and hyphens; a prefix belongs into archive.prefix",
    ))
}
