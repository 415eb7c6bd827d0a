//! Suite `story`: the program itself, from outside, against a real S3 server, real PostgreSQL and real archives of barman-cloud.

mod archived;
mod bad;
mod journey;
mod kill;
mod moments;
mod stage;
mod stop;
