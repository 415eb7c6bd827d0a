//! Suite `cli`.
mod archive;
