//! Suite `providers`.

mod objectstore;
mod postgres;
