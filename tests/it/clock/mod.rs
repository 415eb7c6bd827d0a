//! Suite `clock`: the disk-full clock over simulated weeks, over series with every fault, and over passes with a ledger.

mod faults;
mod sim;
mod soak;
mod weeks;
