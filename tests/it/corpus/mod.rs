//! Suite `corpus`.
