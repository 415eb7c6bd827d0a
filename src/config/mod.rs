//! Files and environment → settings, or all mistakes at once.
//!
//! Three families: fragments (as written; each provider owns its own), inputs (secrets read), settings (checked). Between
//! YAML and fragments stands a tree in which everything knows its place, held against the schema of the fragments.

mod attention;
mod build;
mod channels;
mod clusters;
mod files;
mod fragment;
mod ledger;
mod load;
mod mistake;
mod notice;
mod overlap;
mod overrides;
mod placeholder;
mod prometheus;
mod reference;
mod schema;
mod secrets;
mod settings;
mod show;
mod state;
mod tree;
mod walk;

use std::path::{Path, PathBuf};

pub use channels::{ChannelSettings, MailSettings, NotifySettings, WaySettings, WebhookSettings};
pub use fragment::{ConfigFragment, LedgerHome};
pub use load::{Loaded, check, check_without_secrets, load, load_without_secrets};
pub use mistake::{At, ConfigErrors, Mistake};
pub use placeholder::{Kind, is_placeholder};
pub use reference::reference;
pub use schema::Schema;
pub use settings::{DrillSettings, LedgerSettings, PassSettings, Settings};
pub use show::shown;
pub use state::default_state_folder;

/// Where the configuration is looked for when nobody says: the first that is there.
pub const USUAL_PLACES: [&str; 2] = ["dalsegno.yaml", "/etc/dalsegno"];

/// The sources that were named, else the first usual place that is there. An error when there is none.
pub fn sources(named: &[PathBuf]) -> Result<Vec<PathBuf>, ConfigErrors> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let found = USUAL_PLACES.iter().map(Path::new).find(|place| place.exists());
    found.map(|place| vec![place.to_owned()]).ok_or_else(|| {
        let text = format!("no configuration: neither {} is there", USUAL_PLACES.join(" nor "));
        let hint = "dalsegno init dalsegno.yaml  writes one to start from; --config PATH or DALSEGNO_CONFIG names another place";
        ConfigErrors::new(vec![Mistake::new(&At::Nowhere, "", "config-missing", text).hint(hint)])
    })
}
