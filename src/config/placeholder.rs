//! Values that nobody filled in: what they look like is a noun of the domain, since live objects hold them too.

pub use crate::domain::{ValueKind as Kind, is_placeholder};
