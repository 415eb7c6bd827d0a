//! What the gateway is told to be, and what it reads in a request.

use axum::body::Body;
use axum::http::{HeaderMap, Request, Response};
use jiff::Timestamp;

use super::answers;
use super::faults::Fault;

/// The gateway's manners. The default passes everything.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Rules {
    /// R2's refusals (see the module `r2`).
    pub r2: bool,
    /// As users met R2: 400 InvalidArgument to `x-amz-sdk-checksum-algorithm` / `x-amz-checksum-crc32` on PUT.
    pub no_checksums: bool,
    /// Takes only the region `auto` (R2 as one user met it).
    pub only_auto: bool,
    /// Holds a key to one write a second, as R2 does: 429 TooManyRequests.
    pub one_write_a_second: bool,
    /// What HeadBucket says in `x-amz-bucket-region` (R2: a place such as `WNAM`, no signing region).
    pub bucket_region: Option<String>,
    /// The only region that may sign (AWS, Garage): others get 400 AuthorizationHeaderMalformed with this one.
    pub region: Option<String>,
    /// Access key ids that get 401 Unauthorized, as R2 answers a bad token.
    pub unauthorized: Vec<String>,
    /// Access key ids that get 403 InvalidAccessKeyId, as a revoked key elsewhere.
    pub revoked: Vec<String>,
    /// Method and key prefix that get 403 AccessDenied; an empty method is every method, `LIST` is a listing.
    pub denied: Vec<(String, String)>,
    /// Key prefixes under a bucket lock: overwrite and delete get 403 ObjectLockedByBucketPolicy.
    pub locked: Vec<String>,
    /// So many requests from now get 503 SlowDown.
    pub slow_down: u32,
    /// The server's clock is off by so many seconds: its Date header says so, and requests signed
    /// more than 15 min from *its* time get 403 RequestTimeTooSkewed.
    pub clock: i64,
    /// 404 NoSuchBucket to everything.
    pub no_bucket: bool,
    /// What happens to single requests.
    pub faults: Vec<Fault>,
}

impl Rules {
    /// R2 as documented.
    pub fn r2() -> Rules {
        Rules { r2: true, one_write_a_second: true, bucket_region: Some("WNAM".to_owned()), ..Rules::default() }
    }

    /// R2 as its users met it: no checksum headers, only `auto`.
    pub fn r2_as_met() -> Rules {
        Rules { no_checksums: true, only_auto: true, ..Rules::r2() }
    }

    /// Adds a fault.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Rules {
        self.faults.push(fault);
        self
    }
}

/// A request that came in.
#[derive(Debug, Clone)]
pub struct Seen {
    /// GET, PUT, …
    pub method: String,
    /// The path as sent (percent-encoded).
    pub path: String,
    /// The query as sent, without `?`.
    pub query: String,
    /// Header names (lower case) and values.
    pub headers: HeaderMap,
    /// The bucket.
    pub bucket: String,
    /// The key as sent (percent-encoded), empty for requests on the bucket.
    pub key: String,
}

impl Seen {
    pub(super) fn of(request: &Request<Body>) -> Seen {
        let path = request.uri().path().to_owned();
        let (bucket, key) = path.trim_start_matches('/').split_once('/').unwrap_or((path.trim_start_matches('/'), ""));
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        Seen {
            method: request.method().to_string(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            headers: request.headers().clone(),
            path,
            bucket,
            key,
        }
    }

    /// A header's value; empty when it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// A parameter of the query, percent-encoded; `Some("")` when it has no value.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| match pair.split_once('=') {
            Some((n, value)) if n == name => Some(value),
            None if pair == name => Some(""),
            _ => None,
        })
    }

    /// Whether it asks for a listing of the bucket's objects.
    pub fn is_list(&self) -> bool {
        self.method == "GET"
            && self.key.is_empty()
            && (self.parameter("list-type").is_some() || self.query.is_empty() || self.parameter("prefix").is_some())
    }

    pub(super) fn is_head_bucket(&self) -> bool {
        self.method == "HEAD" && self.key.is_empty()
    }

    /// The access key id and region that it was signed with.
    pub(super) fn scope(&self) -> Option<Scope> {
        credential(&self.headers)
    }

    /// When the client says that it signed.
    pub(super) fn signed_at(&self) -> Option<Timestamp> {
        let text = self.header("x-amz-date");
        jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", text)
            .ok()?
            .to_zoned(jiff::tz::TimeZone::UTC)
            .ok()
            .map(|z| z.timestamp())
    }
}

/// Who signed for where.
pub(super) struct Scope {
    pub(super) key: String,
    pub(super) region: String,
}

/// `Credential=<key>/<day>/<region>/s3/aws4_request` of the Authorization header.
pub(super) fn credential(headers: &HeaderMap) -> Option<Scope> {
    let text = headers.get("authorization")?.to_str().ok()?;
    let scope = text.split("Credential=").nth(1)?.split(',').next()?;
    let mut parts = scope.split('/');
    let key = parts.next()?.to_owned();
    let region = parts.nth(1)?.to_owned();
    Some(Scope { key, region })
}

/// Refusals of the signer.
pub(super) fn who(rules: &Rules, seen: &Seen) -> Option<Response<Body>> {
    let scope = seen.scope()?;
    if rules.unauthorized.contains(&scope.key) {
        return Some(answers::error(401, "Unauthorized", "Unauthorized", seen));
    }
    if rules.revoked.contains(&scope.key) {
        return Some(answers::error(
            403,
            "InvalidAccessKeyId",
            "The Access Key Id you provided does not exist in our records.",
            seen,
        ));
    }
    if let Some(region) = rules.region.as_ref().filter(|region| **region != scope.region) {
        return Some(answers::wrong_region(seen, &scope.region, region));
    }
    None
}

/// Refusals by right, lock and existence.
pub(super) fn may(rules: &Rules, seen: &Seen) -> Option<Response<Body>> {
    if rules.no_bucket {
        return Some(answers::error(404, "NoSuchBucket", "The specified bucket does not exist", seen));
    }
    let verb = if seen.is_list() { "LIST" } else { seen.method.as_str() };
    let denied =
        |(method, prefix): &(String, String)| (method.is_empty() || method == verb) && seen.key.starts_with(prefix.as_str());
    if rules.denied.iter().any(denied) {
        return Some(answers::error(403, "AccessDenied", "Access Denied.", seen));
    }
    // POST finishes a multipart upload, and is an overwrite too.
    let writes =
        matches!(seen.method.as_str(), "PUT" | "DELETE") || (seen.method == "POST" && seen.parameter("uploadId").is_some());
    if writes && !seen.key.is_empty() && rules.locked.iter().any(|prefix| seen.key.starts_with(prefix.as_str())) {
        return Some(answers::error(403, "ObjectLockedByBucketPolicy", "The object is locked by the bucket policy.", seen));
    }
    None
}
