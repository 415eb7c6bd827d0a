//! Settings → observers.

use std::sync::Arc;

use async_trait::async_trait;

use super::{App, AppError, stores};
use crate::conductor::{Checked, Look};
use crate::domain::{Cx, Denied, FactKind, Gap, Known, Observation, Observe, Prefix, ProviderId, StoreId, Subject, SubjectKind};
use crate::providers::objectstore::ObjectStore;
use crate::providers::postgres::PostgresArchive;
use crate::providers::prometheus::Prometheus;

impl App {
    /// Everybody who can look: stores first, then archives, then what the configuration could not give.
    pub fn looks(&self) -> Vec<Look> {
        let mut looks: Vec<Look> = Vec::new();
        for settings in &self.settings().stores {
            let opened = self.store(&settings.id).cloned().unwrap_or_else(|| stores::open(settings));
            let observer = ObjectStore::new(settings.clone(), opened, self.certificates(settings), self.prefixes(&settings.id));
            looks.push(Look { observer: Arc::new(observer), store: Some(settings.id.clone()) });
        }
        let mut gaps = self.loaded.gaps.clone();
        for settings in &self.settings().postgres {
            match self.store(&settings.place.store) {
                Some(Ok(store)) => {
                    let observer = PostgresArchive::new(settings.clone(), store.clone());
                    looks.push(Look { observer: Arc::new(observer), store: Some(settings.place.store.clone()) });
                }
                Some(Err(error)) => {
                    let (why, code) = error.denied();
                    let hint = crate::domain::Explained::hint(error).unwrap_or_default();
                    gaps.push(Gap {
                        subject: settings.subject.clone(),
                        what: FactKind::Archive,
                        why,
                        code,
                        detail: format!("{} was not opened: {error}", settings.place.store),
                        hint,
                    });
                }
                // A database whose store is not there is a mistake of the configuration, refused at load, or a gap from it.
                None => {}
            }
        }
        for settings in &self.settings().prometheus {
            match self.http_of(settings) {
                Ok(http) => {
                    let observer = Prometheus::new(settings.clone(), http);
                    looks.push(Look { observer: Arc::new(observer), store: None });
                }
                Err(detail) => gaps.push(Gap {
                    subject: settings.subject.clone(),
                    what: FactKind::Sample,
                    why: Denied::Tls,
                    code: None,
                    detail,
                    hint: format!("look at the file that prometheus.{}.ca names", settings.name),
                }),
            }
        }
        for (clusters, archives) in self.cnpg() {
            looks.push(Look { observer: Arc::new(clusters), store: None });
            looks.push(Look { observer: Arc::new(archives), store: None });
        }
        if !gaps.is_empty() {
            looks.push(Look { observer: Arc::new(NotConfigured { gaps }), store: None });
        }
        looks
    }

    /// Refuses a configuration that names nothing, and a `name` that means nothing in it: neither may read as fine.
    pub fn must_know(&self, looks: &[Look], name: Option<&str>) -> Result<(), AppError> {
        if looks.is_empty() {
            return Err(AppError::NothingConfigured);
        }
        let Some(name) = name else { return Ok(()) };
        let known: Vec<Subject> = looks.iter().flat_map(|look| look.observer.covers(&Known::default())).map(|of| of.0).collect();
        let providers: Vec<String> = looks.iter().map(|look| look.observer.name().0).collect();
        if known.iter().any(|subject| subject.answers_to(name)) || providers.iter().any(|of| of == name) {
            return Ok(());
        }
        if looks.iter().any(|look| look.observer.discovers()) {
            // Only a look can tell; see `must_have_met`.
            return Ok(());
        }
        Err(unknown(name, known))
    }

    /// Refuses a `name` that meant nothing before the look and that nothing answered to in it.
    pub fn must_have_met(&self, looks: &[Look], checked: &Checked, name: Option<&str>) -> Result<(), AppError> {
        let Some(name) = name else { return Ok(()) };
        let known: Vec<Subject> = looks.iter().flat_map(|look| look.observer.covers(&Known::default())).map(|of| of.0).collect();
        let findings = checked.findings.iter().map(|finding| &finding.subject);
        let bugs = checked.bugs.iter().map(|(subject, _)| subject);
        let mut met = known.iter().chain(&checked.seen).chain(findings).chain(bugs);
        // A cluster that did not answer may hide it: that is said, and is not the same as "there is no such subject".
        let dark =
            checked.findings.iter().any(|finding| finding.could_not_look && finding.subject.kind() == SubjectKind::Cluster);
        if dark || met.any(|subject| subject.answers_to(name)) { Ok(()) } else { Err(unknown(name, known)) }
    }

    /// Why the databases that `name` means cannot be used at all: a placeholder, a missing secret.
    pub fn must_be_usable(&self, name: Option<&str>) -> Result<(), AppError> {
        let usable = &self.settings().postgres;
        let meant = |subject: &Subject| name.is_none_or(|name| subject.answers_to(name));
        if usable.iter().any(|of| meant(&of.subject)) {
            return Ok(());
        }
        match self.loaded.gaps.iter().find(|gap| gap.what == FactKind::Archive && meant(&gap.subject)) {
            Some(gap) => {
                Err(AppError::Unusable { subject: gap.subject.clone(), detail: gap.detail.clone(), hint: gap.hint.clone() })
            }
            None => Ok(()),
        }
    }

    /// Prefixes that archives use in a store.
    fn prefixes(&self, store: &StoreId) -> Vec<Prefix> {
        self.settings().postgres.iter().filter(|of| &of.place.store == store).map(|of| of.place.root()).collect()
    }
}

fn unknown(name: &str, mut known: Vec<Subject>) -> AppError {
    known.sort();
    known.dedup();
    let known = known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    AppError::NotConfigured { what: "subject", name: name.to_owned(), known }
}

/// Stands for the parts of the configuration that cannot be used: what they cover comes back as gaps, never as silence.
struct NotConfigured {
    gaps: Vec<Gap>,
}

#[async_trait]
impl Observe for NotConfigured {
    fn name(&self) -> ProviderId {
        ProviderId("configuration".to_owned())
    }

    fn covers(&self, _known: &Known) -> Vec<(Subject, FactKind)> {
        self.gaps.iter().map(|gap| (gap.subject.clone(), gap.what)).collect()
    }

    fn reads(&self) -> &[FactKind] {
        &[]
    }

    async fn observe(&self, _cx: &Cx, _known: &Known) -> Observation {
        Observation { gaps: self.gaps.clone(), ..Observation::default() }
    }
}
