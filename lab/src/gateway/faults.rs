//! Bad days of single requests: a status, a hang, half an object, an endless one, a late one.

use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::{Response, header};
use bytes::Bytes;
use futures::StreamExt as _;

use super::rules::Seen;
use super::{Decision, answers};

/// What happens to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// This status and S3 code.
    Status(u16, String),
    /// No answer, ever.
    Hang,
    /// The answer comes so much later.
    Late(Duration),
    /// The connection dies after so many bytes of the body.
    Cut(u64),
    /// The body is shorter than it was, and Content-Length agrees: nothing shows it.
    Short(u64),
    /// The body never ends (zeros are sent after the object, without a Content-Length).
    Endless,
    /// The body is replaced by these bytes.
    Replace(Bytes),
    /// Byte `n` of the body is flipped.
    Flip(u64),
}

/// A fault: which requests, what, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The method; empty is any; `LIST` is a listing.
    pub method: String,
    /// A part of path and query that must be there.
    pub contains: String,
    /// What happens.
    pub what: What,
    /// How many times still; none is always.
    pub times: Option<u32>,
}

impl Fault {
    /// Happens to every request of this method whose path or query contains the text.
    pub fn always(method: &str, contains: &str, what: What) -> Fault {
        Fault { method: method.to_owned(), contains: contains.to_owned(), what, times: None }
    }

    /// Happens so many times, then never again.
    pub fn times(method: &str, contains: &str, what: What, times: u32) -> Fault {
        Fault { times: Some(times), ..Fault::always(method, contains, what) }
    }

    fn hits(&self, seen: &Seen) -> bool {
        let verb = if seen.is_list() { "LIST" } else { seen.method.as_str() };
        let where_ = format!("{}?{}", seen.path, seen.query);
        self.times != Some(0) && (self.method.is_empty() || self.method == verb) && where_.contains(&self.contains)
    }
}

/// What is done to the answer on its way back.
pub(super) enum After {
    Nothing,
    Cut(u64),
    Short(u64),
    Endless,
    Replace(Bytes),
    Flip(u64),
}

/// The first fault that hits.
pub(super) fn decide(faults: &mut [Fault], seen: &Seen) -> Decision {
    let Some(fault) = faults.iter_mut().find(|fault| fault.hits(seen)) else {
        return Decision::Pass(After::Nothing, Duration::ZERO);
    };
    if let Some(times) = &mut fault.times {
        *times -= 1;
    }
    let after = match &fault.what {
        What::Status(status, code) => return Decision::refuse(answers::error(*status, code, "as the lab was told", seen)),
        What::Hang => return Decision::Hang,
        What::Late(late) => return Decision::Pass(After::Nothing, *late),
        What::Cut(bytes) => After::Cut(*bytes),
        What::Short(bytes) => After::Short(*bytes),
        What::Endless => After::Endless,
        What::Replace(bytes) => After::Replace(bytes.clone()),
        What::Flip(at) => After::Flip(*at),
    };
    Decision::Pass(after, Duration::ZERO)
}

impl After {
    pub(super) fn apply(self, response: Response<Body>) -> Response<Body> {
        if !response.status().is_success() {
            return response;
        }
        let (mut parts, body) = response.into_parts();
        let body = match self {
            After::Nothing => body,
            // Content-Length stays: the client sees a body that ends early.
            After::Cut(bytes) => Body::from_stream(
                first(body, bytes).chain(futures::stream::once(async { Err(std::io::Error::other("cut by the lab").into()) })),
            ),
            After::Short(bytes) => {
                let whole = body.size_hint().exact().unwrap_or(bytes);
                parts.headers.insert(header::CONTENT_LENGTH, whole.min(bytes).into());
                Body::from_stream(first(body, bytes))
            }
            After::Endless => {
                parts.headers.remove(header::CONTENT_LENGTH);
                let zeros = futures::stream::repeat_with(|| Ok(Bytes::from_static(&[0; 16 * 1024])));
                Body::from_stream(body.into_data_stream().chain(zeros))
            }
            After::Replace(bytes) => {
                parts.headers.insert(header::CONTENT_LENGTH, bytes.len().into());
                Body::from(bytes)
            }
            After::Flip(at) => Body::from_stream(flip(body, at)),
        };
        Response::from_parts(parts, body)
    }
}

type Chunk = Result<Bytes, axum::Error>;

/// The first bytes of a body.
fn first(body: Body, bytes: u64) -> impl futures::Stream<Item = Result<Bytes, axum::BoxError>> {
    body.into_data_stream().scan(bytes, |left, chunk: Chunk| {
        let item = match chunk {
            _ if *left == 0 => None,
            Ok(mut chunk) => {
                chunk.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= chunk.len() as u64;
                Some(Ok(chunk))
            }
            Err(e) => Some(Err(e.into())),
        };
        futures::future::ready(item)
    })
}

fn flip(body: Body, at: u64) -> impl futures::Stream<Item = Chunk> {
    body.into_data_stream().scan(0u64, move |start, chunk: Chunk| {
        let changed = chunk.map(|chunk| {
            let begin = *start;
            *start += chunk.len() as u64;
            let mut bytes = chunk.to_vec();
            if let Some(byte) = at.checked_sub(begin).and_then(|i| usize::try_from(i).ok()).and_then(|i| bytes.get_mut(i)) {
                *byte ^= 0xff;
            }
            Bytes::from(bytes)
        });
        futures::future::ready(Some(changed))
    })
}
