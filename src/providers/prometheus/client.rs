//! Questions to the query API, and what an answer that is none means.

use std::time::Duration;

use jiff::Timestamp;

use super::config::PrometheusSettings;
use super::wire::{Answer, Found};
use crate::domain::{Denied, Secret};
use crate::tap::http::Base;
use crate::tap::{CallError, FailureKind, HttpAnswer, HttpCalls, HttpRequest};

/// The server refuses more points than this for one series: <https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries>.
pub const MOST_POINTS: u64 = 11_000;
/// Points that are asked for: two weeks at five minutes, the usual beat of archiving.
const POINTS: u64 = 4_032;
/// An answer above this is cut, and a cut answer is none: 20 databases with three pods over two weeks are half of it.
const CAP: usize = 64 << 20;
/// Time for one question.
const LIMIT: Duration = Duration::from_secs(20);

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoAnswer {
    pub(super) why: Denied,
    pub(super) code: Option<String>,
    pub(super) detail: String,
    pub(super) hint: String,
}

/// The step that keeps a range below [`MOST_POINTS`], in whole seconds.
pub fn step(range: Duration) -> Duration {
    Duration::from_secs(range.as_secs().div_ceil(POINTS).max(1))
}

/// What came, and whether it is whole.
pub(super) struct Came {
    pub(super) found: Vec<Found>,
    /// What is missing, in the server's words.
    pub(super) partial: Option<String>,
}

pub(super) struct Client<'a> {
    pub(super) settings: &'a PrometheusSettings,
    pub(super) http: &'a dyn HttpCalls,
}

impl Client<'_> {
    /// The newest value of every series of a selector.
    pub(super) async fn now(&self, selector: &str, now: Timestamp) -> Result<Came, NoAnswer> {
        let request = self.request("/api/v1/query").query("query", selector).query("time", &seconds(now));
        self.ask(request, "vector").await
    }

    /// Every series of a selector over the configured range.
    pub(super) async fn range(&self, selector: &str, now: Timestamp) -> Result<Came, NoAnswer> {
        let range = self.settings.range;
        let begin = jiff::SignedDuration::try_from(range).ok().and_then(|by| now.checked_sub(by).ok()).unwrap_or(Timestamp::MIN);
        let request = self
            .request("/api/v1/query_range")
            .query("query", selector)
            .query("start", &seconds(begin))
            .query("end", &seconds(now))
            .query("step", &step(range).as_secs().to_string());
        self.ask(request, "matrix").await
    }

    fn request(&self, path: &str) -> HttpRequest {
        let mut request = HttpRequest::get(Base::open(self.settings.url.clone()), path).keeps::<Answer>();
        request.cap = CAP;
        request.timeout = Some(LIMIT);
        match &self.settings.token {
            Some(token) => request.auth(Secret::new(format!("Bearer {}", token.expose()))),
            None => request,
        }
    }

    async fn ask(&self, request: HttpRequest, kind: &str) -> Result<Came, NoAnswer> {
        let answer = self.http.call(&request).await.map_err(|error| self.broken(&error))?;
        self.read(&answer, kind)
    }

    fn read(&self, answer: &HttpAnswer, kind: &str) -> Result<Came, NoAnswer> {
        let url = &self.settings.url;
        let name = &self.settings.name;
        if let Some(bytes) = answer.cut_at {
            let detail = format!("{url}: the answer broke off, or was longer than is read, after {bytes} B");
            let hint = format!("lower prometheus.{name}.range, or narrow prometheus.{name}.only");
            return Err(NoAnswer { why: Denied::Truncated, code: None, detail, hint });
        }
        let read: Option<Answer> = serde_json::from_slice(&answer.body).ok();
        let said = read.as_ref().and_then(|read| read.error.clone());
        let code = read.as_ref().and_then(|read| read.error_type.clone());
        let status = answer.status;
        let told = |why, hint: String| {
            let words = said.clone().unwrap_or_else(|| answer.reason.clone());
            Err(NoAnswer { why, code: code.clone(), detail: format!("{url}: status {status}, {words}"), hint })
        };
        match status {
            401 | 403 => {
                let verb = "query".to_owned();
                return told(Denied::Denied { verb }, format!("give prometheus.{name}.bearer-token one that may query"));
            }
            404 => return told(Denied::AbsentApi, format!("compare prometheus.{name}.url: /api/v1/query must lie below it")),
            // A question that is refused is a mistake of ours, or a server that is no Prometheus.
            400 | 405 | 422 => return told(Denied::Malformed, format!("curl '{url}/api/v1/query?query=up'")),
            429 | 500.. => return told(Denied::Broken, "see its log; a query that times out needs a shorter range".to_owned()),
            _ => {}
        }
        let Some(read) = read.filter(|_| answer.is_success()) else {
            let detail = format!("{url}: status {status}, and no answer of a query API");
            return Err(NoAnswer {
                why: Denied::Malformed,
                code: None,
                detail,
                hint: format!("curl '{url}/api/v1/query?query=up'"),
            });
        };
        if read.status != "success" {
            return told(Denied::Broken, "see its log".to_owned());
        }
        let partial = (read.partial || !read.warnings.is_empty()).then(|| match read.warnings.first() {
            Some(warning) => warning.clone(),
            None => "the server says that its answer is not whole".to_owned(),
        });
        match read.data {
            Some(data) if data.kind == kind => Ok(Came { found: data.result, partial }),
            other => {
                let seen = other.map_or_else(|| "nothing".to_owned(), |data| data.kind);
                let detail = format!("{url}: {seen} came where a {kind} was asked for");
                Err(NoAnswer { why: Denied::Malformed, code: None, detail, hint: String::new() })
            }
        }
    }

    fn broken(&self, error: &CallError) -> NoAnswer {
        let name = &self.settings.name;
        let (why, hint) = match error.kind {
            FailureKind::Dns => {
                (Denied::Dns, format!("compare the host in prometheus.{name}.url with the DNS that this machine asks"))
            }
            FailureKind::Tls => (Denied::Tls, format!("name its authority below prometheus.{name}.ca")),
            FailureKind::Timeout => (Denied::Timeout, format!("does it answer?  curl {}/-/ready", self.settings.url)),
            FailureKind::Cut => (Denied::Truncated, "dalsegno check".to_owned()),
            FailureKind::Malformed => (Denied::Malformed, "dalsegno check".to_owned()),
            FailureKind::NotSent => (Denied::NotAsked, format!("compare prometheus.{name}.url and its token")),
            _ => (Denied::Refused, format!("does it run?  curl {}/-/ready", self.settings.url)),
        };
        NoAnswer { why, code: error.code.clone(), detail: error.to_string(), hint }
    }
}

/// Unix time with milliseconds.
fn seconds(at: Timestamp) -> String {
    let ms = at.as_millisecond();
    format!("{}.{:03}", ms.div_euclid(1_000), ms.rem_euclid(1_000))
}
