//! Moving the messages of one channel, in their order.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::say::Delivery;
use crate::ledger::{Ledger, LedgerError, Queued};
use crate::notify::{self, Channel, Means, Next, Sent};

/// Messages are ours for so long; a process that dies meanwhile gives them back.
pub(super) const LEASE: SignedDuration = SignedDuration::from_mins(2);

/// Sends what is due, oldest first. What is not taken holds back what stands behind it.
pub(super) async fn deliver_channel(
    means: &Means,
    ledger: &Ledger,
    channel: Option<&Channel>,
    queue: Vec<Queued>,
    now: Timestamp,
    last_try: bool,
    limit: Duration,
) -> Result<Delivery, LedgerError> {
    let mut delivery = Delivery::default();
    let mut held_until = None;
    for queued in queue {
        let Some(channel) = channel else {
            ledger.given_up(queued.id, now, "the configuration has no such channel any more").await?;
            continue;
        };
        if let Some(until) = held_until {
            ledger.back(queued.id, until).await?;
            continue;
        }
        held_until = one(means, ledger, channel, &queued, now, last_try, limit, &mut delivery).await?;
    }
    Ok(delivery)
}

/// Sends one; answers until when those behind it wait.
#[expect(clippy::too_many_arguments, reason = "one attempt is made of all of these")]
async fn one(
    means: &Means,
    ledger: &Ledger,
    channel: &Channel,
    queued: &Queued,
    now: Timestamp,
    last_try: bool,
    limit: Duration,
    delivery: &mut Delivery,
) -> Result<Option<Timestamp>, LedgerError> {
    let name = channel.name.clone();
    let (why, retry_after, hopeless) = match notify::send(means, channel, &queued.message, now, limit).await {
        Sent::Delivered => {
            delivery.delivered.insert(name);
            ledger.delivered(queued.id, now).await?;
            return Ok(None);
        }
        Sent::Later { why, retry_after } => (why, retry_after, false),
        Sent::Never { why } => (why, None, true),
    };
    let next =
        if hopeless && last_try { Next::GiveUp } else { notify::next_attempt(queued.made_at, queued.attempts, now, retry_after) };
    match next {
        Next::At(at) => {
            delivery.waiting.push((name, why.clone()));
            ledger.later(queued.id, at, &why).await?;
            Ok(Some(at))
        }
        Next::GiveUp => {
            delivery.given_up.push((name, why.clone()));
            ledger.given_up(queued.id, now, &why).await?;
            Ok(None)
        }
    }
}
