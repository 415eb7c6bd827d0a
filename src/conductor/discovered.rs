//! Subjects that no configuration names: found by the newest pass, and kept so that `status` can show them without looking.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::{Cx, Expected, Fact, Memory, Observation, Policy, ProviderId, Subject};
use crate::ledger::{Ledger, LedgerError};

/// Under this name the ledger keeps them.
fn kept_as() -> ProviderId {
    ProviderId("discovered".to_owned())
}

/// What is kept of one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Known {
    policy: Option<Policy>,
    rests_on: Option<Subject>,
}

async fn recall(ledger: &Ledger) -> Result<BTreeMap<Subject, Known>, LedgerError> {
    let memory = ledger.recall(&kept_as()).await?;
    Ok(memory.and_then(|memory| serde_json::from_value(memory.0).ok()).unwrap_or_default())
}

/// Those of the newest pass, beside what the configuration names.
pub(super) async fn with_last(ledger: &Ledger, configured: &Expected) -> Result<(Expected, Vec<Subject>), LedgerError> {
    let known = recall(ledger).await?;
    let mut expected = configured.clone();
    for (subject, known) in &known {
        if let Some(policy) = known.policy {
            expected.policies.entry(subject.clone()).or_insert(policy);
        }
        if let Some(below) = &known.rests_on {
            expected.rests_on.entry(subject.clone()).or_insert_with(|| below.clone());
        }
    }
    Ok((expected, known.into_keys().collect()))
}

/// Keeps what this pass found. One that it could not look at stays as it was; one that is gone goes.
pub(super) async fn keep(
    ledger: &Ledger,
    expected: &Expected,
    observations: &[(ProviderId, Observation)],
    cx: &Cx,
) -> Result<(), LedgerError> {
    let before = recall(ledger).await?;
    let facts = observations.iter().flat_map(|(_, observation)| &observation.facts);
    let mut found: BTreeMap<Subject, Known> = facts
        .filter_map(|fact| if let Fact::Cnpg(fact) = fact { Some(fact) } else { None })
        .filter(|fact| fact.configured.is_none())
        .map(|fact| {
            let policy = expected.policies.get(&fact.subject).copied();
            let rests_on = expected.rests_on.get(&fact.subject).cloned();
            (fact.subject.clone(), Known { policy, rests_on })
        })
        .collect();
    for gap in observations.iter().flat_map(|(_, observation)| &observation.gaps) {
        if let (Some(known), false) = (before.get(&gap.subject), found.contains_key(&gap.subject)) {
            found.insert(gap.subject.clone(), known.clone());
        }
    }
    if found.is_empty() && before.is_empty() {
        return Ok(());
    }
    if let Ok(value) = serde_json::to_value(&found) {
        ledger.remember(cx.now, &kept_as(), &Memory(value)).await?;
    }
    Ok(())
}
