//! AWS Signature Version 4 for S3, header form
//! (<https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>).

use std::fmt::Write as _;

use jiff::Timestamp;
use ring::{digest, hmac};

/// An access key with its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// The access key id.
    pub id: String,
    /// The secret access key; the lab's are made up and worth nothing.
    pub secret: String,
}

impl Keys {
    /// A pair of keys.
    pub fn new(id: impl Into<String>, secret: impl Into<String>) -> Keys {
        Keys { id: id.into(), secret: secret.into() }
    }
}

/// What is signed: everything as it goes over the wire.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// The path, percent-encoded.
    pub(crate) path: &'a str,
    /// The query without `?`, percent-encoded.
    pub(crate) query: &'a str,
    /// Lower-case names and values of the signed headers, `host` among them.
    pub(crate) headers: Vec<(String, String)>,
    /// SHA-256 of the body in hex, or the literal of `x-amz-content-sha256`.
    pub(crate) payload: &'a str,
}

/// `20261130T101112Z`.
pub(crate) fn amz_date(at: Timestamp) -> String {
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// SHA-256 in hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The value of the `Authorization` header. `date` is the value of `x-amz-date`, which must be
/// among the headers.
pub(crate) fn authorization(request: &Request<'_>, keys: &Keys, region: &str, date: &str) -> String {
    let mut headers = request.headers.clone();
    headers.sort();
    let mut query: Vec<String> = request
        .query
        .split('&')
        .filter(|p| !p.is_empty())
        .map(|p| if p.contains('=') { p.to_owned() } else { format!("{p}=") })
        .collect();
    query.sort();
    let canonical_headers = headers.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name}:{}", value.trim());
        text
    });
    let signed = headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
    let canonical =
        format!("{}\n{}\n{}\n{canonical_headers}\n{signed}\n{}", request.method, request.path, query.join("&"), request.payload);
    let day = date.get(..8).unwrap_or(date);
    let scope = format!("{day}/{region}/s3/aws4_request");
    let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", sha256_hex(canonical.as_bytes()));
    let mut key = format!("AWS4{}", keys.secret).into_bytes();
    for part in [day, region, "s3", "aws4_request"] {
        key = mac(&key, part.as_bytes());
    }
    let signature = hex(&mac(&key, to_sign.as_bytes()));
    format!("AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={signed}, Signature={signature}", keys.id)
}

fn mac(key: &[u8], data: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), data).as_ref().to_vec()
}

/// Percent-encodes as S3 wants it; `/` stays when `path`.
pub(crate) fn encode(text: &str, path: bool) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (path && byte == b'/') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
