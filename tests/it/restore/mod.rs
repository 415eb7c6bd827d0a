//! Suite `restore`: real PostgreSQL, real barman-cloud, a real S3 server.

mod bad;
mod drill;
mod proven;
