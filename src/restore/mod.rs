//! Streams base backup and WAL into a data directory, starts and stops PostgreSQL. Implements Act.
//!
//! One drill: `archive.choose` reads the catalogue and says where recovery must end; `sandbox.make` makes a folder and a keeper
//! for it; `pg.restore-base` streams the base backup while WAL is fetched beside it; `pg.recover` starts PostgreSQL as a standby,
//! watches replay and promotes at the end that was said; `pg.check` asks the questions. What can be wrong is one of two things: the
//! archive is bad ([`Trouble::Bad`]) or we could not ([`Trouble::CouldNot`]).

mod binaries;
mod blame;
mod conf;
pub mod hold;
mod isolation;
mod keeper;
mod pipe;
mod process;
mod retry;
mod roles;
mod sandbox;
mod session;
mod settings;
mod space;
mod sweep;
mod title;
mod tree;
mod trouble;
mod untar;

pub use settings::{Limits, RestoreSettings, RestoreSubject};
pub use sweep::{Swept, SweptOutcome, sweep};
pub use trouble::Trouble;
