//! Restores into a Kubernetes cluster: CloudNativePG's operator recovers the archive into a Cluster of a sandbox namespace, in the
//! source's image; the same questions are asked of it as of a server of this machine.
//!
//! The actor stands in this room, not beside the look at CNPG, since it goes on from the same choice and asks the same checks as
//! [`super::Restorer`]. It reads no Secret: the superuser's password is one that it makes and hands to the operator.
//!
//! Facts: <https://cloudnative-pg.io/documentation/current/recovery/>, <https://cloudnative-pg.io/plugin-barman-cloud/docs/usage/>.

mod actor;
mod api;
mod blame;
mod bridge;
mod check;
mod namespace;
pub mod objects;
mod recover;
mod settings;
mod verbs;

pub use actor::CnpgRestorer;
pub use blame::of_job;
pub use settings::{ArchiveKeys, DrillCluster, DrillSource, Shape};
pub use verbs::VERBS;
