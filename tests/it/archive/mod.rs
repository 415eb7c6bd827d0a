//! The archive room: parsers of outside bytes, the catalogue, and plans.
mod builder;
mod choosing;
mod codecs;
mod control_file;
mod facts;
mod names;
mod records;
mod targets;
