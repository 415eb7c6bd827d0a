//! Rules about schedules, base backups and recoveries of CNPG Clusters.

mod kinds;
mod promises;
mod queue;
mod restores;
pub(crate) mod scene;
mod schedules;
