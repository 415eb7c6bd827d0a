//! Rules about archiving, places, restored Clusters and volumes of CNPG.

mod alerts;
mod archiver;
mod kinds;
mod places;
mod plugin;
mod restored;
pub(crate) mod scene;
mod volumes;
mod writers;
