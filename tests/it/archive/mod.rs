//! Suite `archive`.
