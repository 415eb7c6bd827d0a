//! Suite `cli`.
