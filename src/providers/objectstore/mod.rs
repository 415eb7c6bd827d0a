//! Object stores that speak S3: looked at with the reading key, never written to.
//!
//! What is asked in a pass: HeadBucket, one key under the prefix that is used, HEAD of that key, the bucket's settings, unfinished
//! uploads, the certificate; the bytes of old versions once a day. Rights to write are learnt by `probe`, which people run.

mod client;
pub mod config;
mod facts;
pub mod keep;

use std::sync::Arc;

use async_trait::async_trait;

use crate::domain::{Control, Cx, Fact, FactKind, Known, Observation, Observe, Prefix, ProviderId, Subject};
use crate::store::{Store, StoreError};
use crate::tap::{CallError, ChainSeen, FailureKind, TlsCalls};
use config::StoreSettings;

/// One configured store.
pub struct ObjectStore {
    settings: StoreSettings,
    store: Result<Store, StoreError>,
    tls: Option<Arc<dyn TlsCalls>>,
    prefixes: Vec<Prefix>,
}

impl ObjectStore {
    /// `store` is opened with the reading key; when it could not be opened, the look is one gap that says why. `prefixes` are
    /// those that archives use in it. Without `tls` no certificate is looked at.
    pub fn new(
        settings: StoreSettings,
        store: Result<Store, StoreError>,
        tls: Option<Arc<dyn TlsCalls>>,
        prefixes: Vec<Prefix>,
    ) -> Self {
        Self { settings, store, tls, prefixes }
    }
}

#[async_trait]
impl Observe for ObjectStore {
    fn name(&self) -> ProviderId {
        ProviderId(format!("store/{}", self.settings.id))
    }

    fn covers(&self, _known: &Known) -> Vec<(Subject, FactKind)> {
        vec![(self.settings.subject.clone(), FactKind::Store)]
    }

    fn reads(&self) -> &[FactKind] {
        &[]
    }

    async fn observe(&self, cx: &Cx, known: &Known) -> Observation {
        let store = match &self.store {
            Ok(store) => store.metered(),
            Err(error) => {
                // The settings themselves are the fault then: the fact carries them, so that the fault can be named.
                let fact = facts::fact(&self.settings, client::Look::not_asked(error.clone()), None);
                return Observation {
                    facts: vec![Fact::Store(Box::new(fact))],
                    gaps: vec![facts::gap(&self.settings.subject, error)],
                    ..Observation::default()
                };
            }
        };
        let (look, certificate) = tokio::join!(client::look(&store, &self.prefixes, known, cx.now), self.certificate());
        let mut observation = Observation { memory: look.memory.clone(), ..Observation::default() };
        if let Err(error) = &look.listed {
            // A refused list is a fact about the key's rights; everything else means that we could not look.
            if !matches!(error, StoreError::AccessDenied { .. }) {
                observation.gaps.push(facts::gap(&self.settings.subject, error));
            }
        }
        let (certificate, unseen) = match certificate {
            Ok(chain) => (chain, None),
            Err(error) => (None, facts::certificate_gap(&self.settings.subject, &error)),
        };
        // A store that is dark has one gap; one that answers has a gap for each part that it did not answer.
        if observation.gaps.is_empty() {
            observation
                .gaps
                .extend(look.unseen.iter().map(|(part, error)| facts::part_gap(&self.settings.subject, *part, error)));
            observation.gaps.extend(unseen);
        }
        if look.says_something() || certificate.is_some() {
            if let Ok(listed) = &look.listed {
                observation.controls.push(Control {
                    subject: self.settings.subject.clone(),
                    shown: facts::control(&self.prefixes, listed.as_ref()),
                });
            }
            let fact = facts::fact(&self.settings, look, certificate.as_ref());
            observation.facts.push(Fact::Store(Box::new(fact)));
        }
        observation.requests = store.requests();
        observation
    }
}

impl ObjectStore {
    /// `None` = there is none to look at: plain http.
    async fn certificate(&self) -> Result<Option<ChainSeen>, CallError> {
        let Some(tls) = self.tls.as_ref().filter(|_| self.settings.endpoint.starts_with("https://")) else { return Ok(None) };
        let Some((host, port)) = crate::store::endpoint_host(&self.settings.endpoint) else { return Ok(None) };
        let seen = tls.look(&host, port).await?;
        match &seen.error {
            Some(error) if seen.chain.is_empty() => Err(CallError::new(FailureKind::Tls, error.clone())),
            _ => Ok(Some(seen)),
        }
    }
}
