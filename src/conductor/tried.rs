//! Trying channels out, one message each, past the outbox: whoever asks wants to know now.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::say::Notify;
use crate::domain::RunId;
use crate::notify::{self, About, Sent, Signal};

/// A person waits.
const LIMIT: Duration = Duration::from_secs(15);
/// Where a test of Events is made, on paper only.
const NAMESPACE: &str = "default";

/// How a channel answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// Its name.
    pub channel: String,
    /// Its kind.
    pub kind: &'static str,
    /// It took the test.
    pub took: bool,
    /// What happened, when it did not.
    pub why: Option<String>,
}

/// Tries all channels, or the one of this name; the heartbeat is one of them. Names that are known come back when this one is not.
pub async fn try_channels(notify: &Notify, site: &str, only: Option<&str>, now: Timestamp) -> Result<Vec<Tried>, Vec<String>> {
    let about = &About { site: site.to_owned(), run: RunId::new(), number: 0 };
    let wanted = |name: &str| only.is_none_or(|only| only == name || name.rsplit('/').next() == Some(only));
    let trying = notify.channels.iter().filter(|channel| wanted(&channel.name)).map(async |channel| {
        let sent = match notify::test_message(channel, about, now) {
            Some(test) => notify::try_out(&notify.means, channel, &test, NAMESPACE, now, LIMIT).await,
            None => Sent::Never { why: "no test can be made for it".to_owned() },
        };
        tried(&channel.name, channel.kind(), sent)
    });
    let mut all = futures::future::join_all(trying).await;
    if let Some(heartbeat) = notify.heartbeat.as_ref().filter(|_| wanted("heartbeat")) {
        let signal = Signal::Log("a test: dalsegno notify test\n".to_owned());
        let sent = notify::ping(notify.means.http.as_ref(), heartbeat, about.run, &signal, now, LIMIT).await;
        all.push(tried("heartbeat", "heartbeat", sent));
    }
    if all.is_empty() {
        let heartbeat = notify.heartbeat.iter().map(|_| "heartbeat".to_owned());
        return Err(notify.channels.iter().map(|channel| channel.name.clone()).chain(heartbeat).collect());
    }
    Ok(all)
}

fn tried(channel: &str, kind: &'static str, sent: Sent) -> Tried {
    let why = match sent {
        Sent::Delivered => None,
        Sent::Later { why, .. } | Sent::Never { why } => Some(why),
    };
    Tried { channel: channel.to_owned(), kind, took: why.is_none(), why }
}
