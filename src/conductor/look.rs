//! Looking: all observers of a wave at once, each inside its own deadline. One that hangs costs its deadline and leaves gaps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use crate::domain::{
    Cx, Denied, Discovered, Expected, Fact, FactKind, Gap, Known, Observation, Observe, ProviderId, REQUESTS_LEFT, Requests,
    Sample, StoreId, Subject, duration_in_words,
};

use crate::ledger::{Ledger, LedgerError};

/// The metric that a pass keeps for each subject it saw: how long the look took. Its age tells when a subject was last seen.
pub const LOOK_SECONDS: &str = "look_seconds";

/// An observer, and the store that its requests go to.
#[derive(Clone)]
pub struct Look {
    /// The observer.
    pub observer: Arc<dyn Observe>,
    /// The store whose budget its requests use; `None` when it talks to none.
    pub store: Option<StoreId>,
}

/// What came of one look.
#[derive(Clone, Debug)]
pub struct Looked {
    /// Who looked.
    pub provider: ProviderId,
    /// The store that its requests went to.
    pub store: Option<StoreId>,
    /// What was seen.
    pub observation: Observation,
    /// Seconds that it took.
    pub seconds: f64,
}

impl Looked {
    /// One sample per subject that was seen: how long the look took.
    pub fn samples(&self, cx: &Cx) -> Vec<Sample> {
        let mut subjects: Vec<&Subject> =
            self.observation.facts.iter().filter(|fact| !fact.is_number()).map(Fact::subject).collect();
        subjects.sort();
        subjects.dedup();
        let sample = |subject: &Subject| Sample {
            subject: subject.clone(),
            metric: LOOK_SECONDS.to_owned(),
            value: self.seconds,
            at: cx.now,
        };
        subjects.into_iter().map(sample).collect()
    }
}

/// Observers that look at the same time. Dropping it stops them: observing may be dropped.
pub struct Wave {
    tasks: JoinSet<Looked>,
}

impl Wave {
    /// Starts all of them.
    pub fn start(looks: Vec<(Look, Known)>, cx: &Cx, limit: Duration) -> Self {
        let mut tasks = JoinSet::new();
        for (look, known) in looks {
            tasks.spawn(within(look, known, cx.clone(), limit));
        }
        Self { tasks }
    }

    /// The next one that is done, in the order in which they end.
    pub async fn next(&mut self) -> Option<Looked> {
        loop {
            match self.tasks.join_next().await? {
                Ok(looked) => return Some(looked),
                Err(error) => tracing::error!(%error, "a look ended without an answer"),
            }
        }
    }
}

/// One look inside its deadline. An observer that panics leaves nothing: what it covers shows as a bug of ours, and the others go on.
async fn within(look: Look, known: Known, cx: Cx, limit: Duration) -> Looked {
    let begun = Instant::now();
    let provider = look.observer.name();
    let cx = Cx { deadline: begun + limit, ..cx };
    let covers = look.observer.covers(&known);
    let task = AbortOnDropHandle::new(tokio::spawn({
        let (observer, cx) = (look.observer.clone(), cx.clone());
        async move { observer.observe(&cx, &known).await }
    }));
    let observation = tokio::select! {
        done = tokio::time::timeout(limit, task) => match done {
            Ok(Ok(observation)) => observation,
            Ok(Err(error)) => {
                tracing::error!(%provider, %error, "the observer failed");
                Observation::default()
            }
            Err(_) => unseen(&covers, &Denied::Timeout, &format!(
                "{provider} did not end within {}", duration_in_words(limit.as_secs_f64())
            ), "raise pass.provider-deadline, or find what makes this look slow"),
        },
        () = cx.cancel.cancelled() => unseen(&covers, &Denied::NotAsked, "the pass was cancelled", "dalsegno run"),
    };
    Looked { provider, store: look.store, observation, seconds: begun.elapsed().as_secs_f64() }
}

fn unseen(covers: &[(Subject, FactKind)], why: &Denied, detail: &str, hint: &str) -> Observation {
    let gap = |(subject, what): &(Subject, FactKind)| Gap {
        subject: subject.clone(),
        what: *what,
        why: why.clone(),
        code: None,
        detail: detail.to_owned(),
        hint: hint.to_owned(),
    };
    Observation { gaps: covers.iter().map(gap).collect(), ..Observation::default() }
}

/// What was seen, and what had to be.
pub(super) struct Seen {
    /// By whom, what.
    pub(super) observations: Vec<(ProviderId, Observation)>,
    /// What the observers said that they cover, when their wave began.
    pub(super) covers: Vec<(Subject, FactKind)>,
    /// What they expect of what they discovered.
    pub(super) expects: Vec<Expected>,
    /// Requests, by store: of those that were known before, and of those that were not.
    pub(super) requests: BTreeMap<StoreId, Requests>,
}

/// First those that need nothing, then those that read what the first saw. `begun` is known before anybody looks; `keep` is given
/// what arrives as it arrives; `limit` is asked when a wave begins.
pub(super) async fn look_in_waves(
    looks: &[Look],
    begun: Vec<(ProviderId, Observation)>,
    ledger: Option<&Ledger>,
    cx: &Cx,
    limit: impl Fn() -> Duration,
    mut keep: impl AsyncFnMut(&Looked) -> Result<(), LedgerError>,
) -> Result<Seen, LedgerError> {
    let mut seen = Seen { observations: begun, covers: Vec::new(), expects: Vec::new(), requests: BTreeMap::new() };
    let (first, second): (Vec<Look>, Vec<Look>) = looks.iter().cloned().partition(|look| look.observer.reads().is_empty());
    for mut looks in [first, second] {
        let facts: Vec<Fact> = seen.observations.iter().flat_map(|(_, observation)| observation.facts.clone()).collect();
        looks.extend(discovered(&looks, &facts));
        let mut asked = Vec::new();
        for look in looks {
            let memory = match ledger {
                Some(ledger) => ledger.recall(&look.observer.name()).await?,
                None => None,
            };
            let known = Known { facts: known_to(look.observer.as_ref(), &facts), memory };
            seen.covers.extend(look.observer.covers(&known));
            seen.expects.push(look.observer.expects(&known));
            asked.push((look, known));
        }
        let mut wave = Wave::start(asked, cx, limit());
        while let Some(looked) = wave.next().await {
            keep(&looked).await?;
            if let Some(store) = looked.store {
                *seen.requests.entry(store).or_default() += looked.observation.requests;
            }
            seen.observations.push((looked.provider, looked.observation));
        }
    }
    Ok(seen)
}

/// Those of whom nobody knew before the wave. One name looks once: memory is kept by it.
fn discovered(looks: &[Look], facts: &[Fact]) -> Vec<Look> {
    let mut names: BTreeSet<ProviderId> = looks.iter().map(|look| look.observer.name()).collect();
    let mut found = Vec::new();
    for look in looks.iter().filter(|look| !look.observer.reads().is_empty()) {
        let known = Known { facts: known_to(look.observer.as_ref(), facts), memory: None };
        for Discovered { observer, store } in look.observer.more(&known) {
            if names.insert(observer.name()) {
                found.push(Look { observer, store });
            }
        }
    }
    found
}

/// Facts of the kinds that it reads; and what is left of a budget, which everybody is told.
fn known_to(observer: &dyn Observe, facts: &[Fact]) -> Vec<Fact> {
    let is_budget = |fact: &Fact| matches!(fact, Fact::Sample(sample) if sample.metric == REQUESTS_LEFT);
    facts.iter().filter(|fact| observer.reads().contains(&fact.kind()) || is_budget(fact)).cloned().collect()
}

/// What observers cover before anything is known.
pub(super) fn covers_of(looks: &[Look]) -> Vec<(Subject, FactKind)> {
    looks.iter().flat_map(|look| look.observer.covers(&Known::default())).collect()
}

/// What is expected, by configuration, by what observers say that they cover, and by what they expect of what they discovered. What the
/// configuration says of a subject stands.
pub(super) fn with_seen(expected: &Expected, covers: &[(Subject, FactKind)], expects: &[Expected]) -> Expected {
    let mut expected = with_covers(expected, covers);
    for more in expects {
        for (subject, policy) in &more.policies {
            expected.policies.entry(subject.clone()).or_insert(*policy);
        }
        for (above, below) in &more.rests_on {
            expected.rests_on.entry(above.clone()).or_insert_with(|| below.clone());
        }
    }
    expected
}

/// What is expected, by configuration and by what observers say that they cover.
pub(super) fn with_covers(expected: &Expected, covers: &[(Subject, FactKind)]) -> Expected {
    let mut expected = expected.clone();
    for pair in covers {
        if !expected.covers.contains(pair) {
            expected.covers.push(pair.clone());
        }
    }
    expected
}
