//! Where the ledger is at home between passes: the state folder (`volume`), or a bucket of ours (`bucket`), so that nothing of the
//! machine has to outlive a pass.
//!
//! At its start a command brings the snapshot that `head.json` names into a folder of its own; at the end of a pass a new snapshot is
//! written and `head.json` is swung over by If-Match. Who finds another head there than the one they came from has lost the race and
//! says so. Commands that only read write nothing back. The layout is in `layout`.

mod address;
mod book;
mod bring;
mod conditions;
mod effective;
mod error;
mod evidence;
mod from;
mod head;
mod holder;
mod keep;
mod layout;
mod prune;
mod references;
mod rewind;
mod scratch;
mod status;

pub use address::Address;
pub use book::{Book, Kept};
pub use error::HomeError;
pub use from::{Ask, Source, from_bucket};
pub use layout::SNAPSHOTS_KEPT;
pub use rewind::Rewound;
