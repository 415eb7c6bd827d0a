//! Suite `story`: the real binary against real servers, from a configuration file to an exit code.

mod platform;
mod told;
