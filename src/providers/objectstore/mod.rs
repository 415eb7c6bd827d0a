//! Object stores that speak S3.

pub mod config;
