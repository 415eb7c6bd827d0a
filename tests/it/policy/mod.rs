//! Every rule has a case that must fire and a twin that must stay silent.

mod archive;
mod backups;
pub(crate) mod cnpg_archiving;
mod cnpg_runs;
mod codes;
pub(crate) mod flip;
mod gaps;
mod properties;
mod recovery;
pub(crate) mod scene;
mod store;
