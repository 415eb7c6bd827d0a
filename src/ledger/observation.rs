//! What one provider saw, committed as it arrives and as one piece: a memory that moves on without its facts would lose them.

use jiff::Timestamp;

use super::{Ledger, LedgerError};
use crate::domain::{Fact, Observation, Place, ProviderId, RunId, StoreId, Subject};

impl Ledger {
    /// Keeps samples, recovery points, memory and requests of an observation in one transaction; `store` is the one that the requests
    /// went to, `None` when the provider talks to none. Recovery points that an archive no longer has are gone.
    pub async fn commit_observation(
        &self,
        run: RunId,
        now: Timestamp,
        provider: &ProviderId,
        store: Option<&StoreId>,
        observation: &Observation,
    ) -> Result<(), LedgerError> {
        let samples = observation.facts.iter().filter_map(|fact| match fact {
            Fact::Sample(sample) => Some(sample),
            _ => None,
        });
        let points = observation.facts.iter().filter_map(|fact| match fact {
            Fact::RecoveryPoint(point) => Some(&**point),
            _ => None,
        });
        let looked: Vec<(Subject, Place)> = observation
            .facts
            .iter()
            .filter_map(|fact| match fact {
                Fact::Archive(archive) => Some((archive.subject.clone(), archive.place.clone().into())),
                _ => None,
            })
            .collect();
        let mut transaction = self.write().await?;
        let number = self.number(&mut transaction, run).await?;
        self.put_samples(&mut transaction, number, now, samples).await?;
        self.put_points(&mut transaction, now, points, &looked).await?;
        if let Some(memory) = &observation.memory {
            self.put_memory(&mut transaction, now, provider, memory).await?;
        }
        if let Some(store) = store {
            self.add_requests(&mut transaction, number, now, store, observation.requests).await?;
        }
        self.commit(transaction).await
    }
}
