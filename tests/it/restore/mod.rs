//! Suite `restore`.
