//! Machine words of what the configuration says, where they are finding codes as well.

/// A value that nobody filled in.
pub(super) const PLACEHOLDER: &str = "config-placeholder-unresolved";
/// Two databases archive to one place.
pub(super) const SHARED: &str = "wal-prefix-shared-by-two-writers";
/// A secret that is not where the configuration says.
pub(super) const SECRET_MISSING: &str = "secret-missing";
