//! Where messages go, and what is said of a channel that takes none.

use crate::domain::{Finding, RunId, Secret, Severity, Subject, SubjectKind};

/// A webhook of the configuration.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Its name in the configuration.
    pub name: String,
    /// Where to POST. Carries a token, so it is never shown. A fragment (`https://ntfy.sh/#topic`) is an ntfy topic and is not sent.
    pub url: Secret,
    /// Findings below are not told.
    pub at_least: Severity,
}

impl Channel {
    /// The ntfy topic: the URL's fragment, if there is one.
    pub(super) fn topic(&self) -> Option<&str> {
        self.url.expose().split_once('#').map(|(_, topic)| topic).filter(|topic| !topic.is_empty())
    }

    /// The URL as it is called.
    pub(super) fn address(&self) -> Secret {
        let url = self.url.expose();
        Secret::new(url.split_once('#').map_or(url, |(before, _)| before).to_owned())
    }
}

/// A check of healthchecks.io, or of one that understands its paths.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// The ping URL of the check. Is itself the secret.
    pub url: Secret,
}

/// Which pass speaks.
#[derive(Clone, Debug)]
pub struct About {
    /// The site.
    pub site: String,
    /// The run.
    pub run: RunId,
    /// The run's number in the ledger.
    pub number: i64,
}

/// The finding of a channel that gave a message up. It goes through the other channels, and through this one once it works again.
pub fn undeliverable(channel: &str, why: &str) -> Finding {
    Finding {
        code: "notification-undeliverable".into(),
        severity: Severity::Warning,
        subject: Subject::new(SubjectKind::Dalsegno, &["notify", channel]),
        summary: format!("channel {channel} takes no messages: {why}"),
        evidence: vec![format!("the last message for {channel} was given up: {why}")],
        cause: "the address of the channel is wrong, was revoked, or refuses what we send".into(),
        remedy: format!("renew the URL behind notify.webhooks.{channel}.url; the next message tries it"),
        could_not_look: false,
    }
}
