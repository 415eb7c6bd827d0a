//! Suite `home`: a ledger that is at home in a bucket, against a real SeaweedFS; and a laptop that goes on from it.

mod daemon;
mod faults;
mod from;
mod kill;
mod marks;
mod passes;
mod races;
pub(crate) mod stage;
