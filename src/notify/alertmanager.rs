//! Alertmanager, API v2: `POST /api/v2/alerts` with everything that stands, again in each pass.
//! <https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml>
//!
//! An alert is its labels: a new severity is a new alert there, so the one of the old severity is ended. An end is sent as long as the
//! alert is remembered, so that a lost message costs nothing.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::About;
use super::said::{Said, pascal, standing};
use super::text::tame;
use crate::domain::{Alert, Secret, Severity, Silence, alert_key};
use crate::tap::HttpRequest;
use crate::tap::http::Base;

/// How long Alertmanager believes an alert that is not sent again. Long, because our own death must not read as "resolved": for that there
/// is the heartbeat.
pub const STANDS_FOR: SignedDuration = SignedDuration::from_hours(24);
/// Characters of an annotation.
const FIELD: usize = 1000;

/// The body, or `None` when there is nothing to say.
pub(super) fn body(about: &About, said: &Said<'_>, at_least: Severity) -> Option<String> {
    let until = said.now.checked_add(STANDS_FOR).unwrap_or(Timestamp::MAX);
    let firing = standing(said.alerts, at_least).map(|(alert, told)| entry(about, alert, told, until));
    let ended = said.alerts.iter().flat_map(|alert| {
        let earlier = alert.earlier.iter().filter(move |(severity, _)| *severity >= at_least && alert.told != Some(*severity));
        earlier.map(move |(severity, ended)| entry(about, alert, *severity, *ended))
    });
    let entries: Vec<Value> = firing.chain(ended).collect();
    (!entries.is_empty()).then(|| Value::from(entries).to_string())
}

fn entry(about: &About, alert: &Alert, severity: Severity, until: Timestamp) -> Value {
    let finding = &alert.finding;
    let site = if about.site.is_empty() { "-" } else { &about.site };
    let mut annotations = serde_json::Map::new();
    let acknowledged = match &alert.quiet {
        Some(Silence::Acknowledged { author, reason, until }) => format!("by {author} until {until}: {reason}"),
        _ => String::new(),
    };
    let fields = [
        ("summary", finding.summary.clone()),
        ("description", finding.cause.clone()),
        ("remedy", finding.remedy.clone()),
        ("dependents", alert.dependents.join(", ")),
        ("acknowledged", acknowledged),
        ("key", alert_key(&about.site, finding)),
    ];
    for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
        annotations.insert(name.to_owned(), Value::from(tame(&value, FIELD)));
    }
    json!({
        "labels": {
            "alertname": format!("Dalsegno{}", pascal(&finding.code)),
            "site": site,
            "code": finding.code,
            "subject": finding.subject,
            "severity": severity,
        },
        "annotations": annotations,
        "startsAt": alert.since,
        "endsAt": until,
    })
}

/// The request.
pub(super) fn request(url: &str, auth: Option<&Secret>, body: &str) -> HttpRequest {
    let mut request = HttpRequest::post(Base::open(url), "/api/v2/alerts").header("content-type", "application/json");
    request.body = Some(body.to_owned().into());
    match auth {
        Some(auth) => request.auth(auth.clone()),
        None => request,
    }
}
