//! Looking: all observers of a wave at once, each inside its own deadline. One that hangs costs its deadline and leaves gaps.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use crate::domain::{
    Cx, Denied, Fact, FactKind, Gap, Known, Observation, Observe, ProviderId, Sample, StoreId, Subject, duration_in_words,
};

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
            self.observation.facts.iter().filter(|fact| !matches!(fact, Fact::Sample(_))).map(Fact::subject).collect();
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
    let covers = look.observer.covers();
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

/// What an observer of the second wave is given: facts of the kinds that it reads.
pub(super) fn read_by(observer: &dyn Observe, facts: &[Fact]) -> Vec<Fact> {
    facts.iter().filter(|fact| observer.reads().contains(&fact.kind())).cloned().collect()
}

/// First those that need nothing, then those that read what the first saw.
pub(super) fn waves(looks: &[Look]) -> [Vec<&Look>; 2] {
    let (first, second): (Vec<&Look>, Vec<&Look>) = looks.iter().partition(|look| look.observer.reads().is_empty());
    [first, second]
}
