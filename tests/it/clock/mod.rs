//! Suite `clock`: the disk-full clock over simulated weeks, over series with every fault, over passes with a ledger, and
//! against a real PostgreSQL on a volume that is really full.

mod faults;
mod real;
pub(crate) mod sim;
mod soak;
mod weeks;
