//! From what a pass has to say to the message of one channel.

use super::said::{Said, wanted};
use super::{About, Channel, Way, alertmanager, events, mail, ntfy, webhook};
use crate::domain::Message;

/// The message of a pass for a channel; `None` when it has nothing to say there. Metrics are made later, from what the pass left behind:
/// see [`metrics`].
pub fn message(channel: &Channel, about: &About, said: &Said<'_>) -> Option<Message> {
    let key = format!("{}/{}", about.run, channel.name);
    let notices = wanted(said.notices, channel.at_least);
    let spoken = !notices.is_empty();
    let body = match &channel.way {
        Way::Webhook { .. } => spoken.then(|| webhook::body(channel, about, &notices, &key)),
        Way::Ntfy { .. } => spoken.then(|| ntfy::body(about, &notices)),
        Way::Mail(_) => spoken.then(|| mail::body(about, &notices)),
        Way::Alertmanager { .. } => alertmanager::body(about, said, channel.at_least),
        Way::Events { cluster } => events::body(about, said, cluster, channel.at_least),
        Way::Pushgateway { .. } | Way::File { .. } => None,
    }?;
    Some(Message { channel: channel.name.clone(), key, body, replaces: channel.stands() })
}

/// The message that carries metrics, for a channel that takes them.
pub fn metrics(channel: &Channel, about: &About, text: &str) -> Option<Message> {
    channel.takes_metrics().then(|| Message {
        channel: channel.name.clone(),
        key: format!("{}/{}", about.run, channel.name),
        body: text.to_owned(),
        replaces: true,
    })
}
