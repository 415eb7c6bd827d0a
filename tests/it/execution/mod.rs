//! Suite `execution`.

pub(crate) mod bench;
pub(crate) mod folder_act;
pub(crate) mod form;
mod journal;
#[cfg(feature = "lab")]
mod kill;
mod runs;
mod sweeps;
mod verbs;
