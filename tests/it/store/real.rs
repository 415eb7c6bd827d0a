//! A real SeaweedFS from the lab, one for the whole test binary; each test takes a bucket of its own.

use dalsegno::domain::Secret;
use dalsegno::store::StoreConfig;
use lab::seaweed::{self, Seaweed};

/// The server, or nothing (and a visible line) when there is no SeaweedFS here. In CI that is a failure.
pub async fn server(test: &str) -> Option<&'static Seaweed> {
    match seaweed::shared().await {
        Ok(server) => Some(server),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "SeaweedFS is absent: {error}");
            eprintln!("SKIPPED {test}: no SeaweedFS here: {error}");
            None
        }
    }
}

/// A fresh bucket with keys that may everything, own prefix `dalsegno/`.
pub async fn bucket(test: &str) -> Option<StoreConfig> {
    let server = server(test).await?;
    let mut config = super::mock::config(server.endpoint(), &server.fresh_bucket().await.unwrap());
    with_keys(&mut config, server.keys().admin());
    config.read_timeout = std::time::Duration::from_secs(20);
    config.attempts = 5;
    Some(config)
}

/// The same bucket with keys that may only read and list.
pub async fn reader(config: &StoreConfig) -> StoreConfig {
    let mut config = config.clone();
    with_keys(&mut config, server("reader").await.unwrap().keys().read_only());
    config
}

fn with_keys(config: &mut StoreConfig, keys: &lab::s3::Keys) {
    config.access_key_id = Secret::new(keys.id.clone());
    config.secret_access_key = Secret::new(keys.secret.clone());
}
