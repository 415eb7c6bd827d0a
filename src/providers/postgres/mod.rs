//! PostgreSQL archives in an object store.

pub mod config;
