//! dalsegno conducts the backups of small-team platforms and proves that they restore.
//!
//! The rooms, and what each may import, are in ARCHITECTURE.md; a test reads the imports and names the broken rule.

pub mod app;
pub mod archive;
pub mod cli;
pub mod conductor;
pub mod config;
pub mod domain;
pub mod drill;
pub mod execution;
pub mod ledger;
pub mod notify;
pub mod policy;
pub mod process;
pub mod providers;
pub mod reader;
pub mod restore;
pub mod runbook;
pub mod store;
pub mod tap;
pub mod telemetry;
pub mod yaml;
