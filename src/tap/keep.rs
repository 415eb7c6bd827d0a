//! What may be kept of a body in a recording. Those who know a layout decide; without them nothing is kept.

use serde_json::Value;

/// What is kept of one body.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// These bytes, which hold only fields that somebody reads.
    Bytes(Vec<u8>),
    /// Something derived: names, sizes, digests, the 40 header bytes of a WAL segment.
    Derived(Value),
    /// Nothing. The replay then says "not recorded".
    Nothing,
}

/// The decision, and its way back.
pub trait Keep: Send + Sync {
    /// What may be kept of `body`, the bytes of `key` from `from` on.
    fn keep(&self, key: &str, from: u64, body: &[u8]) -> Kept;
    /// Bytes of which the same reader reads the same as of the original; padded by the replay to the length that was asked for.
    fn restore(&self, key: &str, derived: &Value) -> Option<Vec<u8>>;
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeepNothing;

impl Keep for KeepNothing {
    fn keep(&self, _key: &str, _from: u64, _body: &[u8]) -> Kept {
        Kept::Nothing
    }

    fn restore(&self, _key: &str, _derived: &Value) -> Option<Vec<u8>> {
        None
    }
}
