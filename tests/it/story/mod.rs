//! Suite `story`: the program itself, from outside, against a real S3 server, real PostgreSQL and real archives of barman-cloud.
#![allow(clippy::disallowed_macros, reason = "what was skipped, and by which chance, is said beside the result")]

pub(crate) mod archived;
mod bad;
mod journey;
mod kill;
mod moments;
mod stage;
mod stop;
