//! Suite `tap`.
