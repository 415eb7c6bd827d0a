//! Suite `providers`.
mod postgres;
