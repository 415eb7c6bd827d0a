//! One folder per outside system.
