//! The flow of numbers into the disk-full clock: what the ledger remembers goes into judging, what judging says of clocks goes back.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::domain::metric::{self, Moves};
use crate::domain::{Clock, Cx, Expected, Fact, Memory, Observation, ProviderId, Sample, Series, Subject, SubjectKind};
use crate::ledger::{Ledger, LedgerError};
use crate::policy::clocks;

/// How far back the clock looks: two of every day of the week.
const BACK: SignedDuration = SignedDuration::from_hours(14 * 24);
/// The newest part is read sample by sample, what is older by the hour.
const RAW: SignedDuration = SignedDuration::from_hours(24);
/// Segments that may wait without anybody asking for the past.
const WAIT_FREELY: f64 = 0.0;
/// WAL that a slot may hold without anybody asking for the past.
const HELD_FREELY: f64 = 256.0 * 1_048_576.0;

/// Under this name the ledger keeps the clocks of the newest pass.
fn kept_as() -> ProviderId {
    ProviderId("clock".to_owned())
}

/// The clocks of the newest pass. What cannot be read any more is not known.
pub(super) async fn last(ledger: &Ledger) -> Result<BTreeMap<Subject, Clock>, LedgerError> {
    let memory = ledger.recall(&kept_as()).await?;
    let read = |memory: Memory| serde_json::from_value::<Vec<(Subject, Clock)>>(memory.0).ok();
    Ok(memory.and_then(read).unwrap_or_default().into_iter().collect())
}

/// What the ledger knows of the databases whose clock may run: those of which something waits now, or whose clock ran at the last pass.
/// A metric that Prometheus has told over time is not asked for.
pub(super) async fn remembered(
    ledger: &Ledger,
    observations: &[(ProviderId, Observation)],
    now: Timestamp,
) -> Result<Observation, LedgerError> {
    let facts = || observations.iter().flat_map(|(_, observation)| &observation.facts);
    let known: BTreeSet<(&Subject, &str)> = facts()
        .filter_map(|fact| match fact {
            Fact::Series(series) => Some((&series.subject, series.metric.as_str())),
            _ => None,
        })
        .collect();
    let ran: BTreeSet<Subject> = last(ledger).await?.into_iter().filter(|(_, clock)| clock.runs()).map(|(of, _)| of).collect();
    let mut facts_back = Vec::new();
    for subject in facts().filter_map(|fact| waits(fact, &ran)).collect::<BTreeSet<_>>() {
        for name in metric::OF_THE_CLOCK.iter().filter(|name| !known.contains(&(subject, **name))) {
            let points = points(ledger, subject, name, now).await?;
            if !points.is_empty() {
                let series = Series { subject: subject.clone(), metric: (*name).to_owned(), source: "ledger".to_owned(), points };
                facts_back.push(Fact::Series(series));
            }
        }
    }
    Ok(Observation { facts: facts_back, ..Observation::default() })
}

/// The subject of a number that makes one ask for the past.
fn waits<'a>(fact: &'a Fact, ran: &BTreeSet<Subject>) -> Option<&'a Subject> {
    let Fact::Sample(sample) = fact else { return None };
    if sample.subject.kind() != SubjectKind::Pg || !metric::OF_THE_CLOCK.contains(&sample.metric.as_str()) {
        return None;
    }
    let much = match sample.metric.as_str() {
        metric::WAL_READY => sample.value > WAIT_FREELY,
        metric::WAL_SLOT_RETAINED => sample.value > HELD_FREELY,
        _ => false,
    };
    (much || ran.contains(&sample.subject)).then_some(&sample.subject)
}

/// By the hour until a day ago, then sample by sample. Of a counter's hour its end counts, of any other number its mean.
async fn points(ledger: &Ledger, subject: &Subject, name: &str, now: Timestamp) -> Result<Vec<(Timestamp, f64)>, LedgerError> {
    let minus = |by: SignedDuration| now.checked_sub(by).unwrap_or(Timestamp::MIN);
    let until = now.checked_add(SignedDuration::from_secs(1)).unwrap_or(Timestamp::MAX);
    let raw = ledger.samples(subject, name, minus(RAW), until).await?;
    let begin = raw.first().map_or(now, |(at, _)| *at);
    let up = metric::metric(name).is_some_and(|row| row.moves == Moves::Up);
    let hours = ledger.hours(subject, name, minus(BACK), begin).await?;
    let of_hour = |hour: crate::ledger::HourOfSamples| {
        let minutes = SignedDuration::from_mins(if up { 60 } else { 30 });
        let at = hour.hour.checked_add(minutes).unwrap_or(hour.hour);
        (at, if up { hour.maximum } else { hour.mean })
    };
    Ok(hours.into_iter().map(of_hour).filter(|(at, _)| *at < begin).chain(raw).collect())
}

/// Computes the clocks of a pass and keeps them: whole for the screen, their ends as samples.
pub(super) async fn keep(
    ledger: &Ledger,
    expected: &Expected,
    observations: &[(ProviderId, Observation)],
    cx: &Cx,
) -> Result<(), LedgerError> {
    let clocks = clocks(cx.now, expected, observations);
    let sample = |subject: &Subject, metric: &str, value: f64| Sample {
        subject: subject.clone(),
        metric: metric.to_owned(),
        value,
        at: cx.now,
    };
    let mut samples = Vec::new();
    for (subject, clock) in &clocks {
        if let Some(within) = clock.full_in {
            samples.push(sample(subject, metric::FULL_LOW, within.low));
            samples.push(sample(subject, metric::FULL_HIGH, within.high));
        }
    }
    ledger.commit_samples(cx.run, cx.now, &samples).await?;
    if let Ok(value) = serde_json::to_value(&clocks) {
        ledger.remember(cx.now, &kept_as(), &Memory(value)).await?;
    }
    Ok(())
}
