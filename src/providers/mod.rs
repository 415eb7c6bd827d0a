//! One folder per outside system; each owns its configuration fragment.

pub mod cnpg;
pub mod kubernetes;
pub mod objectstore;
pub mod postgres;
pub mod prometheus;
