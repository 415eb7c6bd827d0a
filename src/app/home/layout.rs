//! Names of what lies below our own prefix, and the proof that a thing of such a name is ours.
//!
//! ```text
//! head.json                              which snapshot is the ledger; changed by If-Match only
//! ledger/00000017-<uuid>.sqlite.zst      snapshots; the newest is what head.json names
//! config/<sha256>.json                   the effective configuration, secrets as references
//! status/<site>.json                     what the last pass saw, small
//! evidence/<site>/<run>.json             one immutable file per drill
//! ```

use std::collections::BTreeMap;

use crate::domain::{Prefix, RunId};

/// Which snapshot is the ledger.
pub(super) const HEAD: &str = "head.json";
/// Folder of snapshots.
pub(super) const SNAPSHOTS: &str = "ledger/";
/// Folder of configurations.
pub(super) const CONFIGS: &str = "config/";
/// Folder of evidence, by site.
const EVIDENCE: &str = "evidence/";
/// So many snapshots are kept, the current one included: a reader that is slow still finds what an older head named, and a
/// person can go back. By serial number, never by a clock.
pub const SNAPSHOTS_KEPT: u64 = 10;
/// So many configurations are kept, the current one included.
pub(super) const CONFIGS_KEPT: usize = 10;

/// The metadata by which an object is known as ours: `x-amz-meta-dalsegno: <kind>`.
pub(super) const MARK: &str = "dalsegno";
/// The header that it comes back as.
pub(super) const MARK_HEADER: &str = "x-amz-meta-dalsegno";

/// Kinds of marks.
pub(super) mod kind {
    pub(in super::super) const SNAPSHOT: &str = "ledger-snapshot";
    pub(in super::super) const CONFIG: &str = "config";
    pub(in super::super) const TRIAL: &str = "conditional-trial";
}

/// The metadata of an object of this kind.
pub(super) fn mark(kind: &str, site: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(MARK.to_owned(), kind.to_owned()), ("dalsegno-site".to_owned(), site.to_owned())])
}

/// `ledger/00000017-<uuid>.sqlite.zst`. The id of the run is in it, so no two writers ever take the same name.
pub(super) fn snapshot(serial: u64, run: RunId, attempt: uuid::Uuid) -> String {
    format!("{SNAPSHOTS}{serial:08}-{}-{attempt}.sqlite.zst", run.short())
}

/// The serial number in the name of a snapshot of ours, below our prefix; `None` for every other name.
pub(super) fn serial_of(name: &str) -> Option<u64> {
    let (serial, rest) = name.strip_prefix(SNAPSHOTS)?.strip_suffix(".sqlite.zst")?.split_once('-')?;
    let (run, id) = rest.split_once('-')?;
    let is_run = run.len() == 8 && run.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_ours = serial.len() >= 8 && is_run && uuid::Uuid::try_parse(id).is_ok_and(|id| id.get_version_num() == 7);
    is_ours.then(|| serial.parse().ok()).flatten()
}

/// `ledger/trial-<uuid>`: made and removed again while it is tried whether conditions are honoured.
pub(super) fn trial(id: uuid::Uuid) -> String {
    format!("{SNAPSHOTS}trial-{id}")
}

/// When a trial was made, in Unix seconds, by its name.
pub(super) fn trial_made(name: &str) -> Option<u64> {
    let id = uuid::Uuid::try_parse(name.strip_prefix(SNAPSHOTS)?.strip_prefix("trial-")?).ok()?;
    Some(id.get_timestamp()?.to_unix().0)
}

/// `config/<sha256>.json`.
pub(super) fn config(sha256: &str) -> String {
    format!("{CONFIGS}{sha256}.json")
}

/// Whether the name is one of a configuration of ours.
pub(super) fn is_config(name: &str) -> bool {
    let digest = name.strip_prefix(CONFIGS).and_then(|name| name.strip_suffix(".json"));
    digest.is_some_and(|digest| digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// `status/<site>.json`.
pub(super) fn status(site: &str) -> String {
    format!("status/{site}.json")
}

/// The folder of a site's evidence.
pub(super) fn evidence_folder(site: &str) -> String {
    format!("{EVIDENCE}{site}/")
}

/// `evidence/<site>/<run>.json`.
pub(super) fn evidence(site: &str, run: RunId) -> String {
    format!("{}{run}.json", evidence_folder(site))
}

/// The run in the name of a site's evidence.
pub(super) fn evidence_run(name: &str, site: &str) -> Option<RunId> {
    RunId::parse(name.strip_prefix(&evidence_folder(site))?.strip_suffix(".json")?)
}

/// The whole key of a name.
pub(super) fn key(prefix: &Prefix, name: &str) -> String {
    format!("{prefix}{name}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends by panicking")]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_we_give_are_ours() {
        let name = snapshot(17, RunId::new(), uuid::Uuid::now_v7());
        assert_eq!(serial_of(&name), Some(17), "{name}");
        assert_eq!(serial_of(&snapshot(123_456_789, RunId::new(), uuid::Uuid::now_v7())), Some(123_456_789));
        let v4 = "6fa459ea-ee8a-4ca4-894e-db77e160355e";
        for foreign in [
            "ledger/00000017.sqlite.zst".to_owned(),
            name.replace("ledger/", "ledger/old/"),
            name.replace(".zst", ""),
            format!("{name}.bak"),
            format!("ledger/00000017-0a0b0c0d-{v4}.sqlite.zst"),
            name.replace("00000017", "17"),
            name.replace("00000017", "+0000017"),
        ] {
            assert_eq!(serial_of(&foreign), None, "{foreign}");
        }
        assert!(is_config(&config(&"a0".repeat(32))));
        assert!(!is_config("config/dalsegno.json") && !is_config(&format!("config/x/{}.json", "a0".repeat(32))));
        let run = RunId::new();
        assert_eq!(evidence_run(&evidence("home", run), "home"), Some(run));
        assert_eq!(evidence_run(&evidence("home", run), "hom"), None);
        assert_eq!(evidence_run(&evidence("home/x", run), "home"), None);
        assert!(trial_made(&trial(uuid::Uuid::now_v7())).is_some() && trial_made("ledger/trial-1").is_none());
    }
}
