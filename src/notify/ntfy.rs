//! ntfy: a push message with title, priority and tags. <https://docs.ntfy.sh/publish/#publish-as-json>
//!
//! The topic is as good as a password, so it is no part of what is kept: it is added at sending.

use serde::{Deserialize, Serialize};

use super::About;
use super::text::{text, title};
use super::webhook::priority;
use crate::domain::{Notice, Secret, Severity};
use crate::tap::HttpRequest;
use crate::tap::http::Base;

/// ntfy turns a longer message into an attachment: <https://docs.ntfy.sh/publish/#limitations>.
const TEXT_BYTES: usize = 3900;

/// What is kept and sent.
#[derive(Debug, Serialize, Deserialize)]
struct Push {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    topic: String,
    title: String,
    message: String,
    priority: u8,
    tags: Vec<String>,
}

/// The body of a message, without its topic.
pub(super) fn body(about: &About, notices: &[&Notice]) -> String {
    let push = Push {
        topic: String::new(),
        title: title(about, notices),
        message: text(about, notices, TEXT_BYTES),
        priority: priority(notices),
        tags: tags(about, notices),
    };
    serde_json::to_string(&push).unwrap_or_default()
}

/// A picture for the worst of it, then the site: tags that ntfy knows become pictures. <https://docs.ntfy.sh/emojis/>
fn tags(about: &About, notices: &[&Notice]) -> Vec<String> {
    let worst = notices.iter().filter(|notice| notice.told.pages()).map(|notice| notice.alert.finding.severity).max();
    let picture = match worst {
        Some(Severity::Critical) => "rotating_light",
        Some(Severity::Warning) => "warning",
        Some(Severity::Info) => "information_source",
        None => "white_check_mark",
    };
    [picture, about.site.as_str()].into_iter().filter(|tag| !tag.is_empty()).map(str::to_owned).collect()
}

/// The request: JSON goes to the server's root, with the topic in it. `None` when the URL has no topic, or the body is none of ours.
pub(super) fn request(name: &str, url: &Secret, auth: Option<&Secret>, body: &str) -> Option<HttpRequest> {
    let (root, topic) = url.expose().trim_end_matches('/').rsplit_once('/')?;
    if topic.is_empty() || root.ends_with('/') {
        return None;
    }
    let mut push: Push = serde_json::from_str(body).ok()?;
    topic.clone_into(&mut push.topic);
    let request = HttpRequest::post(Base::secret(name, Secret::new(format!("{root}/"))), "").json(&push).ok()?;
    Some(match auth {
        Some(auth) => request.auth(auth.clone()),
        None => request,
    })
}
