//! Suite `providers`.
mod objectstore;
