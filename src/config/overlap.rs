//! Who shares a place with whom: two writers in one place ruin both chains, and we never write where an archive lies.

use super::load::Work;
use super::mistake::Mistake;
use super::notice;
use crate::domain::{Prefix, StoreId};
use crate::providers::objectstore::config::StoreSettings;
use crate::providers::postgres::config::PostgresSettings;

/// Where something lies, whatever the store is called here.
struct Lies<'a> {
    store: &'a StoreSettings,
    /// Whether endpoint and bucket of the store are filled in.
    certain: bool,
    root: Prefix,
    key: String,
}

impl Lies<'_> {
    fn same_bucket(&self, other: &Lies<'_>) -> bool {
        let same = self.store.endpoint.eq_ignore_ascii_case(&other.store.endpoint) && self.store.bucket == other.store.bucket;
        self.store.id == other.store.id || (same && self.certain && other.certain)
    }
}

/// Compares every archive with every other, and with the prefixes of our own. Gives the stores that must not be written to.
pub(super) fn check<'a>(
    work: &mut Work,
    stores: impl Iterator<Item = &'a StoreSettings>,
    databases: &[(PostgresSettings, bool)],
) -> Vec<StoreId> {
    let stores: Vec<&StoreSettings> = stores.collect();
    let mut unsafe_to_write = Vec::new();
    let archives: Vec<Lies<'_>> = databases.iter().filter_map(|(database, _)| archive(work, &stores, database)).collect();
    // What stands in a placeholder's place says nothing about where things lie.
    let real: Vec<&Lies<'_>> = archives
        .iter()
        .filter(|archive| work.placeholders_below(&archive.key).is_empty() && !work.is_wrong(&archive.key))
        .collect();
    let mut rest = real.as_slice();
    while let [one, others @ ..] = rest {
        for other in others.iter().filter(|other| one.same_bucket(other) && one.root.overlaps(&other.root)) {
            shared(work, one, other);
        }
        rest = others;
    }
    for store in &stores {
        let Some(own) = &store.own else { continue };
        let key = format!("stores.{}.own.prefix", store.id);
        let ours = Lies { store, certain: certain(work, store), root: own.prefix.clone(), key };
        for archive in real.iter().filter(|archive| ours.same_bucket(archive) && ours.root.overlaps(&archive.root)) {
            let text = format!(
                "\"{}\" overlaps {} at \"{}\", and we never write where an archive lies",
                ours.root, archive.key, archive.root
            );
            let mistake = Mistake::new(&work.root.place_of(&ours.key), &ours.key, "own-prefix-in-archive", text);
            work.refused.push(mistake.hint("choose a prefix of our own, such as dalsegno/"));
            unsafe_to_write.push(store.id.clone());
        }
    }
    unsafe_to_write
}

fn archive<'a>(work: &Work, stores: &[&'a StoreSettings], database: &PostgresSettings) -> Option<Lies<'a>> {
    let store = stores.iter().find(|store| store.id == database.place.store)?;
    let key = format!("postgres.{}.archive", database.name);
    Some(Lies { store, certain: certain(work, store), root: database.place.root(), key })
}

fn certain(work: &Work, store: &StoreSettings) -> bool {
    work.placeholders_below(&format!("stores.{}", store.id)).is_empty()
}

fn shared(work: &mut Work, one: &Lies<'_>, other: &Lies<'_>) {
    let at = work.root.place_of(&other.key);
    if one.root == other.root {
        let first = work.root.place_of(&one.key);
        let text = format!("lies at \"{}\" of bucket {}, and so does {} ({first})", other.root, other.store.bucket, one.key);
        let hint = "each archive needs a server name or a prefix of its own; two writers in one place overwrite each other";
        work.refused.push(Mistake::new(&at, &other.key, notice::SHARED, text).hint(hint));
    } else {
        let text = format!("\"{}\" and \"{}\" ({}) lie inside each other", other.root, one.root, one.key);
        let hint = "give them prefixes side by side, so that no clean-up of one can reach the other";
        work.warnings.push(Mistake::new(&at, &other.key, "archive-prefixes-nested", text).hint(hint));
    }
}
