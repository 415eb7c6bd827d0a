//! Suite `ledger`.
