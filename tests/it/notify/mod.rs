//! Suite `notify`.
