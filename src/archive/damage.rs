//! What can be wrong with the bytes of an object.

/// Why bytes are not what their name says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// No bytes at all.
    #[error("the object is empty")]
    Empty,
    /// The body still carries the upload's aws-chunked framing.
    #[error("the object carries aws-chunked framing: the store kept the upload's envelope as content")]
    ChunkFraming,
    /// The first bytes are not those of the compression that the suffix names.
    #[error("the object does not start as {wanted} does: found {found}")]
    NotThisFormat {
        /// Name of the compression.
        wanted: &'static str,
        /// First bytes, hex.
        found: String,
    },
    /// The compressed stream breaks off.
    #[error("the compressed stream is cut off after {got} of {wanted} bytes")]
    CutOff {
        /// Bytes that came out.
        got: u64,
        /// Bytes that should.
        wanted: u64,
    },
    /// The decoder met something that cannot be.
    #[error("the compressed stream is damaged: {why}")]
    Broken {
        /// The decoder's words.
        why: String,
    },
    /// Fewer bytes than a segment has.
    #[error("holds {got} bytes where a segment has {wanted}")]
    TooShort {
        /// Bytes that came out.
        got: u64,
        /// Bytes that should.
        wanted: u64,
    },
    /// More bytes than a segment has; decoding stopped there.
    #[error("holds more than the {wanted} bytes of a segment")]
    TooLong {
        /// Bytes that should come out.
        wanted: u64,
    },
    /// Bytes follow after the end of the compressed stream.
    #[error("{count} bytes follow after the end of the compressed stream")]
    TrailingBytes {
        /// How many.
        count: u64,
    },
    /// The part that was fetched ends before the first bytes could be decoded: ask for more.
    #[error("the first {given} bytes are not enough to decode the beginning")]
    NeedMore {
        /// Bytes given.
        given: u64,
    },
}

impl Damage {
    pub(super) fn wrong_format(wanted: &'static str, bytes: &[u8]) -> Self {
        let found = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
        Self::NotThisFormat { wanted, found }
    }
}
