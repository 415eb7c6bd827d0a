//! Suite `restore`: real PostgreSQL, real barman-cloud, a real S3 server.

mod bad;
mod drill;
mod judging;
mod kill;
mod planted;
mod proven;
mod tails;
mod tars;
