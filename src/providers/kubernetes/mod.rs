//! How Kubernetes clusters are reached: what every provider that reads one shares.

pub mod config;
