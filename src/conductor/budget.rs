//! The request budget of a store: what a day may cost.

use jiff::Timestamp;

use crate::domain::{BUDGET_USED, Denied, Fact, FactKind, Gap, Observation, ProviderId, REQUESTS_LEFT, Sample, StoreId, Subject};
use crate::ledger::{Ledger, LedgerError};

/// What a store may cost a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The store.
    pub store: StoreId,
    /// Its subject.
    pub subject: Subject,
    /// Requests a UTC day, of all classes that are billed.
    pub per_day: u64,
}

/// What is left of each budget, as a fact for the observers, and as a gap where nothing is left.
pub(super) async fn left(ledger: &Ledger, budgets: &[Budget], now: Timestamp) -> Result<(ProviderId, Observation), LedgerError> {
    let mut observation = Observation::default();
    for budget in budgets {
        let made = ledger.requests_today(&budget.store, now).await?;
        let used = made.class_a.saturating_add(made.class_b);
        observation.facts.push(Fact::Sample(Sample {
            subject: budget.subject.clone(),
            metric: REQUESTS_LEFT.to_owned(),
            value: budget.per_day as f64 - used as f64,
            at: now,
        }));
        if used >= budget.per_day {
            observation.gaps.push(used_up(budget, used));
        }
    }
    Ok((ProviderId("conductor/budget".to_owned()), observation))
}

fn used_up(budget: &Budget, used: u64) -> Gap {
    Gap {
        subject: budget.subject.clone(),
        what: FactKind::Sample,
        why: Denied::NotAsked,
        code: Some(BUDGET_USED.to_owned()),
        detail: format!(
            "{used} requests were made of {} today, allowed are {}; the daily whole listing waits",
            budget.store, budget.per_day
        ),
        hint: format!("raise stores.{}.requests-per-day, or run less often", budget.store),
    }
}
