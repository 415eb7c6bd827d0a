//! The only place that turns settings into objects.

pub use crate::config;
