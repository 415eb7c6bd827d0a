//! Why a call to the outside gave no usable answer: one type for all seams, live and replayed alike.

use std::error::Error;

use serde::{Deserialize, Serialize};

/// What kind of failure it was, as the wire shows it. What it means is told by the room above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The other side answered with an error of its own; `status` and usually `code` are there.
    Answered,
    /// The name does not resolve.
    Dns,
    /// The handshake failed, or the certificate is not trusted.
    Tls,
    /// Nobody listens there.
    Refused,
    /// The connection was cut before an answer came.
    Reset,
    /// No answer in time.
    Timeout,
    /// An answer began and broke off.
    Cut,
    /// An answer came and made no sense.
    Malformed,
    /// The request could not be made at all: a bad URL, a bad header.
    NotSent,
    /// A replay that has no answer for this question. Never the same as an empty answer.
    NotRecorded,
}

/// A call that gave no usable answer. Boxed, because it is part of every result of every seam.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", .0.detail)]
pub struct CallError(Box<Broken>);

impl std::ops::Deref for CallError {
    type Target = Broken;

    fn deref(&self) -> &Broken {
        &self.0
    }
}

impl std::ops::DerefMut for CallError {
    fn deref_mut(&mut self) -> &mut Broken {
        &mut self.0
    }
}

/// What is known of a failed call.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// What kind of failure.
    pub kind: FailureKind,
    /// HTTP status, when there was an answer.
    pub status: Option<u16>,
    /// The other side's own error code: `NoSuchKey`, `SlowDown`.
    pub code: Option<String>,
    /// What happened, in the other side's words where it gave some.
    pub detail: String,
    /// Seconds to wait, when the other side said so.
    pub retry_after: Option<u64>,
    /// The region the other side named (S3 only).
    pub region: Option<String>,
    /// The other side's clock minus ours, in seconds, when it sent a `Date`.
    pub skew_seconds: Option<f64>,
    /// The other side's id of the request, for its operator.
    pub request_id: Option<String>,
    /// How many times it was tried.
    pub attempts: u32,
}

impl CallError {
    /// A failure without an answer.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self(Box::new(Broken {
            kind,
            status: None,
            code: None,
            detail: detail.into(),
            retry_after: None,
            region: None,
            skew_seconds: None,
            request_id: None,
            attempts: 1,
        }))
    }

    /// The same with something more known of it.
    #[must_use]
    pub fn with(mut self, add: impl FnOnce(&mut Broken)) -> Self {
        add(&mut self.0);
        self
    }

    /// An answer that is an error.
    pub fn answered(status: u16, code: Option<String>, detail: impl Into<String>) -> Self {
        Self::new(FailureKind::Answered, detail).with(|broken| {
            broken.status = Some(status);
            broken.code = code;
        })
    }

    /// Whether the code is this one.
    pub fn has_code(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }
}

/// Reads a chain of errors of any HTTP client: which kind it is, and its words joined without repetition.
///
/// Clients wrap errors in many layers, so the innermost one that is telling decides; `None` when none is.
pub fn read_chain(error: &(dyn Error + 'static)) -> (Option<FailureKind>, String) {
    let mut kind = None;
    let mut words: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(current) = next {
        let text = current.to_string();
        kind = kind_of(current, &text).or(kind);
        if !words.iter().any(|before| before.contains(&text)) {
            words.push(text);
        }
        next = current.source();
    }
    (kind, words.join(": "))
}

fn kind_of(error: &(dyn Error + 'static), text: &str) -> Option<FailureKind> {
    if error.downcast_ref::<rustls::Error>().is_some() {
        return Some(FailureKind::Tls);
    }
    if let Some(io) = error.downcast_ref::<std::io::Error>() {
        if io.get_ref().is_some_and(|inner| inner.downcast_ref::<rustls::Error>().is_some()) {
            return Some(FailureKind::Tls);
        }
        if let Some(kind) = kind_of_io(io.kind()) {
            return Some(kind);
        }
    }
    let text = text.to_ascii_lowercase();
    if text.contains("dns error") || text.contains("failed to lookup address") {
        return Some(FailureKind::Dns);
    }
    if text.contains("invalid peer certificate") || text.contains("received fatal alert") || text.contains("corrupt message") {
        return Some(FailureKind::Tls);
    }
    if text.contains("timed out") || text.contains("timeout") || text.contains("minimum throughput") {
        return Some(FailureKind::Timeout);
    }
    if text.contains("incomplete message") || text.contains("before message completed") || text.contains("end of file before") {
        return Some(FailureKind::Cut);
    }
    None
}

fn kind_of_io(kind: std::io::ErrorKind) -> Option<FailureKind> {
    use std::io::ErrorKind as Io;
    match kind {
        Io::ConnectionRefused | Io::HostUnreachable | Io::NetworkUnreachable | Io::AddrNotAvailable => Some(FailureKind::Refused),
        Io::ConnectionReset | Io::ConnectionAborted | Io::BrokenPipe | Io::NotConnected => Some(FailureKind::Reset),
        Io::TimedOut => Some(FailureKind::Timeout),
        Io::UnexpectedEof => Some(FailureKind::Cut),
        _ => None,
    }
}
