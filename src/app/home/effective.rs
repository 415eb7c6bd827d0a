//! The effective configuration: what the site runs with, all files and overrides laid together, secrets as references, certificates of
//! authorities along. With it and the keys it names, any machine can go on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::HomeError;
use crate::config::{Loaded, Settings};
use crate::domain::{Secret, sha256_hex};
use crate::providers::objectstore::config::StoreSettings;

/// The format that this program writes.
pub(super) const FORMAT: u32 = 1;
/// Keys that hold for one machine only: another one has its own.
const OF_ONE_MACHINE: [(&str, &[&str]); 3] = [("state", &[]), ("drill", &["folder", "user", "postgres"]), ("pass", &["mode"])];
/// What is shorter is no secret that could be told from a word.
const SHORTEST_SECRET: usize = 6;

/// What lies at `config/<sha256>.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Effective {
    /// Its format.
    pub(super) format: u32,
    /// The program that wrote it.
    pub(super) dalsegno: String,
    /// The configuration.
    pub(super) config: Value,
    /// Texts of files that it names and that are no secrets (authorities), by the key that names them: `stores.r2.ca`.
    pub(super) files: BTreeMap<String, String>,
}

/// The bytes to keep, and their SHA-256. Refused when the value of a secret stands in them.
pub(super) fn bytes(loaded: &Loaded) -> Result<(Vec<u8>, String), HomeError> {
    let mut config = loaded.written.clone();
    for (part, keys) in OF_ONE_MACHINE {
        leave_out(&mut config, part, keys);
    }
    let settings = &loaded.settings;
    let authority = |store: &StoreSettings| {
        // A certificate is public. One that cannot be read was told when the configuration was loaded.
        let text = std::fs::read_to_string(store.ca_file.as_ref()?).ok()?;
        Some((format!("stores.{}.ca", store.id), text))
    };
    let files = settings.stores.iter().filter_map(authority).collect();
    let whole = Effective { format: FORMAT, dalsegno: env!("CARGO_PKG_VERSION").to_owned(), config, files };
    let text = serde_json::to_string_pretty(&whole).unwrap_or_default();
    if secrets(settings).iter().any(|secret| secret.expose().len() >= SHORTEST_SECRET && text.contains(secret.expose())) {
        return Err(HomeError::SecretInside);
    }
    let sha256 = sha256_hex(&text);
    Ok((text.into_bytes(), sha256))
}

fn leave_out(config: &mut Value, part: &str, keys: &[&str]) {
    let Value::Object(root) = config else { return };
    if keys.is_empty() {
        root.remove(part);
    } else if let Some(Value::Object(below)) = root.get_mut(part) {
        below.retain(|key, _| !keys.contains(&key.as_str()));
        if below.is_empty() {
            root.remove(part);
        }
    }
}

/// Every secret that was read.
fn secrets(settings: &Settings) -> Vec<&Secret> {
    let of_stores = settings.stores.iter().flat_map(|store| {
        let own = store.own.iter().map(|own| &own.keys);
        std::iter::once(&store.read).chain(own).flat_map(|keys| {
            // An access key id is a name, yet nobody's business.
            [Some(&keys.access_key_id), Some(&keys.secret_access_key), keys.session_token.as_ref()].into_iter().flatten()
        })
    });
    let tokens = settings.prometheus.iter().filter_map(|server| server.token.as_ref());
    of_stores.chain(tokens).chain(settings.notify.secrets()).collect()
}
