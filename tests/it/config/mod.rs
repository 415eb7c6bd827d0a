//! Suite `config`.
