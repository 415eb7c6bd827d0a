//! Where the ledger is at home: checked against the stores that are named.

use super::build::part;
use super::fragment::{LedgerFragment, LedgerHome};
use super::load::Work;
use super::mistake::Mistake;
use super::settings::LedgerSettings;
use super::tree::Shape;
use crate::domain::{Prefix, StoreId, nearest};

/// Reads `ledger:`. What is wrong with it is refused by a pass too: a ledger kept in the wrong place is a ledger lost.
pub(super) fn settings(work: &mut Work, site: &str) -> LedgerSettings {
    let fragment: LedgerFragment = part(work, "ledger");
    if fragment.home.unwrap_or(LedgerHome::Volume) == LedgerHome::Volume {
        // A store may be named all the same: whoever renders manifests switches the home alone.
        return LedgerSettings::Volume;
    }
    let Some(store) = fragment.store.filter(|store| !store.is_empty()) else {
        refuse(work, "ledger.store", "is missing: home: bucket needs a store".to_owned(), "ledger: {home: bucket, store: NAME}");
        return LedgerSettings::Volume;
    };
    if site.is_empty() && work.placeholders_below("site").is_empty() {
        let text = "home: bucket needs a site: status and evidence bear its name".to_owned();
        refuse(work, "ledger.home", text, "write site: NAME at the top");
    }
    match own_prefix(work, &store) {
        Ok(prefix) => LedgerSettings::Bucket { store: StoreId(store), prefix },
        Err((text, hint)) => {
            refuse(work, "ledger.store", text, &hint);
            LedgerSettings::Volume
        }
    }
}

/// The prefix that is ours in the store, from the tree: it is known also where the key to write with is not.
fn own_prefix(work: &Work, store: &str) -> Result<Prefix, (String, String)> {
    let stores = work.named("stores");
    let Some((_, node)) = stores.iter().find(|(name, _)| name == store) else {
        let names: Vec<&str> = stores.iter().map(|(name, _)| name.as_str()).collect();
        let meant = nearest(store, names.iter().copied()).map(|name| format!(", did you mean \"{name}\"?")).unwrap_or_default();
        return Err((format!("there is no store \"{store}\"{meant}"), format!("configured stores: {}", names.join(", "))));
    };
    match node.get("own").and_then(|own| own.get("prefix")).map(|prefix| &prefix.shape) {
        Some(Shape::Text(text)) => Ok(Prefix::new(text)),
        _ => Err((
            format!("store {store} has no `own:`, so nothing can be kept there"),
            format!("add own: {{access-key-id: …, secret-access-key: …, prefix: dalsegno/}} to store {store}"),
        )),
    }
}

fn refuse(work: &mut Work, key: &str, text: String, hint: &str) {
    let mistake = Mistake::new(&work.root.place_of(key), key, "ledger-home-invalid", text);
    work.fatal.push(mistake.hint(hint));
}
