//! Answers in S3's words.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use jiff::Timestamp;

use super::rules::Seen;

/// S3's error body; a HEAD gets only the status.
pub(super) fn error(status: u16, code: &str, message: &str, seen: &Seen) -> Response<Body> {
    with(status, code, message, seen, "")
}

/// 403 RequestTimeTooSkewed with both times, as AWS tells them.
pub(super) fn skewed(seen: &Seen, server: Timestamp) -> Response<Body> {
    let more = format!(
        "<RequestTime>{}</RequestTime><ServerTime>{}</ServerTime><MaxAllowedSkewMilliseconds>900000</MaxAllowedSkewMilliseconds>",
        seen.header("x-amz-date"),
        server.strftime("%Y-%m-%dT%H:%M:%SZ")
    );
    with(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.", seen, &more)
}

/// 400 AuthorizationHeaderMalformed with the right region, as AWS and Garage tell it.
pub(super) fn wrong_region(seen: &Seen, got: &str, want: &str) -> Response<Body> {
    let message = format!("The authorization header is malformed; the region '{got}' is wrong; expecting '{want}'");
    with(400, "AuthorizationHeaderMalformed", &message, seen, &format!("<Region>{want}</Region>"))
}

fn with(status: u16, code: &str, message: &str, seen: &Seen, more: &str) -> Response<Body> {
    let body = if seen.method == "HEAD" {
        Body::empty()
    } else {
        Body::from(format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code><Message>{message}</Message><Resource>{}</Resource>{more}<RequestId>LAB0000000000001</RequestId></Error>",
            seen.path
        ))
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    response.headers_mut().insert("x-amz-request-id", HeaderValue::from_static("LAB0000000000001"));
    response
}

/// An answer that no S3 server gives: a proxy's.
pub(super) fn plain(status: u16, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    response
}

/// `Mon, 30 Nov 2026 10:11:12 GMT`.
pub(super) fn http_date(at: Timestamp) -> String {
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
