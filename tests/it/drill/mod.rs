//! Suite `drill`.
