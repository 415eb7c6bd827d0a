//! Prometheus' Pushgateway: for a pass that ends before anybody can scrape it.
//! <https://github.com/prometheus/pushgateway#api>: PUT replaces everything of the group.

use crate::domain::Secret;
use crate::tap::HttpRequest;
use crate::tap::http::Base;

/// Prometheus' text format, version 0.0.4.
pub const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The request: one group per job and site.
pub(super) fn request(url: &str, job: &str, auth: Option<&Secret>, site: &str, body: &str) -> HttpRequest {
    let path = if site.is_empty() { format!("/metrics/job/{job}") } else { format!("/metrics/job/{job}/site/{site}") };
    let mut request = HttpRequest::new("PUT", Base::open(url), &path).header("content-type", TEXT_FORMAT);
    request.body = Some(body.to_owned().into());
    match auth {
        Some(auth) => request.auth(auth.clone()),
        None => request,
    }
}
