//! Every rule has a case that must fire and a twin that must stay silent.

mod archive;
mod backups;
mod cnpg_archiving;
mod cnpg_runs;
mod codes;
mod gaps;
mod properties;
mod recovery;
pub(crate) mod scene;
mod store;
