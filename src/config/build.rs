//! From the checked tree to settings, part by part; what one part lacks costs only that part.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use super::fragment::{DrillFragment, PassFragment, StateFragment};
use super::load::{Trouble, Work, is_below};
use super::mistake::Mistake;
use super::notice;
use super::placeholder::Kind;
use super::settings::{DrillSettings, PassSettings, Settings};
use super::state::default_state_folder;
use super::tree::{Node, Shape, child};
use super::{attention, channels};
use crate::domain::{FactKind, Isolation, nearest};
use crate::providers::objectstore::config::{self as objectstore, StoreFragment, StoreSettings};
use crate::providers::postgres::config::{self as postgres, PostgresFragment, PostgresSettings};

/// Sandboxes go here when nothing is written.
const DRILL_FOLDER: &str = "/var/tmp/dalsegno";
/// Deadlines when nothing is written.
const PASS_DEADLINE: Duration = Duration::from_mins(2);
const PROVIDER_DEADLINE: Duration = Duration::from_mins(1);

/// A store, and why it cannot be used.
struct StoreBuilt {
    settings: StoreSettings,
    troubles: Vec<Trouble>,
}

/// Builds everything that can be built.
pub(super) fn settings(work: &mut Work) -> Settings {
    let site = scope(work, "site");
    let environment = scope(work, "environment");
    let mut stores = stores(work, &site);
    let postgres = databases(work, &site, &environment, &stores);
    for store in super::overlap::check(work, stores.values().map(|built| &built.settings), &postgres) {
        if let Some(built) = stores.get_mut(&store.0) {
            built.settings.own = None;
        }
    }
    let prometheus = super::prometheus::servers(work, &site, &environment);
    let known: Vec<String> = stores.keys().cloned().collect();
    let cnpg = super::clusters::cnpg(work, &site, &environment, &known);
    let state = part::<StateFragment>(work, "state");
    let ledger = super::ledger::settings(work, &site);
    let drill = part::<DrillFragment>(work, "drill");
    let notify = channels::build(work);
    let pass = pass(work);
    let attention = attention::build(work, notify.grace_seconds);
    Settings {
        site,
        environment,
        state_folder: state
            .folder
            .map_or_else(|| default_state_folder(&work.env), |folder| work.root.place_of("state.folder").resolve(&folder)),
        ledger,
        stores: stores.into_values().filter(|built| built.troubles.is_empty()).map(|built| built.settings).collect(),
        postgres: postgres.into_iter().filter(|(_, usable)| *usable).map(|(settings, _)| settings).collect(),
        prometheus,
        cnpg,
        drill: DrillSettings {
            folder: drill
                .folder
                .map_or_else(|| PathBuf::from(DRILL_FOLDER), |folder| work.root.place_of("drill.folder").resolve(&folder)),
            user: drill.user,
            postgres: drill.postgres,
            isolation: drill.isolation.unwrap_or(Isolation::Closed),
        },
        notify,
        pass,
        attention,
    }
}

/// Site and environment: parts of every subject, so they hold no slash.
fn scope(work: &mut Work, key: &str) -> String {
    let Some(Node { shape: Shape::Text(text), at }) = work.root.get(key).cloned() else { return String::new() };
    if !work.placeholders_below(key).is_empty() {
        return String::new();
    }
    let fits = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !fits {
        let hint = "letters, digits, hyphens, underscores and dots: it is a part of every subject";
        work.fatal.push(Mistake::new(&at, key, "config-name-invalid", format!("{text:?} is not a name")).hint(hint));
    }
    text
}

/// A part without subject of its own: what stands at placeholders is left out, its default is taken.
pub(super) fn part<T: serde::de::DeserializeOwned + Default>(work: &mut Work, key: &str) -> T {
    let Some(node) = work.root.get(key).cloned() else { return T::default() };
    work.part(key, &node, &|_| true).unwrap_or_default()
}

fn stores(work: &mut Work, site: &str) -> BTreeMap<String, StoreBuilt> {
    let mut built = BTreeMap::new();
    for (name, node) in work.named("stores") {
        let path = child("stores", &name);
        let subject = objectstore::subject(site, &name);
        work.own_placeholders(&path, &subject);
        let own = child(&path, "own");
        if let Some(store) = store(work, site, &name, &node, &own) {
            work.gap(&subject, FactKind::Store, &store.troubles);
            built.insert(name, store);
        } else if !work.placeholders_below(&path).is_empty() {
            let troubles = placeholders_as_troubles(work, &path);
            work.gap(&subject, FactKind::Store, &troubles);
        }
    }
    built
}

/// `None` when it cannot even be read.
fn store(work: &mut Work, site: &str, name: &str, node: &Node, own: &str) -> Option<StoreBuilt> {
    let path = child("stores", name);
    let subject = objectstore::subject(site, name);
    // A placeholder in the own keys costs only writing.
    let own_path = own.to_owned();
    let hollow_own = work.placeholders_below(own).iter().any(|placeholder| !placeholder.key_path.is_empty());
    let node = if hollow_own { without(node, "own") } else { node.clone() };
    let fragment: StoreFragment = work.part(&path, &node, &|_| false)?;
    let ca = fragment.ca.clone();
    let mut troubles = placeholders_as_troubles(work, &path);
    let input = fragment.input(&mut |key, reference| {
        let key = child(&path, key);
        work.secret(&key, reference, Kind::Secret, &subject, &mut troubles)
    });
    let (mut settings, complaints) = input.settings(site, name);
    work.take(&path, complaints);
    let mut seen = BTreeSet::new();
    troubles.retain(|trouble| seen.insert(trouble.key.clone()));
    let (own_troubles, mut troubles): (Vec<_>, Vec<_>) =
        troubles.into_iter().partition(|trouble| is_below(&trouble.key, &own_path));
    if !own_troubles.is_empty() {
        settings.own = None;
        for trouble in own_troubles {
            let text = format!("nothing can be written to this store: {}", trouble.text);
            work.warnings.push(Mistake::new(&work.root.place_of(own), own, "own-keys-unusable", text).hint(trouble.hint));
        }
    }
    if let Some(ca) = ca {
        settings.ca_file = Some(read_ca(work, &path, &ca, &mut troubles));
    }
    Some(StoreBuilt { settings, troubles })
}

/// The CA file, from the folder of the file that names it. Missing, it costs the store.
pub(super) fn read_ca(work: &mut Work, path: &str, ca: &std::path::Path, troubles: &mut Vec<Trouble>) -> PathBuf {
    let key = child(path, "ca");
    let at = work.root.place_of(&key);
    let file = at.resolve(ca);
    if let Err(error) = std::fs::File::open(&file)
        && !troubles.iter().any(|trouble| trouble.key == key)
    {
        let text = format!("the CA file {} cannot be read: {error}", file.display());
        let hint = format!("does it exist, and may this user read it?  ls -l {}", file.display());
        work.refused.push(Mistake::new(&at, &key, "ca-unreadable", text.clone()).hint(hint.clone()));
        troubles.push(Trouble { key, code: "ca-unreadable", text, hint });
    }
    file
}

pub(super) fn placeholders_as_troubles(work: &Work, path: &str) -> Vec<Trouble> {
    let found = work.placeholders_below(path);
    let trouble = |key: &str, value: &str, at: &str| Trouble {
        key: key.trim_end_matches(".env").trim_end_matches(".file").to_owned(),
        code: notice::PLACEHOLDER,
        text: if value == "***" {
            format!("{key} holds a placeholder ({at})")
        } else {
            format!("{key} is the placeholder \"{value}\" ({at})")
        },
        hint: format!("fill in {key}, then: dalsegno config check"),
    };
    found.iter().map(|placeholder| trouble(&placeholder.key_path, &placeholder.value, &placeholder.at)).collect()
}

fn without(node: &Node, key: &str) -> Node {
    let mut node = node.clone();
    if let Shape::Map(entries) = &mut node.shape {
        entries.retain(|entry| entry.key != key);
    }
    node
}

/// Keys of a database whose placeholders do not keep us from looking at its archive.
fn can_be_left_out(path: &str) -> impl Fn(&str) -> bool {
    let parts = ["policy", "retention", "archive-timeout", "checks", "dependents"].map(|key| child(path, key));
    move |key: &str| parts.iter().any(|part| is_below(key, part))
}

fn databases(
    work: &mut Work,
    site: &str,
    environment: &str,
    stores: &BTreeMap<String, StoreBuilt>,
) -> Vec<(PostgresSettings, bool)> {
    let mut databases = Vec::new();
    let store_names: Vec<String> = work.named("stores").into_iter().map(|(name, _)| name).collect();
    for (name, node) in work.named("postgres") {
        let path = child("postgres", &name);
        let subject = postgres::subject(site, environment, &name);
        work.own_placeholders(&path, &subject);
        let light = can_be_left_out(&path);
        let mut troubles = placeholders_as_troubles(work, &path);
        troubles.retain(|trouble| !light(&trouble.key));
        let fragment: Option<PostgresFragment> = work.part(&path, &node, &light);
        let store = fragment.as_ref().map(|fragment| fragment.archive.store.clone());
        let store_key = child(&path, "archive.store");
        if let Some(store) = &store
            && !troubles.iter().any(|trouble| trouble.key == store_key)
            && !store_names.contains(store)
            && !work.is_wrong(&store_key)
            && !store.is_empty()
            && work.placeholders_below("stores").iter().all(|placeholder| placeholder.key_path != "stores")
        {
            work.fatal.push(no_store(&work.root, &store_key, store, &store_names));
        }
        if let Some(store) = store.as_ref().filter(|store| !store.is_empty()) {
            work.rests_on.insert(subject.clone(), objectstore::subject(site, store));
        }
        let built = store.as_ref().and_then(|store| stores.get(store));
        troubles.extend(troubles_of_store(work, store.as_deref(), built));
        if let Some(fragment) = fragment {
            let bucket = built.map(|built| built.settings.bucket.as_str()).unwrap_or_default();
            let (settings, complaints) = fragment.settings(site, environment, &name, bucket);
            work.take(&path, complaints);
            databases.push((settings, troubles.is_empty() && built.is_some()));
        }
        work.gap(&subject, FactKind::Archive, &troubles);
    }
    databases
}

/// A store that cannot be used makes gaps of its databases.
fn troubles_of_store(work: &Work, store: Option<&str>, built: Option<&StoreBuilt>) -> Vec<Trouble> {
    let Some(store) = store else { return Vec::new() };
    let of_store = |trouble: &Trouble| Trouble {
        key: trouble.key.clone(),
        code: trouble.code,
        text: format!("its store {store} cannot be used: {}", trouble.text),
        hint: trouble.hint.clone(),
    };
    if let Some(built) = built {
        return built.troubles.iter().map(of_store).collect();
    }
    let all = placeholders_as_troubles(work, "stores");
    let path = child("stores", store);
    all.iter().filter(|trouble| trouble.key == "stores" || is_below(&trouble.key, &path)).map(of_store).collect()
}

pub(super) fn no_store(root: &Node, key: &str, asked: &str, names: &[String]) -> Mistake {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = match nearest(asked, names.iter().copied()) {
        Some(name) => format!("there is no store \"{asked}\", did you mean \"{name}\"?"),
        None => format!("there is no store \"{asked}\""),
    };
    let hint = if names.is_empty() {
        "configure it below stores:".to_owned()
    } else {
        format!("configured stores: {}", names.join(", "))
    };
    Mistake::new(&root.place_of(key), key, "store-unknown", text).hint(hint)
}

fn pass(work: &mut Work) -> PassSettings {
    let fragment: PassFragment = part(work, "pass");
    let settings = PassSettings {
        deadline: fragment.deadline.map_or(PASS_DEADLINE, |span| span.0),
        provider_deadline: fragment.provider_deadline.map_or(PROVIDER_DEADLINE, |span| span.0),
        mode: fragment.mode,
    };
    let mut refuse = |key: &str, text: String, hint: &str| {
        work.fatal.push(Mistake::new(&work.root.place_of(key), key, "deadline-invalid", text).hint(hint));
    };
    if settings.deadline < Duration::from_secs(1) {
        refuse("pass.deadline", "is below one second: nothing could be looked at".to_owned(), "2m is the default");
    }
    if settings.provider_deadline < Duration::from_secs(1) {
        refuse("pass.provider-deadline", "is below one second: nothing could be looked at".to_owned(), "60s is the default");
    }
    if settings.provider_deadline > settings.deadline {
        let (provider, whole) = (crate::domain::Span(settings.provider_deadline), crate::domain::Span(settings.deadline));
        let text = format!("{provider} for one provider is more than {whole} for the whole pass");
        refuse("pass.provider-deadline", text, "lower it, or raise pass.deadline");
    }
    settings
}
