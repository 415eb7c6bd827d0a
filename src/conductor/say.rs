//! Saying: messages go with the findings into one transaction, then out; the heartbeat follows.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::domain::{Finding, Message, Sample, Subject, SubjectKind};
use crate::ledger::{Committed, Ledger, LedgerError, Queued};
use crate::notify::{self, About, Channel, Heartbeat, Next, Sent};
use crate::tap::HttpCalls;

/// How long one receiver may take: a dead one must not eat the pass.
const ONE_RECEIVER: Duration = Duration::from_secs(10);
/// Messages are ours for so long; a process that dies meanwhile gives them back.
const LEASE: SignedDuration = SignedDuration::from_mins(2);
/// Messages moved at once; the rest goes with the next pass.
const AT_ONCE: u32 = 50;

/// The metric that says that a channel took a message.
pub(super) const DELIVERED: &str = "channel_delivered_count";

/// Who is told, and by which means.
#[derive(Clone)]
pub struct Notify {
    /// Webhooks.
    pub channels: Vec<Channel>,
    /// The sign of life.
    pub heartbeat: Option<Heartbeat>,
    /// HTTP.
    pub http: Arc<dyn HttpCalls>,
}

/// What became of the messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Channels that took at least one message.
    pub delivered: BTreeSet<String>,
    /// Channel and why, for what is tried again.
    pub waiting: Vec<(String, String)>,
    /// Channel and why, for what was given up.
    pub given_up: Vec<(String, String)>,
    /// How the heartbeat went; `None` when there is none.
    pub heartbeat: Option<String>,
}

impl Delivery {
    /// One sample per channel that took something.
    pub(super) fn samples(&self, now: Timestamp) -> Vec<Sample> {
        let sample = |channel: &String| Sample {
            subject: Subject::new(SubjectKind::Dalsegno, &["notify", channel]),
            metric: DELIVERED.to_owned(),
            value: 1.0,
            at: now,
        };
        self.delivered.iter().map(sample).collect()
    }
}

impl Notify {
    /// One message per channel that wants to know what changed.
    pub(super) fn messages(&self, about: &About, committed: &Committed) -> Vec<Message> {
        self.channels.iter().filter_map(|channel| notify::message(channel, about, &committed.changes)).collect()
    }

    /// Moves the outbox. A refusal for good is `final` only on the second try, made by the next pass: so that its finding is
    /// committed with the findings of that pass.
    pub(super) async fn deliver(&self, ledger: &Ledger, now: Timestamp, last_try: bool) -> Result<Delivery, LedgerError> {
        let mut delivery = Delivery::default();
        for queued in ledger.claim(now, LEASE, AT_ONCE).await? {
            self.deliver_one(ledger, now, last_try, queued, &mut delivery).await?;
        }
        Ok(delivery)
    }

    async fn deliver_one(
        &self,
        ledger: &Ledger,
        now: Timestamp,
        last_try: bool,
        queued: Queued,
        delivery: &mut Delivery,
    ) -> Result<(), LedgerError> {
        let name = queued.message.channel.clone();
        let Some(channel) = self.channels.iter().find(|channel| channel.name == name) else {
            return ledger.given_up(queued.id, now, "the configuration has no such channel any more").await;
        };
        let (why, retry_after, hopeless) =
            match notify::send(self.http.as_ref(), channel, &queued.message, now, ONE_RECEIVER).await {
                Sent::Delivered => {
                    delivery.delivered.insert(name);
                    return ledger.delivered(queued.id, now).await;
                }
                Sent::Later { why, retry_after } => (why, retry_after, false),
                Sent::Never { why } => (why, None, true),
            };
        let next = if hopeless && last_try {
            Next::GiveUp
        } else {
            notify::next_attempt(queued.made_at, queued.attempts, now, retry_after)
        };
        match next {
            Next::At(at) => {
                delivery.waiting.push((name, why.clone()));
                ledger.later(queued.id, at, &why).await
            }
            Next::GiveUp => {
                delivery.given_up.push((name, why.clone()));
                ledger.given_up(queued.id, now, &why).await
            }
        }
    }

    /// The sign of life: success only when everything that must be seen was seen.
    pub(super) async fn beat(&self, about: &About, committed: &Committed, whole: bool, now: Timestamp) -> Option<String> {
        let heartbeat = self.heartbeat.as_ref()?;
        let signal = notify::signal(about, &committed.changes, &committed.not_looked, whole);
        Some(match notify::ping(self.http.as_ref(), heartbeat, &signal, now, ONE_RECEIVER).await {
            Sent::Delivered => "delivered".to_owned(),
            Sent::Later { why, .. } | Sent::Never { why } => {
                tracing::warn!(why, "the heartbeat was not taken");
                why
            }
        })
    }
}

/// A finding for each channel that gave a message up.
pub(super) fn undeliverable(delivery: &Delivery) -> Vec<Finding> {
    delivery.given_up.iter().map(|(channel, why)| notify::undeliverable(channel, why)).collect()
}
