//! The one integration binary: a module per suite.
#![allow(missing_docs, unreachable_pub, reason = "tests are named as sentences and imported by nobody")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test ends by panicking")]
#![allow(clippy::disallowed_macros, reason = "a test talks through the harness, and says what it skips on stderr")]
#![allow(
    clippy::type_complexity,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    clippy::similar_names,
    clippy::trivially_copy_pass_by_ref,
    clippy::manual_is_multiple_of,
    clippy::case_sensitive_file_extension_comparisons,
    clippy::assigning_clones,
    reason = "small tables and small numbers of our own making"
)]

mod archive;
mod calendar;
mod chart;
mod cli;
mod clock;
mod cnpg;
mod cnpg_drill;
mod conductor;
mod config;
mod corpus;
mod drill;
mod execution;
mod home;
mod house;
mod ledger;
mod life;
mod manifests;
mod notify;
mod policy;
mod providers;
mod restore;
mod runbook;
mod store;
mod story;
mod tap;
