//! Suite `cli`: argv in, data on stdout, talk on stderr, an exit code.

mod commands;
mod talk;
