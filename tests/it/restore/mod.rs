//! Suite `restore`: real PostgreSQL, real barman-cloud, a real S3 server.

mod bad;
pub(crate) mod drill;
mod judging;
mod kill;
mod passing;
mod planted;
mod proven;
mod tails;
mod tars;
