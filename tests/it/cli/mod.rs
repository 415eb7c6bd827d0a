//! Suite `cli`: argv in, data on stdout, talk on stderr, an exit code.

mod archive;
mod commands;
mod help;
mod newcomer;
mod talk;
