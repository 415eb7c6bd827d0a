//! Streams base backup and WAL into a data directory, starts and stops PostgreSQL. Implements Act.
//!
//! One drill: `archive.choose` reads the catalogue and says where recovery must end; `sandbox.make` makes a folder and a keeper
//! for it; `pg.restore-base` streams the base backup while WAL is fetched beside it; `pg.recover` starts PostgreSQL as a standby,
//! watches replay and promotes at the end that was said; `pg.check` asks the questions. What can be wrong is one of two things: the
//! archive is bad ([`Trouble::Bad`]) or we could not ([`Trouble::CouldNot`]).

pub mod base;
pub mod binaries;
pub mod blame;
pub mod check;
pub mod choose;
pub mod cnpg;
pub mod conf;
pub mod ending;
pub mod held;
pub mod hold;
pub mod isolation;
pub mod keeper;
pub mod make;
pub mod memory;
pub mod pipe;
pub mod process;
pub mod readiness;
pub mod recover;
pub mod remove;
pub mod replay;
pub mod restorer;
pub mod retry;
pub mod roles;
pub mod sandbox;
pub mod session;
pub mod settings;
pub mod space;
pub mod title;
pub mod tree;
pub mod trouble;
pub mod untar;
pub mod verbs;
pub mod wal;
pub mod watch;
pub mod whole;

pub use readiness::{Candidate, Need};
pub use restorer::Restorer;
pub use settings::{Limits, RestoreSettings, RestoreSubject};
pub use trouble::Trouble;
pub use verbs::VERBS;
