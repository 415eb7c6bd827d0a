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
use crate::tap::TlsCalls;
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

    fn covers(&self) -> Vec<(Subject, FactKind)> {
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
        if look.says_something() || certificate.is_some() {
            if let Ok(listed) = &look.listed {
                observation
                    .controls
                    .push(Control { subject: self.settings.subject.clone(), shown: facts::control(&self.prefixes, listed) });
            }
            let fact = facts::fact(&self.settings, look, certificate);
            observation.facts.push(Fact::Store(Box::new(fact)));
        }
        observation.requests = store.requests();
        observation
    }
}

impl ObjectStore {
    async fn certificate(&self) -> Option<crate::tap::ChainSeen> {
        let tls = self.tls.as_ref()?;
        if !self.settings.endpoint.starts_with("https://") {
            return None;
        }
        let (host, port) = crate::store::config::endpoint_host(&self.settings.endpoint)?;
        // What cannot be seen here (no route, no answer) cannot be seen by the listing either, which then says so.
        tls.look(&host, port).await.ok()
    }
}
