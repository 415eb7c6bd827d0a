//! Suite `providers`.
