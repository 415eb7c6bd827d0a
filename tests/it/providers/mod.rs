//! Suite `providers`.

mod objectstore;
mod postgres;
mod prometheus;
