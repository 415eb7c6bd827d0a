//! `dalsegno probe`: what a store can and cannot do.

use std::path::PathBuf;

use crate::domain::Dialect;

/// Try a store: list, put, get, range, multipart, conditional put, delete in a prefix of our own, clock, region, checksum
/// headers, and what follows for its other clients. Writes only below the own prefix, and removes what it wrote.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Without a configuration the keys come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN."
)]
pub struct Args {
    /// The store's name in the configuration
    #[arg(required_unless_present = "endpoint", conflicts_with = "endpoint")]
    pub store: Option<String>,
    /// Scheme, host and port of a store that is not configured
    #[arg(long, value_name = "URL", requires_all = ["bucket", "prefix"])]
    pub endpoint: Option<String>,
    /// Its bucket
    #[arg(long, requires = "endpoint")]
    pub bucket: Option<String>,
    /// The prefix to write below; nothing outside of it is touched
    #[arg(long, requires = "endpoint")]
    pub prefix: Option<String>,
    /// The region to sign with
    #[arg(long, requires = "endpoint")]
    pub region: Option<String>,
    /// The family it belongs to: aws, minio, r2, ceph, garage, seaweedfs, other
    #[arg(long, requires = "endpoint", value_parser = dialect)]
    pub dialect: Option<Dialect>,
    /// CA certificates (PEM) that vouch for it
    #[arg(long, requires = "endpoint", value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Write nothing: only what listing and reading show
    #[arg(long)]
    pub read_only: bool,
}

fn dialect(word: &str) -> Result<Dialect, String> {
    serde_json::from_value(serde_json::Value::String(word.to_owned()))
        .map_err(|_| "one of aws, minio, r2, ceph, garage, seaweedfs, other".to_owned())
}
