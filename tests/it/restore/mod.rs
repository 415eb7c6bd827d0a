//! Suite `restore`: real PostgreSQL, real barman-cloud, a real S3 server.

mod bad;
pub(crate) mod drill;
mod judging;
mod kill;
mod majors;
mod passing;
mod planted;
mod proven;
mod readiness;
mod tails;
mod tars;
