//! A tiny signing S3 client over plain HTTP: the hand that loses, damages and plants objects
//! behind everybody's back. Paths go over the wire exactly as encoded (no dot segments removed).

pub(crate) mod sign;

use axum::body::Body;
use axum::http::{HeaderMap, Request, Response};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use quick_xml::events::Event;

use crate::LabError;
pub use sign::Keys;
use sign::{amz_date, authorization, encode, sha256_hex};

/// An object of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its key.
    pub key: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its ETag without quotes.
    pub etag: String,
    /// Last-Modified as the server wrote it.
    pub last_modified: String,
}

/// A client for one endpoint and one pair of keys.
#[derive(Debug, Clone)]
pub struct Client {
    authority: String,
    keys: Keys,
    region: String,
    http: Http<HttpConnector, Body>,
}

pub(crate) fn http() -> Http<HttpConnector, Body> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Http::builder(TokioExecutor::new()).build(connector)
}

impl Client {
    /// `endpoint` is `http://host:port`.
    pub fn new(endpoint: &str, keys: &Keys) -> Client {
        let authority = endpoint.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Client { authority, keys: keys.clone(), region: "us-east-1".to_owned(), http: http() }
    }

    /// The same client signing for another region.
    #[must_use]
    pub fn region(mut self, region: &str) -> Client {
        region.clone_into(&mut self.region);
        self
    }

    /// Sends any request and gives the answer, whatever its status. `query` is already encoded.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        query: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Response<Bytes>, LabError> {
        let date = amz_date(Timestamp::now());
        let payload = sha256_hex(&body);
        let mut signed: Vec<(String, String)> = headers.iter().map(|(n, v)| (n.to_ascii_lowercase(), (*v).to_owned())).collect();
        signed.push(("host".into(), self.authority.clone()));
        signed.push(("x-amz-content-sha256".into(), payload.clone()));
        signed.push(("x-amz-date".into(), date.clone()));
        let to_sign = sign::Request { method, path, query, headers: signed.clone(), payload: &payload };
        let authorization = authorization(&to_sign, &self.keys, &self.region, &date);
        let mark = if query.is_empty() { "" } else { "?" };
        let mut request = Request::builder().method(method).uri(format!("http://{}{path}{mark}{query}", self.authority));
        for (name, value) in &signed {
            request = request.header(name, value);
        }
        let request =
            request.header("authorization", authorization).body(Body::from(body)).map_err(|e| LabError::Other(e.to_string()))?;
        let answer = self.http.request(request).await.map_err(|e| LabError::Other(format!("{method} {path}: {e:?}")))?;
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.map_err(|e| LabError::Other(format!("{method} {path}: {e}")))?.to_bytes();
        Ok(Response::from_parts(parts, body))
    }

    async fn succeed(
        &self,
        method: &str,
        path: &str,
        query: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Response<Bytes>, LabError> {
        let answer = self.send(method, path, query, headers, body).await?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        Err(LabError::Answer {
            method: method.to_owned(),
            path: format!("{path}?{query}"),
            status: answer.status().as_u16(),
            body: String::from_utf8_lossy(answer.body()).chars().take(400).collect(),
        })
    }

    /// Makes a bucket; one that is there already is fine.
    pub async fn make_bucket(&self, bucket: &str) -> Result<(), LabError> {
        let answer = self.send("PUT", &format!("/{bucket}"), "", &[], Bytes::new()).await?;
        if answer.status().is_success() || answer.status().as_u16() == 409 {
            return Ok(());
        }
        let body = String::from_utf8_lossy(answer.body()).into_owned();
        Err(LabError::Answer { method: "PUT".into(), path: format!("/{bucket}"), status: answer.status().as_u16(), body })
    }

    /// Writes an object.
    pub async fn put(&self, bucket: &str, key: &str, bytes: impl Into<Bytes>) -> Result<(), LabError> {
        self.succeed("PUT", &object(bucket, key), "", &[], bytes.into()).await.map(|_| ())
    }

    /// Reads an object whole.
    pub async fn get(&self, bucket: &str, key: &str) -> Result<Bytes, LabError> {
        Ok(self.succeed("GET", &object(bucket, key), "", &[], Bytes::new()).await?.into_body())
    }

    /// The headers of an object; none when it does not exist.
    pub async fn head(&self, bucket: &str, key: &str) -> Result<Option<HeaderMap>, LabError> {
        let answer = self.send("HEAD", &object(bucket, key), "", &[], Bytes::new()).await?;
        Ok(answer.status().is_success().then(|| answer.headers().clone()))
    }

    /// Deletes an object.
    pub async fn delete(&self, bucket: &str, key: &str) -> Result<(), LabError> {
        self.succeed("DELETE", &object(bucket, key), "", &[], Bytes::new()).await.map(|_| ())
    }

    /// Moves an object (a copy through us, then a deletion).
    pub async fn rename(&self, bucket: &str, from: &str, to: &str) -> Result<(), LabError> {
        let bytes = self.get(bucket, from).await?;
        self.put(bucket, to, bytes).await?;
        self.delete(bucket, from).await
    }

    /// Every object below a prefix, in the server's order.
    pub async fn list(&self, bucket: &str, prefix: &str) -> Result<Vec<Listed>, LabError> {
        let mut all = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let from = token.as_ref().map(|token| format!("continuation-token={}&", encode(token, false))).unwrap_or_default();
            let query = format!("{from}list-type=2&prefix={}", encode(prefix, false));
            let answer = self.succeed("GET", &format!("/{bucket}"), &query, &[], Bytes::new()).await?;
            token = read_page(answer.body(), &mut all)?;
            if token.is_none() {
                return Ok(all);
            }
        }
    }

    /// The keys below a prefix.
    pub async fn keys(&self, bucket: &str, prefix: &str) -> Result<Vec<String>, LabError> {
        Ok(self.list(bucket, prefix).await?.into_iter().map(|o| o.key).collect())
    }
}

fn object(bucket: &str, key: &str) -> String {
    format!("/{bucket}/{}", encode(key, true))
}

/// Reads one page of ListObjectsV2 and gives the token of the next.
fn read_page(xml: &[u8], into: &mut Vec<Listed>) -> Result<Option<String>, LabError> {
    let bad = |e: &dyn std::fmt::Display| LabError::Other(format!("a listing that cannot be read: {e}"));
    let mut reader = quick_xml::Reader::from_reader(xml);
    let (mut text, mut token, mut truncated) = (String::new(), None, false);
    let mut object = Listed { key: String::new(), size: 0, etag: String::new(), last_modified: String::new() };
    loop {
        match reader.read_event().map_err(|e| bad(&e))? {
            Event::Start(_) => text.clear(),
            Event::Text(part) => text.push_str(&part.decode().map_err(|e| bad(&e))?),
            Event::GeneralRef(entity) => text.push_str(&resolve(&entity.decode().map_err(|e| bad(&e))?)),
            Event::End(end) => match end.name().as_ref() {
                b"Key" => object.key.clone_from(&text),
                b"Size" => object.size = text.parse().unwrap_or(0),
                b"ETag" => text.trim_matches('"').clone_into(&mut object.etag),
                b"LastModified" => object.last_modified.clone_from(&text),
                b"Contents" => into.push(object.clone()),
                b"IsTruncated" => truncated = text == "true",
                b"NextContinuationToken" => token = Some(text.clone()),
                _ => {}
            },
            Event::Eof => return Ok(token.filter(|_| truncated)),
            _ => {}
        }
    }
}

fn resolve(entity: &str) -> String {
    let number = entity
        .strip_prefix("#x")
        .map_or_else(|| entity.strip_prefix('#').and_then(|n| n.parse().ok()), |n| u32::from_str_radix(n, 16).ok());
    match (entity, number.and_then(char::from_u32)) {
        (_, Some(c)) => c.to_string(),
        ("amp", _) => "&".to_owned(),
        ("lt", _) => "<".to_owned(),
        ("gt", _) => ">".to_owned(),
        ("quot", _) => "\"".to_owned(),
        ("apos", _) => "'".to_owned(),
        _ => format!("&{entity};"),
    }
}
