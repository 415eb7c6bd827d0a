//! `--from s3://BUCKET/PREFIX`: a machine that has nothing but a bucket and keys goes on with what a site left there.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::HomeError;
use super::address::{Address, KEY_ID, KEY_SECRET, KEY_TOKEN, Keys};
use super::effective::{self, Effective};
use super::head::{self, Seen};
use super::layout::{HEAD, key};
use super::references::{Reference, bring_home};
use crate::config::{self, ConfigErrors, default_state_folder};
use crate::domain::{Prefix, Secret, sha256_hex};
use crate::store::{Store, StoreError};

/// A configuration is at most a megabyte, its authorities are a few pages each.
const LARGEST: u64 = 8 << 20;
/// The state folder of this machine, when it is not the usual one.
const STATE_FOLDER: &str = "DALSEGNO__STATE__FOLDER";

/// Where a command's configuration comes from.
#[derive(Clone, Debug)]
pub struct Source {
    named: Vec<PathBuf>,
    env: BTreeMap<String, String>,
    from: Option<String>,
    notes: Vec<String>,
}

impl Source {
    /// From files, or the usual places.
    pub fn files(named: &[PathBuf]) -> Self {
        Self { named: named.to_vec(), env: crate::app::environment(), from: None, notes: Vec::new() }
    }

    /// The files. An error when nothing is named and no usual place is there.
    pub fn sources(&self) -> Result<Vec<PathBuf>, ConfigErrors> {
        config::sources(&self.named)
    }

    /// The environment, with keys that a person was asked for.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// The bucket it comes from.
    pub fn from(&self) -> Option<&str> {
        self.from.as_deref()
    }

    /// What a person must know of it: how old it is, and which keys are missing.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Refuses a command that records passes, where somebody else's ledger is only read.
    pub fn must_record(&self, command: &'static str) -> Result<(), HomeError> {
        if self.from.is_some() { Err(HomeError::OnlyReads { command }) } else { Ok(()) }
    }
}

/// A key that is needed and not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The variable that would give it.
    pub variable: String,
    /// What it is for: `the secret access key of s3://…`, or the keys of the configuration that name it.
    pub purpose: String,
}

/// Somebody who can be asked for a key; `None` = they have not got it, or nobody is there.
pub type Person<'a> = &'a mut dyn FnMut(&Ask) -> Option<Secret>;

/// Brings the effective configuration of the site that keeps its ledger there.
pub async fn from_bucket(address: &Address, person: Person<'_>) -> Result<Source, HomeError> {
    let mut env = crate::app::environment();
    crate::app::install_tls();
    let keys = keys(address, &mut env, person)?;
    let store = address.open(&keys)?;
    let seen = head::read(&store, &address.prefix).await?;
    let seen = seen.ok_or_else(|| HomeError::Nothing { place: head::place(&store, &address.prefix, HEAD) })?;
    let mut effective = fetch(&store, &address.prefix, &seen).await?;
    let folder = folder(address, &mut env)?;
    let mut notes = vec![format!(
        "site {} as its run {} on {} left it at {} in {}",
        seen.head.site,
        seen.head.run.short(),
        seen.head.host,
        seen.head.written,
        address.shown()
    )];
    let moved = point_here(&mut effective.config, address);
    notes.extend(moved);
    lay_files(&mut effective, address, &folder)?;
    set(&mut effective.config, "state", json!({ "folder": folder.join("state") }));
    let references = bring_home(&mut effective.config);
    lend(&effective.config, &references, address, &keys, &mut env);
    drop_token(&mut effective.config, address, &env);
    notes.extend(ask_for_the_rest(&references, &effective.config, &mut env, person));
    let text = serde_saphyr::to_string(&effective.config).unwrap_or_default();
    let file = folder.join("dalsegno.yaml");
    write(&file, &text)?;
    Ok(Source { named: vec![file], env, from: Some(address.shown()), notes })
}

/// The keys of the bucket: of the environment, or asked for.
fn keys(address: &Address, env: &mut BTreeMap<String, String>, person: Person<'_>) -> Result<Keys, HomeError> {
    let mut missing = Vec::new();
    let mut key = |name: &str, what: &str| {
        if let Some(value) = env.get(name).filter(|value| !value.trim().is_empty()) {
            return Secret::new(value.clone());
        }
        let ask = Ask { variable: name.to_owned(), purpose: format!("the {what} of {}", address.shown()) };
        if let Some(secret) = person(&ask) {
            env.insert(name.to_owned(), secret.expose().to_owned());
            return secret;
        }
        missing.push(name.to_owned());
        Secret::new(String::new())
    };
    let (id, secret) = (key(KEY_ID, "access key id"), key(KEY_SECRET, "secret access key"));
    if !missing.is_empty() {
        return Err(HomeError::NoKeys { place: address.shown(), missing: missing.join(", ") });
    }
    let token = env.get(KEY_TOKEN).filter(|value| !value.is_empty()).map(|value| Secret::new(value.clone()));
    Ok(Keys { id, secret, token })
}

async fn fetch(store: &Store, prefix: &Prefix, seen: &Seen) -> Result<Effective, HomeError> {
    let object = &seen.head.config;
    let place = head::place(store, prefix, &object.name);
    let damaged = |said: String| HomeError::Damaged { place: place.clone(), said, others: Vec::new() };
    let bytes = match store.get(&key(prefix, &object.name), LARGEST).await {
        Ok(got) => got.bytes,
        Err(StoreError::NoSuchKey { .. }) => return Err(damaged("head.json names it, and it is gone".to_owned())),
        Err(error) => return Err(error.into()),
    };
    let found = sha256_hex(&bytes);
    if found != object.sha256 {
        return Err(damaged(format!("its SHA-256 is {found}, head.json says {}", object.sha256)));
    }
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    let format = value.get("format").and_then(Value::as_u64).unwrap_or_default();
    if format > u64::from(effective::FORMAT) {
        return Err(HomeError::Newer { place, found: format, known: effective::FORMAT });
    }
    serde_json::from_value(value).map_err(|error| damaged(error.to_string()))
}

/// A folder of this address's own: its configuration, authorities, and the state of commands that run from it.
fn folder(address: &Address, env: &mut BTreeMap<String, String>) -> Result<PathBuf, HomeError> {
    let name = sha256_hex(address.shown());
    // Taken out, or it would win over the folder that is made below it.
    let base = env.remove(STATE_FOLDER).map_or_else(|| default_state_folder(env), PathBuf::from);
    let folder = base.join("from").join(name.get(..16).unwrap_or_default());
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|source| HomeError::File { what: "make", path: folder.clone(), source })?;
    Ok(folder)
}

/// The site may reach its store by another name than we do (`http://minio.minio.svc`): every store at that endpoint is asked where we
/// found the bucket.
fn point_here(config: &mut Value, address: &Address) -> Option<String> {
    let home = config.pointer("/ledger/store").and_then(Value::as_str)?.to_owned();
    let stores = config.get_mut("stores").and_then(Value::as_object_mut)?;
    let there = stores.get(&home)?.get("endpoint").and_then(Value::as_str)?.trim_end_matches('/').to_owned();
    if there == address.endpoint {
        return None;
    }
    let mut moved = Vec::new();
    for (name, store) in stores.iter_mut() {
        if store.get("endpoint").and_then(Value::as_str).is_some_and(|endpoint| endpoint.trim_end_matches('/') == there) {
            set(store, "endpoint", json!(address.endpoint));
            moved.push(name.clone());
        }
    }
    Some(format!("the site reaches store {} at {there}; here it is asked at {}", moved.join(", "), address.endpoint))
}

/// Authorities that came along are written down, and named where they lie now.
fn lay_files(effective: &mut Effective, address: &Address, folder: &Path) -> Result<(), HomeError> {
    for (at, text) in &effective.files {
        let name: String = at.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
        let file = folder.join(format!("{name}.pem"));
        write(&file, text)?;
        let pointer = format!("/{}", at.replace('.', "/"));
        if let Some(named) = effective.config.pointer_mut(&pointer) {
            *named = json!(file);
        }
    }
    // An authority that was given for the bucket vouches for it in all commands.
    if let (Some(ca), Some(store)) = (&address.ca, home_store(&mut effective.config)) {
        let ca = std::path::absolute(ca).map_err(|source| HomeError::File { what: "find", path: ca.clone(), source })?;
        set(store, "ca", json!(ca));
    }
    Ok(())
}

fn home_store(config: &mut Value) -> Option<&mut Value> {
    let home = config.pointer("/ledger/store").and_then(Value::as_str)?.to_owned();
    config.get_mut("stores")?.get_mut(&home)
}

/// Keys of a store in this very bucket that are not here: those we were given are lent.
fn lend(config: &Value, references: &[Reference], address: &Address, keys: &Keys, env: &mut BTreeMap<String, String>) {
    for reference in references.iter().filter(|reference| is_of_bucket(config, &reference.key, address)) {
        let value = match reference.key.rsplit('.').next() {
            Some("access-key-id") => Some(&keys.id),
            Some("secret-access-key") => Some(&keys.secret),
            Some("session-token") => keys.token.as_ref(),
            _ => None,
        };
        if let Some(value) = value
            && is_missing(env, &reference.variable)
        {
            env.insert(reference.variable.clone(), value.expose().to_owned());
        }
    }
}

/// Keys without a token are whole: a token that only the site has is not asked for.
fn drop_token(config: &mut Value, address: &Address, env: &BTreeMap<String, String>) {
    let of_bucket: Vec<String> =
        store_names(config).into_iter().filter(|name| is_of_bucket(config, &format!("stores.{name}"), address)).collect();
    for name in of_bucket {
        for part in ["read", "own"] {
            let Some(Value::Object(keys)) = config.pointer_mut(&format!("/stores/{name}/{part}")) else { continue };
            let variable = keys.get("session-token").and_then(|token| token.get("env")).and_then(Value::as_str);
            if variable.is_some_and(|variable| is_missing(env, variable)) {
                keys.remove("session-token");
            }
        }
    }
}

fn store_names(config: &Value) -> Vec<String> {
    config.get("stores").and_then(Value::as_object).map(|stores| stores.keys().cloned().collect()).unwrap_or_default()
}

/// Whether the key belongs to a store in the bucket that we were given.
fn is_of_bucket(config: &Value, key: &str, address: &Address) -> bool {
    let Some(name) = key.strip_prefix("stores.").and_then(|rest| rest.split('.').next()) else { return false };
    let Some(store) = config.get("stores").and_then(|stores| stores.get(name)) else { return false };
    let text = |key: &str| store.get(key).and_then(Value::as_str).map(|text| text.trim_end_matches('/'));
    text("bucket") == Some(&address.bucket) && text("endpoint") == Some(&address.endpoint)
}

fn is_missing(env: &BTreeMap<String, String>, variable: &str) -> bool {
    env.get(variable).is_none_or(|value| value.trim().is_empty())
}

/// Asks for what is still missing, each variable once; gives words about what nobody has. What stands on such a key is a gap later.
fn ask_for_the_rest(
    references: &[Reference],
    config: &Value,
    env: &mut BTreeMap<String, String>,
    person: Person<'_>,
) -> Vec<String> {
    let mut wanted: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for reference in references.iter().filter(|reference| is_missing(env, &reference.variable)) {
        // A token that was taken out is not needed.
        if config.pointer(&format!("/{}", reference.key.replace('.', "/"))).is_some() {
            let file = reference.file.as_ref().map(|file| format!(" (there: file {file})")).unwrap_or_default();
            wanted.entry(&reference.variable).or_default().push(format!("{}{file}", reference.key));
        }
    }
    let mut notes = Vec::new();
    for (variable, keys) in wanted {
        let purpose = keys.join(", ");
        match person(&Ask { variable: variable.to_owned(), purpose: purpose.clone() }) {
            Some(secret) => drop(env.insert(variable.to_owned(), secret.expose().to_owned())),
            None => notes.push(format!("{variable} is not set, for {purpose}: what needs it is not looked at")),
        }
    }
    notes
}

fn set(value: &mut Value, key: &str, to: Value) {
    if let Value::Object(map) = value {
        map.insert(key.to_owned(), to);
    }
}

/// Replaces a file of ours, for its owner only.
fn write(file: &Path, text: &str) -> Result<(), HomeError> {
    let io = |source| HomeError::File { what: "write", path: file.to_owned(), source };
    let half = file.with_extension("tmp");
    let _ = std::fs::remove_file(&half);
    let mut open = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&half).map_err(io)?;
    open.write_all(text.as_bytes()).and_then(|()| open.sync_all()).map_err(io)?;
    std::fs::rename(&half, file).map_err(io)
}
