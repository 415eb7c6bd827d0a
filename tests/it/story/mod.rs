//! Suite `story`.
