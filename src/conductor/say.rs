//! Saying: messages go with the findings into one transaction, then out; the heartbeat follows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::deliver::{LEASE, deliver_channel};
use crate::domain::{Expected, Fact, Finding, Notice, Observation, ProviderId, RunId, Sample, Subject, SubjectKind};
use crate::ledger::{Committed, Ledger, LedgerError, Queued, Telling};
use crate::notify::{self, About, Channel, Heartbeat, Means, ObjectRef, Said, Sent, Signal};
use crate::policy::life;

/// How long one receiver may take: a dead one must not eat the pass.
const ONE_RECEIVER: Duration = Duration::from_secs(10);
/// Messages moved at once; the rest goes with the next pass.
const AT_ONCE: u32 = 50;
/// A channel that has taken nothing for so long is a finding, though its messages are still tried.
pub const LATE_AFTER: SignedDuration = SignedDuration::from_hours(1);

/// The metric that says that a channel took a message.
pub(super) const DELIVERED: &str = "channel_delivered_count";

/// Who is told, and by which means.
#[derive(Clone)]
pub struct Notify {
    /// Channels.
    pub channels: Vec<Channel>,
    /// The sign of life.
    pub heartbeat: Option<Heartbeat>,
    /// What messages go through.
    pub means: Means,
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

    /// Both together.
    pub(super) fn add(&mut self, other: Self) {
        self.delivered.extend(other.delivered);
        self.waiting.extend(other.waiting);
        self.given_up.extend(other.given_up);
        self.heartbeat = self.heartbeat.take().or(other.heartbeat);
    }
}

/// What is to be said after a pass: alerts as they are now, and a message per channel. Alerts live whether anybody is told or not.
pub(super) fn telling(
    notify: Option<&Notify>,
    about: &About,
    now: Timestamp,
    expected: &Expected,
    objects: &BTreeMap<Subject, Vec<ObjectRef>>,
    committed: &Committed,
) -> Telling {
    let Committed { changes, not_looked, heard, .. } = committed;
    let lived = life::live(now, expected, changes, not_looked, heard);
    let said = Said { now, notices: &lived.notices, alerts: &lived.alerts, objects };
    let channels = notify.map(|notify| notify.channels.as_slice()).unwrap_or_default();
    let messages = channels.iter().filter_map(|channel| notify::message(channel, about, &said)).collect();
    note(&lived.notices);
    Telling { messages, alerts: Some(lived.alerts), over: lived.over }
}

fn note(notices: &[Notice]) {
    for notice in notices {
        let finding = &notice.alert.finding;
        tracing::info!(said = notice.told.as_str(), code = finding.code, subject = %finding.subject, severity = finding.severity.as_str());
    }
}

/// Objects in Kubernetes clusters that subjects are.
pub(super) fn objects(observations: &[(ProviderId, Observation)]) -> BTreeMap<Subject, Vec<ObjectRef>> {
    let mut objects: BTreeMap<Subject, Vec<ObjectRef>> = BTreeMap::new();
    for fact in observations.iter().flat_map(|(_, observation)| &observation.facts) {
        if let Fact::Cnpg(cluster) = fact {
            objects.entry(cluster.subject.clone()).or_default().push(ObjectRef {
                kube: cluster.kube.clone(),
                api_version: "postgresql.cnpg.io/v1".to_owned(),
                kind: "Cluster".to_owned(),
                name: cluster.cluster.clone(),
                uid: cluster.uid.clone(),
            });
        }
    }
    objects
}

impl Notify {
    /// Names of the channels.
    pub(super) fn names(&self) -> BTreeSet<String> {
        self.channels.iter().map(|channel| channel.name.clone()).collect()
    }

    /// Moves the outbox, all channels at the same time, each in its own order. A refusal for good is final only on the second try,
    /// made by the next pass (`last_try`): so that its finding is committed with the findings of that pass.
    pub(super) async fn deliver(&self, ledger: &Ledger, now: Timestamp, last_try: bool) -> Result<Delivery, LedgerError> {
        let mut by_channel: BTreeMap<String, Vec<Queued>> = BTreeMap::new();
        for queued in ledger.claim(now, LEASE, AT_ONCE).await? {
            by_channel.entry(queued.message.channel.clone()).or_default().push(queued);
        }
        let moving = by_channel.into_iter().map(|(name, queue)| {
            let channel = self.channels.iter().find(|channel| channel.name == name);
            deliver_channel(&self.means, ledger, channel, queue, now, last_try, ONE_RECEIVER)
        });
        let mut delivery = Delivery::default();
        for part in futures::future::join_all(moving).await {
            delivery.add(part?);
        }
        Ok(delivery)
    }

    /// Tells the heartbeat that a pass begins, so that one that dies on its way is noticed.
    pub(super) async fn begin(&self, run: RunId, now: Timestamp) {
        let Some(heartbeat) = &self.heartbeat else { return };
        let http = self.means.http.as_ref();
        match notify::ping(http, heartbeat, run, &Signal::Start, now, ONE_RECEIVER / 2).await {
            Sent::Delivered => {}
            Sent::Later { why, .. } | Sent::Never { why } => {
                tracing::debug!(why, "the heartbeat was not told that a pass begins");
            }
        }
    }

    /// The sign of life: success only when everything that must be seen was seen.
    pub(super) async fn beat(&self, about: &About, committed: &Committed, whole: bool, now: Timestamp) -> Option<String> {
        let heartbeat = self.heartbeat.as_ref()?;
        let silenced = life::silenced(&committed.alerts);
        let signal = notify::signal(about, &committed.changes, &committed.not_looked, &silenced, whole);
        Some(match notify::ping(self.means.http.as_ref(), heartbeat, about.run, &signal, now, ONE_RECEIVER).await {
            Sent::Delivered => "delivered".to_owned(),
            Sent::Later { why, .. } | Sent::Never { why } => {
                tracing::warn!(why, "the heartbeat was not taken");
                why
            }
        })
    }
}

/// A finding for each channel that gave a message up, and for each that has taken nothing for long.
pub(super) async fn undeliverable(ledger: &Ledger, delivery: &Delivery, now: Timestamp) -> Result<Vec<Finding>, LedgerError> {
    let mut found: Vec<Finding> = delivery.given_up.iter().map(|(channel, why)| notify::undeliverable(channel, why)).collect();
    for waiting in ledger.waiting().await? {
        let is_told = delivery.given_up.iter().any(|(channel, _)| *channel == waiting.channel);
        if !is_told && now.duration_since(waiting.oldest) >= LATE_AFTER {
            let why = waiting.last_error.unwrap_or_else(|| "no answer".to_owned());
            found.push(notify::undeliverable(&waiting.channel, &why));
        }
    }
    Ok(found)
}
