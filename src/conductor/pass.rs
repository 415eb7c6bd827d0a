//! A pass: look, say. Never waits for somebody else's work.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::budget::{self, Budget};
use super::clock;
use super::discovered;
use super::evidence;
use super::look::{Look, Looked, Seen, look_in_waves, with_seen};
use super::metrics;
use super::outcome::{Counted, ExitRule, exit_of};
use super::say::{DELIVERED, Delivery, Notify, objects, telling, undeliverable};
use super::sight::{Channels, Sight};
use crate::domain::{
    Change, Cx, Evidence, ExitCode, Expected, Fact, FactKind, Finding, Observation, Place, ProviderId, Requests, Severity,
    StoreId, Subject, SubjectKind,
};
use crate::ledger::{Committed, Ledger, LedgerError, RunKind, RunState};
use crate::notify::About;
use crate::policy::{Proof, judge};

/// Of the pass's deadline, what is kept for saying.
const KEPT_FOR_SAYING: Duration = Duration::from_secs(15);
/// A look always gets this much, however short the deadline.
const LEAST_LOOK: Duration = Duration::from_secs(1);

/// What the sweep of interrupted drills came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// What was closed or removed, one line each.
    pub closed: Vec<String>,
    /// What could not be removed, or is not ours: a human must look.
    pub stuck: Vec<String>,
}

/// Everything a pass works with.
pub struct Pass<'a> {
    /// The site, for messages.
    pub site: &'a str,
    /// Observers.
    pub looks: &'a [Look],
    /// What should be known, and how good it must be.
    pub expected: &'a Expected,
    /// What is remembered.
    pub ledger: &'a Ledger,
    /// What stores may cost.
    pub budgets: &'a [Budget],
    /// Time for one provider.
    pub provider_limit: Duration,
    /// The folder of drills: `<state>/drills`.
    pub drills: &'a Path,
    /// Evidence that others handed in, laid out as the folder of drills is; `None` = nobody can.
    pub handed_in: Option<&'a Path>,
    /// Sweeps interrupted drills. Given by `app`, which knows who can take what back.
    pub sweep: &'a (dyn Fn(Cx) -> BoxFuture<'a, Swept> + Send + Sync),
    /// Who is told; `None` = nobody.
    pub notify: Option<&'a Notify>,
    /// What decides the exit code.
    pub exit: ExitRule,
}

/// What a pass came to.
#[derive(Clone, Debug, Serialize)]
pub struct PassOutcome {
    /// The run's number.
    pub number: i64,
    /// When it looked.
    pub now: Timestamp,
    /// Seconds it took.
    pub seconds: f64,
    /// How many of what.
    pub counted: Counted,
    /// What is wrong, nearest harm first.
    pub findings: Vec<Finding>,
    /// What changed since the pass before.
    pub changes: Vec<Change>,
    /// Subjects with neither fact nor gap: a bug of ours.
    pub bugs: Vec<(Subject, FactKind)>,
    /// Subjects that were seen.
    pub seen: Vec<Subject>,
    /// What the sweep of interrupted drills came to.
    pub swept: Swept,
    /// Requests made, by store.
    pub requests: Vec<(StoreId, Requests)>,
    /// What became of the messages.
    pub delivery: Delivery,
    /// The exit code.
    pub exit: ExitCode,
}

/// Runs one pass. Errors are those of the ledger: without it a pass cannot remember, and says so.
pub async fn pass(work: &Pass<'_>, cx: &Cx) -> Result<PassOutcome, LedgerError> {
    let begun = Instant::now();
    let number = work.ledger.begin(cx.run, RunKind::Pass, cx.now).await?;
    let outcome = stages(work, cx, number, begun).await;
    let (state, exit) = match &outcome {
        Ok(outcome) => (RunState::Done, outcome.exit),
        Err(error) => (RunState::Failed, crate::domain::Explained::exit(error)),
    };
    let ended = SignedDuration::try_from(begun.elapsed()).ok().and_then(|by| cx.now.checked_add(by).ok()).unwrap_or(cx.now);
    work.ledger.end(cx.run, ended, state, exit).await?;
    metrics::tell(work, &About { site: work.site.to_owned(), run: cx.run, number }, ended).await?;
    outcome
}

async fn stages(work: &Pass<'_>, cx: &Cx, number: i64, begun: Instant) -> Result<PassOutcome, LedgerError> {
    let swept = (work.sweep)(cx.clone()).await;
    let mut findings = left_overs(&swept);
    let folders: Vec<&Path> = std::iter::once(work.drills).chain(work.handed_in).collect();
    let not_taken_in = evidence::take_in(work.ledger, &folders, cx).await?;
    // What interrupted drills left, and what drills said, is part of what must be seen.
    let own_work_done = swept.stuck.is_empty() && not_taken_in.is_empty();
    findings.extend(not_taken_in);
    let retry = async {
        match work.notify {
            Some(notify) => tokio::join!(notify.begin(cx.run, cx.now), notify.deliver(work.ledger, cx.now, true)).1,
            None => Ok(Delivery::default()),
        }
    };
    let (seen, retried) = tokio::join!(look(work, cx), retry);
    let (Seen { observations, covers, expects, requests }, retried) = (seen?, retried?);
    findings.extend(undeliverable(work.ledger, &retried, cx.now).await?);

    let expected = with_seen(work.expected, &covers, &expects);
    let proofs = proofs(work.ledger, &expected, &observations).await?;
    // What is remembered is judged beside what was seen; it is no sight of its own.
    let mut known = observations.clone();
    known.push((ProviderId("ledger".to_owned()), clock::remembered(work.ledger, &observations, cx.now).await?));
    let judgement = judge(cx.now, &expected, &known, &proofs);
    clock::keep(work.ledger, &expected, &known, cx).await?;
    discovered::keep(work.ledger, &expected, &observations, cx).await?;
    drop(known);
    findings.extend(judgement.findings);
    let about = About { site: work.site.to_owned(), run: cx.run, number };
    let channels = Channels {
        known: work.notify.map(Notify::names).unwrap_or_default(),
        working: working_channels(work, cx, &retried).await?,
    };
    let sight = Sight::new(&expected, &observations, channels);
    let objects = objects(&observations);
    let tell = |committed: &Committed| telling(work.notify, &about, cx.now, &expected, &objects, committed);
    let committed = work.ledger.commit_findings_and_tell(cx.run, cx.now, &findings, &|key| sight.glance(key), &tell).await?;
    let delivery = say(work, cx, &about, &committed, own_work_done && judgement.bugs.is_empty(), retried).await?;
    work.ledger.commit_samples(cx.run, cx.now, &delivery.samples(cx.now)).await?;
    work.ledger.tidy(cx.now).await?;

    let exit = exit_of(&findings, judgement.bugs.len(), swept.stuck.len(), work.exit);
    Ok(PassOutcome {
        number,
        now: cx.now,
        seconds: begun.elapsed().as_secs_f64(),
        counted: Counted::of(&findings),
        findings,
        changes: committed.changes,
        bugs: judgement.bugs,
        seen: sight.seen.into_iter().collect(),
        swept,
        requests: requests.into_iter().collect(),
        delivery,
        exit,
    })
}

/// Messages first, the heartbeat right behind; what was retried before is told along.
async fn say(
    work: &Pass<'_>,
    cx: &Cx,
    about: &About,
    committed: &Committed,
    whole: bool,
    retried: Delivery,
) -> Result<Delivery, LedgerError> {
    let Some(notify) = work.notify else { return Ok(retried) };
    let (delivery, heartbeat) =
        tokio::join!(notify.deliver(work.ledger, cx.now, false), notify.beat(about, committed, whole, cx.now));
    let mut delivery = delivery?;
    delivery.heartbeat = heartbeat;
    delivery.add(retried);
    Ok(delivery)
}

/// Channels that took a message since they were last found undeliverable: only that shows that they work again.
async fn working_channels(work: &Pass<'_>, cx: &Cx, retried: &Delivery) -> Result<BTreeSet<String>, LedgerError> {
    let mut working = retried.delivered.clone();
    for open in work.ledger.open_findings().await? {
        let subject = &open.finding.subject;
        let Some(channel) = channel_of(subject) else { continue };
        if !work.ledger.samples(subject, DELIVERED, open.last_seen, cx.now).await?.is_empty() {
            working.insert(channel.to_owned());
        }
    }
    Ok(working)
}

pub(super) fn channel_of(subject: &Subject) -> Option<&str> {
    subject.path().strip_prefix("notify/").filter(|_| subject.kind() == SubjectKind::Dalsegno)
}

/// Two waves; what arrives is committed as it arrives.
async fn look(work: &Pass<'_>, cx: &Cx) -> Result<Seen, LedgerError> {
    let budgets = vec![budget::left(work.ledger, work.budgets, cx.now).await?];
    let limit = || time_for(work, cx);
    look_in_waves(work.looks, budgets, Some(work.ledger), cx, limit, async |looked| keep(work, cx, looked).await).await
}

/// The provider's own limit, unless the pass ends sooner.
fn time_for(work: &Pass<'_>, cx: &Cx) -> Duration {
    let left = cx.deadline.saturating_duration_since(Instant::now()).saturating_sub(KEPT_FOR_SAYING);
    work.provider_limit.min(left).max(LEAST_LOOK)
}

async fn keep(work: &Pass<'_>, cx: &Cx, looked: &Looked) -> Result<(), LedgerError> {
    work.ledger.commit_observation(cx.run, cx.now, &looked.provider, looked.store.as_ref(), &looked.observation).await?;
    work.ledger.commit_samples(cx.run, cx.now, &looked.samples(cx)).await?;
    tracing::debug!(provider = %looked.provider, seconds = looked.seconds, facts = looked.observation.facts.len(), gaps = looked.observation.gaps.len(), "looked");
    Ok(())
}

/// What decides of each subject: its newest drill, its newest failure, and its newest proof of the whole, where it lies now. Where the
/// archive was not seen its place is not known, and drills of any place are asked.
pub(super) async fn proofs(
    ledger: &Ledger,
    expected: &Expected,
    observations: &[(ProviderId, Observation)],
) -> Result<Vec<Proof>, LedgerError> {
    let mut places: BTreeMap<&Subject, Option<Place>> = expected.policies.keys().map(|subject| (subject, None)).collect();
    for fact in observations.iter().flat_map(|(_, observation)| &observation.facts) {
        if let Fact::Archive(archive) = fact {
            places.insert(&archive.subject, Some(archive.place.clone().into()));
        }
    }
    let counts = |evidence: &Evidence| Proof::from(evidence).counts(expected.isolation);
    let mut found = ledger.last_drills().await?;
    for (subject, place) in places {
        found.extend(ledger.last_failed(subject, place.as_ref()).await?);
        found.extend(ledger.last_proof(subject, place.as_ref(), &counts).await?);
    }
    let mut proofs: Vec<Proof> = Vec::new();
    for evidence in &found {
        if proofs.iter().all(|known| known.run != evidence.run) {
            proofs.push(Proof::from(evidence));
        }
    }
    Ok(proofs)
}

fn left_overs(swept: &Swept) -> Vec<Finding> {
    let Some(first) = swept.stuck.first() else { return Vec::new() };
    vec![Finding {
        code: "drill-left-over".to_owned(),
        severity: Severity::Critical,
        subject: Subject::dalsegno("drills"),
        summary: format!("{} left-over(s) of interrupted drills could not be removed", swept.stuck.len()),
        evidence: swept.stuck.clone(),
        cause: first.clone(),
        remedy: "dalsegno drill gc".to_owned(),
        could_not_look: false,
    }]
}
