//! The state folder when nothing is written.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// `/var/lib/dalsegno` for root; for others a folder that they own.
pub fn default_state_folder(env: &BTreeMap<String, String>) -> PathBuf {
    let set = |name: &str| env.get(name).filter(|value| value.starts_with('/'));
    if nix::unistd::Uid::effective().is_root() {
        return PathBuf::from("/var/lib/dalsegno");
    }
    match (set("XDG_STATE_HOME"), set("HOME")) {
        (Some(folder), _) => PathBuf::from(folder).join("dalsegno"),
        (None, Some(home)) => PathBuf::from(home).join(".local/state/dalsegno"),
        (None, None) => PathBuf::from("/var/lib/dalsegno"),
    }
}
