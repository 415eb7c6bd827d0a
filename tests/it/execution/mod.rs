//! Suite `execution`.
